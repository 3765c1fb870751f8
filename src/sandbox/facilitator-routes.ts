/**
 * An x402 facilitator over the sandbox's ledger: `/supported`, `/verify`, `/settle`, and the Bazaar's list of resources.
 * It sponsors fees, and answers wrongly where a fault is set. It answers as the official facilitator does, not as our own: to a payment
 * that has landed it says no and names no transaction, and it verifies one that waits for its round. Sellers must be tested on that.
 */
import { algorandPaymentReader } from '../adapters/algorand/read-payment.js'
import type { SigningKey } from '../adapters/algorand/signing-keys.js'
import { networkIdsOf } from '../domain/network.js'
import { encodeHeader, isRecord } from '../domain/x402.js'
import type { BazaarIndex } from '../facilitator/bazaar-index.js'
import type { Refused } from '../facilitator/group-checks.js'
import {
  codeOf,
  invalid,
  type Question,
  questionIn,
  supportedAnswer,
} from '../facilitator/protocol-answers.js'
import { type Clock, sleep } from '../ports/clock.js'
import { cut, type Fault, type FaultSource, type Stage, transportFault } from './faults.js'
import type { Ledger } from './ledger.js'
import { type Accepted, checkTransactions } from './transaction-checks.js'
import { BadRequest, get, json, jsonBody, post, type Reply, type Route } from './web-server.js'

export interface FacilitatorOptions {
  readonly ledger: Ledger
  readonly sponsor: SigningKey
  readonly bazaar: BazaarIndex
  readonly faults: FaultSource
  readonly clock: Pick<Clock, 'after'>
  /** An address that is not the payer's and a network that is not ours, for the faults that name them. */
  readonly strangers: { readonly address: string; readonly network: string }
}

const ROUND_MS_MAX = 60_000

export function facilitatorRoutes(options: FacilitatorOptions): Route[] {
  const { faults, bazaar } = options
  const withFault = (stage: Stage, answer: (fault: Fault | undefined) => Reply | Promise<Reply>) => {
    const fault = faults.take(stage)
    return (fault && transportFault(fault.behaviour)) ?? answer(fault)
  }
  return [
    get(/^\/supported$/, () => withFault('supported', fault => supported(options, fault))),
    post(/^\/verify$/, ({ body }) => {
      const asked = askedIn(body)
      return withFault('verify', fault => verify(options, asked, fault))
    }),
    post(/^\/settle$/, ({ body }) => {
      const asked = askedIn(body)
      return withFault('settle', fault => settle(options, asked, fault))
    }),
    get(/^\/discovery\/resources$/, ({ query }) => json(200, bazaar.list(query))),
  ]
}

function supported({ ledger, sponsor, strangers }: FacilitatorOptions, fault?: Fault): Reply {
  const feePayer = fault?.behaviour === 'other-payer' ? strangers.address : sponsor.address
  const ids = networkIdsOf(ledger.network, 'both')
  const networks = fault?.behaviour === 'other-network' ? [strangers.network] : ids
  return json(200, supportedAnswer(fault?.behaviour === 'refuse' ? [] : networks, feePayer))
}

function verify(options: FacilitatorOptions, { payload, requirements }: Question, fault?: Fault): Reply {
  const { ledger, sponsor, strangers } = options
  if (fault?.behaviour === 'refuse') return json(200, invalid('refused_by_sandbox_fault'))
  if (fault?.behaviour === 'lie') return json(200, { isValid: true, payer: readPayment(payload)?.payer })
  const verdict = checkTransactions(payload, requirements, ledger, sponsor)
  if (!verdict.ok) return json(200, invalid(codeOf(verdict), verdict.message))
  const payer = fault?.behaviour === 'other-payer' ? strangers.address : verdict.payer
  return json(200, { isValid: yesValue(fault), payer }, listed(options, { payload, requirements }))
}

function settle(options: FacilitatorOptions, asked: Question, fault?: Fault): Reply | Promise<Reply> {
  const { network } = asked.requirements
  const unsettled = (errorReason: string, transaction?: string) =>
    json(200, unsettledBecause(errorReason, network, transaction))
  switch (fault?.behaviour) {
    case 'refuse':
      return unsettled('insufficient_funds')
    case 'slow-before':
      return sleep(options.clock, fault.delayMs).then(() => settle(options, asked))
    case 'pending':
      return unsettled('settlement_pending', readPayment(asked.payload)?.txId)
    case 'lie': {
      const { txId = '', payer } = readPayment(asked.payload) ?? {}
      return json(200, { success: true, transaction: txId, network, payer })
    }
    case 'die-before':
      return cut
    case 'late':
      options.clock.after(fault.delayMs, () => submit(options, asked))
      return cut
  }
  const verdict = submit(options, asked)
  if (verdict.ok && !options.ledger.landed(verdict.txId))
    return landing(options, verdict).then(landed =>
      landed === 'pending'
        ? json(200, unsettledBecause('settlement_pending', network, verdict.txId))
        : settled(options, asked, landed, fault),
    )
  return settled(options, asked, verdict, fault)
}

function settled(
  options: FacilitatorOptions,
  asked: Question,
  verdict: Accepted | Refused,
  fault?: Fault,
): Reply | Promise<Reply> {
  const { strangers } = options
  const { network } = asked.requirements
  if (fault?.behaviour === 'die-after') return cut
  if (fault?.behaviour === 'error-after')
    return json(200, unsettledBecause('unexpected_settle_error', network))
  if (!verdict.ok) return json(200, unsettledBecause(codeOf(verdict), network, '', verdict.message))
  const receipt = {
    success: yesValue(fault),
    transaction: fault?.behaviour === 'other-tx' ? 'A'.repeat(52) : verdict.txId,
    network: fault?.behaviour === 'other-network' ? strangers.network : network,
    payer: fault?.behaviour === 'other-payer' ? strangers.address : verdict.payer,
  }
  const reply = json(200, receipt, listed(options, asked))
  return fault?.behaviour === 'slow-after' ? sleep(options.clock, fault.delayMs).then(() => reply) : reply
}

async function landing(
  { ledger }: FacilitatorOptions,
  verdict: Accepted,
): Promise<Accepted | Refused | 'pending'> {
  const { rounds } = ledger
  while (ledger.waitingFor(verdict.txId)) {
    const before = rounds.current()
    await rounds.past(before, ROUND_MS_MAX)
    // The sandbox closes, or its rounds stand still.
    if (rounds.current() === before) return 'pending'
  }
  if (ledger.landed(verdict.txId)) return verdict
  const message = ledger.dropped(verdict.txId)?.error ?? 'The transaction is gone'
  return { ok: false, reason: 'settlement_failed', message }
}

function unsettledBecause(errorReason: string, network: unknown, transaction = '', errorMessage?: string) {
  return { success: false, errorReason, errorMessage, transaction, network }
}

/** Checks and lands the payment in one step, so that of concurrent requests exactly one succeeds. */
function submit(
  { ledger, sponsor }: FacilitatorOptions,
  { payload, requirements }: Question,
): Accepted | Refused {
  const verdict = checkTransactions(payload, requirements, ledger, sponsor)
  if (!verdict.ok) return verdict
  const refusal = ledger.submit(verdict.group)
  if (!refusal) return verdict
  return {
    ok: false,
    reason: 'settlement_failed',
    message: `Failed to submit transaction: ${refusal.message}`,
  }
}

function askedIn(body: Buffer): Question {
  const question = questionIn(jsonBody(body))
  if (typeof question === 'string') throw new BadRequest('invalid_request', question)
  return question
}

function listed({ bazaar }: FacilitatorOptions, { payload, requirements }: Question): Record<string, string> {
  if (!bazaar.add(payload, requirements)) return {}
  return { 'EXTENSION-RESPONSES': encodeHeader({ bazaar: { status: 'success' } }) }
}

const reader = algorandPaymentReader()

function readPayment(payload: unknown) {
  return isRecord(payload) ? reader.read(payload) : undefined
}

function yesValue(fault: Fault | undefined): unknown {
  if (fault?.behaviour === 'string-true') return 'true'
  return fault?.behaviour === 'one' ? 1 : true
}
