/**
 * An x402 facilitator over the sandbox's ledger: `/supported`, `/verify`, `/settle`, and the Bazaar's list of resources. It
 * sponsors fees, and answers wrongly where a fault is set. It answers as the official facilitator does, not as our own: to a
 * payment that has landed it says no and names no transaction, and it verifies one that waits for its round. Sellers must be
 * tested on that.
 */
import type { SignedTransaction } from 'algosdk'
import { algorandPaymentReader } from '../adapters/algorand/read-payment.js'
import type { SigningKey } from '../adapters/algorand/signing-keys.js'
import { networkIdsOf } from '../domain/network.js'
import { encodeHeader } from '../domain/x402.js'
import type { BazaarIndex } from '../facilitator/bazaar-index.js'
import {
  checkGroup,
  Refusal,
  type Refused,
  refusalOf,
  sponsoredGroup,
} from '../facilitator/official-group-checks.js'
import { codeOf, invalid, type Question, questionIn, supportedAnswer } from '../facilitator/x402-answers.js'
import { type Clock, sleep } from '../ports/clock.js'
import { MIN_FEE_MICRO_ALGOS } from './apply-group.js'
import { cut, type Fault, type FaultSource, type Stage, transportFault } from './faults.js'
import type { Ledger } from './ledger.js'
import { BadRequest, get, json, jsonBody, post, type Reply, type Route } from './serve-http.js'

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

export function facilitatorRoutes({
  ledger,
  sponsor,
  bazaar,
  faults,
  clock,
  strangers,
}: FacilitatorOptions): Route[] {
  const withFault = (stage: Stage, answer: (fault: Fault | undefined) => Reply | Promise<Reply>) => {
    const fault = faults.take(stage)
    return (fault && transportFault(fault.behaviour)) ?? answer(fault)
  }
  const payerUnder = (fault: Fault | undefined, payer: string) =>
    fault?.behaviour === 'other-payer' ? strangers.address : payer

  function supported(fault?: Fault): Reply {
    const ids = networkIdsOf(ledger.network, 'both')
    const networks = fault?.behaviour === 'other-network' ? [strangers.network] : ids
    const known = fault?.behaviour === 'refuse' ? [] : networks
    return json(200, supportedAnswer(known, payerUnder(fault, sponsor.address)))
  }

  function verify({ payload, requirements }: Question, fault?: Fault): Reply {
    if (fault?.behaviour === 'refuse') return json(200, invalid('refused_by_sandbox_fault'))
    if (fault?.behaviour === 'lie') return json(200, { isValid: true, payer: reader.read(payload)?.payer })
    const verdict = checkTransactions(payload, requirements, ledger, sponsor)
    if (!verdict.ok) return json(200, invalid(codeOf(verdict), verdict.message))
    const answer = { isValid: yesValue(fault), payer: payerUnder(fault, verdict.payer) }
    return json(200, answer, listed({ payload, requirements }))
  }

  function settle(asked: Question, fault?: Fault): Reply | Promise<Reply> {
    switch (fault?.behaviour) {
      case 'refuse':
        return unsettled(asked, 'insufficient_funds')
      case 'slow-before':
        return sleep(clock, fault.delayMs).then(() => settle(asked))
      case 'pending':
        return unsettled(asked, 'settlement_pending', reader.read(asked.payload)?.txId)
      case 'lie': {
        const { txId = '', payer } = reader.read(asked.payload) ?? {}
        return json(200, { success: true, transaction: txId, network: asked.requirements.network, payer })
      }
      case 'die-before':
        return cut
      case 'late':
        clock.after(fault.delayMs, () => submit(asked))
        return cut
    }
    const verdict = submit(asked)
    if (!verdict.ok || ledger.landed(verdict.txId)) return settled(asked, verdict, fault)
    return landing(verdict).then(landed =>
      landed === 'pending'
        ? unsettled(asked, 'settlement_pending', verdict.txId)
        : settled(asked, landed, fault),
    )
  }

  function settled(asked: Question, verdict: Accepted | Refused, fault?: Fault): Reply | Promise<Reply> {
    if (fault?.behaviour === 'die-after') return cut
    if (fault?.behaviour === 'error-after') return unsettled(asked, 'unexpected_settle_error')
    if (!verdict.ok) return unsettled(asked, codeOf(verdict), '', verdict.message)
    const receipt = {
      success: yesValue(fault),
      transaction: fault?.behaviour === 'other-tx' ? 'A'.repeat(52) : verdict.txId,
      network: fault?.behaviour === 'other-network' ? strangers.network : asked.requirements.network,
      payer: payerUnder(fault, verdict.payer),
    }
    const reply = json(200, receipt, listed(asked))
    return fault?.behaviour === 'slow-after' ? sleep(clock, fault.delayMs).then(() => reply) : reply
  }

  async function landing(verdict: Accepted): Promise<Accepted | Refused | 'pending'> {
    const { rounds } = ledger
    while (ledger.waitingFor(verdict.txId)) {
      const before = rounds.current()
      await rounds.past(before, ROUND_MS_MAX)
      // The sandbox closes, or its rounds stand still.
      if (rounds.current() === before) return 'pending'
    }
    if (ledger.landed(verdict.txId)) return verdict
    return failed(ledger.dropped(verdict.txId)?.error ?? 'The transaction is gone')
  }

  /** Checks and lands the payment in one step, so that of concurrent requests exactly one succeeds. */
  function submit({ payload, requirements }: Question): Accepted | Refused {
    const verdict = checkTransactions(payload, requirements, ledger, sponsor)
    const refusal = verdict.ok ? ledger.submit(verdict.group) : undefined
    return refusal ? failed(`Failed to submit transaction: ${refusal.message}`) : verdict
  }

  function listed({ payload, requirements }: Question): Record<string, string> {
    if (!bazaar.add(payload, requirements)) return {}
    return { 'EXTENSION-RESPONSES': encodeHeader({ bazaar: { status: 'success' } }) }
  }

  return [
    get(/^\/supported$/, () => withFault('supported', supported)),
    post(/^\/verify$/, ({ body }) => {
      const asked = askedIn(body)
      return withFault('verify', fault => verify(asked, fault))
    }),
    post(/^\/settle$/, ({ body }) => {
      const asked = askedIn(body)
      return withFault('settle', fault => settle(asked, fault))
    }),
    get(/^\/discovery\/resources$/, ({ query }) => json(200, bazaar.list(query))),
  ]
}

const reader = algorandPaymentReader()

function askedIn(body: Buffer): Question {
  const question = questionIn(jsonBody(body))
  if (typeof question === 'string') throw new BadRequest('invalid_request', question)
  return question
}

function unsettled({ requirements }: Question, errorReason: string, transaction = '', errorMessage?: string) {
  const { network } = requirements
  return json(200, { success: false, errorReason, errorMessage, transaction, network })
}

function failed(message: string): Refused {
  return { ok: false, reason: 'settlement_failed', message }
}

function yesValue(fault: Fault | undefined): unknown {
  if (fault?.behaviour === 'string-true') return 'true'
  return fault?.behaviour === 'one' ? 1 : true
}

interface Accepted {
  readonly ok: true
  readonly payer: string
  readonly txId: string
  readonly group: readonly SignedTransaction[]
}

/** Never throws: malformed input is refused as `payload`. */
export function checkTransactions(
  payload: unknown,
  requirements: unknown,
  ledger: Ledger,
  sponsor: SigningKey,
): Accepted | Refused {
  try {
    const checked = checkGroup(payload, requirements, {
      network: ledger.network,
      sponsor: sponsor.address,
      sponsorFeeMax: group => MIN_FEE_MICRO_ALGOS * BigInt(group.length),
    })
    const group = sponsoredGroup(checked, sponsor.sign)
    const refusal = ledger.simulate(group)
    if (refusal) throw new Refusal('simulation_failed', refusal.message)
    return { ok: true, payer: checked.payer, txId: checked.txId, group }
  } catch (error) {
    return refusalOf(error)
  }
}
