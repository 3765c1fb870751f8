/** One caller with play money in front of one endpoint: sends what a case says, and counts on the ledger what it cost. */
import { algodClient } from '../adapters/algorand/node-clients.js'
import { algorandPaymentSigner } from '../adapters/algorand/payment-signer.js'
import { signingKeyFromSeed } from '../adapters/algorand/signing-keys.js'
import { SvcError } from '../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER, PAYMENT_IDENTIFIER, withIdentifier } from '../domain/idempotency-key.js'
import type { NetworkFacts } from '../domain/network.js'
import {
  decodeAnswerHeader,
  encodeHeader,
  isRecord,
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
  type PaymentPayload,
  type PaymentRequired,
  type PaymentRequirements,
  readRequirements,
} from '../domain/x402.js'
import { wakefulClock } from '../ports/clock.js'
import { systemRandom } from '../ports/random.js'
import { sleep, unlessAborted } from '../ports/timeouts-and-aborts.js'
import type { SandboxControl } from './sandbox-control.js'

export interface Answer {
  /** 0 where none came. */
  readonly status: number
  /** `answered`, `replayed`, `left`, or the code or the reason that the agent gave. */
  readonly end: string
  readonly txId?: string
  readonly ms: number
}

export interface Target {
  readonly url: string
  /** JSON; absent for a GET. */
  readonly body?: string
}

export interface Caller {
  /** The caller's address. */
  readonly payer: string
  readonly requirements: PaymentRequirements
  readonly keepsKeys: boolean
  /** Signs a payment. What is changed is changed in what is signed, and not in what the payment says of itself. */
  pay(change?: (asked: PaymentRequirements) => Partial<PaymentRequirements>): Promise<PaymentPayload>
  /** @param key the key of this case, unless another is named */
  send(payment?: PaymentPayload | string, key?: string): Promise<Answer>
  anotherKey(): string
  /** Sends, and closes the connection once the facilitator has been asked to settle. */
  leaveWhileSettling(payment: PaymentPayload): Promise<Answer>
  /** Sends again until the agent has an end for this payment. */
  settled(payment: PaymentPayload): Promise<Answer>
  untilSettling(): Promise<void>
  /** Moves the ledger past the last valid round of what was signed. Not further: a node forgets blocks, and could prove nothing. */
  expire(): Promise<void>
  /** Removes the fault. */
  mend(): Promise<void>
  becomePoor(): Promise<void>
  /** What the caller has paid so far, in base units. */
  paid(): Promise<bigint>
}

const CALLS_AFFORDED = 4n
const MICRO_ALGOS = 1_000_000n
const POLL_MS = 20
const AGAIN_MS = 500
const AGAIN_MAX = 60
const UNDECIDED: ReadonlySet<string> = new Set([
  'idempotency_in_progress',
  'payment_in_use',
  'settlement_unknown',
])

/** @throws SvcError `unreadable_quote`, `network_mismatch` */
export async function callerAt(
  target: Target,
  { network, sandbox, signal }: { network: NetworkFacts; sandbox: SandboxControl; signal: AbortSignal },
): Promise<Caller> {
  const key = systemRandom.uuid()
  let wallet = newKey()
  const quoted = await fetch(target.url, { ...requestOf(target), signal })
  await quoted.body?.cancel()
  const challenge = challengeIn(quoted)
  const requirements = challenge?.accepts.map(readRequirements).find(entry => entry !== undefined)
  if (!challenge || !requirements)
    throw new SvcError(
      `${target.url} answered ${quoted.status} without a quote`,
      'unreadable_quote',
      quoted.status,
    )
  if (requirements.extra?.feePayer !== (await sandbox.feePayer()))
    throw new SvcError(
      `The agent settles elsewhere than on the sandbox at ${sandbox.url}: start it with SVC_SANDBOX=${sandbox.url}`,
      'network_mismatch',
    )
  let validRounds = 0
  let funds = BigInt(requirements.amount) * CALLS_AFFORDED
  await sandbox.fund(wallet.address, { usdc: funds, microAlgos: MICRO_ALGOS })
  const keepsKeys = isRecord(challenge.extensions) && PAYMENT_IDENTIFIER in challenge.extensions

  async function send(payment?: PaymentPayload | string, named = key, leave?: AbortSignal): Promise<Answer> {
    const headers: Record<string, string> = {}
    if (typeof payment === 'string') headers[PAYMENT_SIGNATURE_HEADER] = payment
    else if (payment) {
      headers[PAYMENT_SIGNATURE_HEADER] = encodeHeader(withIdentifier(payment, named))
      if (keepsKeys) headers[IDEMPOTENCY_KEY_HEADER] = named
    }
    const begunMs = wakefulClock.monotonic()
    const ended = (answer: Omit<Answer, 'ms'>) => ({
      ...answer,
      ms: Math.round(wakefulClock.monotonic() - begunMs),
    })
    try {
      const abort = leave ? AbortSignal.any([signal, leave]) : signal
      const response = await fetch(target.url, { ...requestOf(target, headers), signal: abort })
      return ended(await read(response))
    } catch (error) {
      if (signal.aborted) throw new SvcError('Stopped', 'aborted')
      const cause = (error as Error).cause ?? error
      return ended({ status: 0, end: leave?.aborted ? 'left' : `no answer (${(cause as Error).message})` })
    }
  }

  const pause = (ms: number) => unlessAborted(sleep(wakefulClock, ms), signal, 'Stopped')

  async function untilSettling(): Promise<void> {
    while ((await sandbox.takenFaults()) === 0) await pause(POLL_MS)
  }

  return {
    payer: wallet.address,
    requirements,
    keepsKeys,
    async pay(change) {
      const algod = algodClient({ url: sandbox.url })
      try {
        // Each payment asks the node anew: the case may have moved its rounds.
        const signer = algorandPaymentSigner({ key: wallet, network, algod, paramsMaxAgeMs: 0 })
        const changed = { ...requirements, ...change?.(requirements) }
        const { payload, firstValid, lastValid } = await signer.sign(challenge, changed)
        validRounds = Number(lastValid - firstValid)
        return { ...payload, accepted: requirements }
      } finally {
        await algod.close()
      }
    },
    send: (payment, named) => send(payment, named),
    anotherKey: () => systemRandom.uuid(),
    async leaveWhileSettling(payment) {
      const leave = new AbortController()
      const answer = send(payment, key, leave.signal)
      await Promise.race([untilSettling(), answer])
      leave.abort()
      return answer
    },
    async settled(payment) {
      for (let at = 0; ; at++) {
        const answer = await send(payment)
        if (!UNDECIDED.has(answer.end) || at === AGAIN_MAX) return answer
        await pause(AGAIN_MS)
      }
    },
    untilSettling,
    expire: () => sandbox.advance(validRounds + 1),
    mend: () => sandbox.mend(),
    async becomePoor() {
      wallet = newKey()
      funds = 0n
      await sandbox.fund(wallet.address, { usdc: funds, microAlgos: MICRO_ALGOS })
    },
    paid: async () => funds - (await sandbox.usdcOf(wallet.address)),
  }
}

function newKey() {
  return signingKeyFromSeed(systemRandom.bytes(32))
}

function requestOf({ body }: Target, headers: Record<string, string> = {}): RequestInit {
  // Each call has a connection of its own: one that is closed by a case is not used again.
  const own = { ...headers, connection: 'close' }
  if (body === undefined) return { method: 'GET', headers: own, redirect: 'manual' }
  return { method: 'POST', body, headers: { ...own, 'content-type': 'application/json' }, redirect: 'manual' }
}

function challengeIn({ status, headers }: Response): PaymentRequired | undefined {
  const header = headers.get(PAYMENT_REQUIRED_HEADER)
  const challenge = status === 402 && header !== null ? decodeAnswerHeader(header) : undefined
  return Array.isArray(challenge?.accepts) ? (challenge as unknown as PaymentRequired) : undefined
}

async function read(response: Response): Promise<Omit<Answer, 'ms'>> {
  const { status, headers } = response
  const text = await response.text()
  const receipt = decodeAnswerHeader(headers.get(PAYMENT_RESPONSE_HEADER) ?? '')
  const txId = typeof receipt?.txId === 'string' && receipt.txId !== '' ? receipt.txId : undefined
  return { status, end: endOf(response, text, receipt), ...(txId !== undefined && { txId }) }
}

function endOf(response: Response, text: string, receipt: Record<string, unknown> | undefined): string {
  const { status, headers } = response
  if (status < 400) return headers.get('idempotency-replayed') === 'true' ? 'replayed' : 'answered'
  if (status === 402) return String(receipt?.errorReason ?? challengeIn(response)?.error ?? 'no reason')
  try {
    const body: unknown = JSON.parse(text)
    const code = isRecord(body) && isRecord(body.error) ? body.error.code : undefined
    return typeof code === 'string' ? code : 'no code'
  } catch {
    return 'no code'
  }
}
