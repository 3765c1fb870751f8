/** One caller with play money in front of one endpoint: sends what a case says, and counts on the ledger what it cost. */
import { algodClient } from '../adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../adapters/algorand/sign-payment-group.js'
import { signingKeyFromSeed } from '../adapters/algorand/signing-keys.js'
import { isReplay, receiptOf } from '../app/client/charge-evidence.js'
import { errorCodeOf, type HttpReply, wholeReply } from '../app/client/http-reply.js'
import { proofOf } from '../app/client/prove-payer.js'
import { challengeOf, keepsKeys as sellerKeepsKeys } from '../app/client/read-quote.js'
import { SvcError } from '../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER, withIdentifier } from '../domain/idempotency-key.js'
import type { NetworkFacts } from '../domain/network.js'
import { SIGN_IN_WITH_X_HEADER } from '../domain/sign-in-with-x.js'
import {
  encodeHeader,
  PAYMENT_SIGNATURE_HEADER,
  type PaymentPayload,
  type PaymentRequirements,
  readRequirements,
} from '../domain/x402.js'
import { sleep, systemClock, unlessAborted, wakefulClock } from '../ports/clock.js'
import type { PaymentSigner, SignedPayment } from '../ports/payment-signer.js'
import { systemRandom } from '../ports/random.js'
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

export type Caller = Awaited<ReturnType<typeof callerAt>>

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
) {
  const key = systemRandom.uuid()
  let wallet = newKey()
  const quoted = await fetch(target.url, { ...requestOf(target), signal })
  const challenge = challengeOf(await wholeReply(quoted))
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
  let signed: SignedPayment | undefined
  let funds = BigInt(requirements.amount) * CALLS_AFFORDED
  await sandbox.fund(wallet.address, { usdc: funds, microAlgos: MICRO_ALGOS })
  const keepsKeys = sellerKeepsKeys(challenge)

  async function send(payment?: PaymentPayload | string, named = key, leave?: AbortSignal, proof?: string) {
    const headers: Record<string, string> = proof === undefined ? {} : { [SIGN_IN_WITH_X_HEADER]: proof }
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
      return ended(read(await wholeReply(response)))
    } catch (error) {
      if (signal.aborted) throw new SvcError('Stopped', 'aborted')
      const cause = (error as Error).cause ?? error
      return ended({ status: 0, end: leave?.aborted ? 'left' : `no answer (${(cause as Error).message})` })
    }
  }

  const pause = (ms: number) => unlessAborted(sleep(wakefulClock, ms), signal, 'Stopped')

  async function asPayer<T>(act: (signer: PaymentSigner) => Promise<T>): Promise<T> {
    const algod = algodClient({ url: sandbox.url })
    try {
      // Each payment asks the node anew: the case may have moved its rounds.
      return await act(algorandPaymentSigner({ key: wallet, network, algod, paramsMaxAgeMs: 0 }))
    } finally {
      await algod.close()
    }
  }

  async function untilSettling(): Promise<void> {
    while ((await sandbox.takenFaults()) === 0) await pause(POLL_MS)
  }

  return {
    payer: wallet.address,
    requirements,
    /** Signs a payment. What is changed is changed in what is signed, and not in what the payment says of itself. */
    async pay(
      change?: (asked: PaymentRequirements) => Partial<PaymentRequirements>,
    ): Promise<PaymentPayload> {
      const changed = { ...requirements, ...change?.(requirements) }
      signed = await asPayer(signer => signer.sign(challenge, changed))
      return { ...signed.payload, accepted: requirements }
    },
    /** Under the key of this case, unless another is named. */
    send: (payment?: PaymentPayload | string, named?: string) => send(payment, named),
    anotherKey: () => systemRandom.uuid(),
    /** Sends, and closes the connection once the facilitator has been asked to settle. */
    async leaveWhileSettling(payment: PaymentPayload) {
      const leave = new AbortController()
      const answer = send(payment, key, leave.signal)
      await Promise.race([untilSettling(), answer])
      leave.abort()
      return answer
    },
    /** Where the last answer says that this payment was spent, sends it again as its payer, which proves itself. */
    async proven(payment: PaymentPayload, answers: readonly Answer[]) {
      if (answers.at(-1)?.end !== 'payment_spent') return answers
      const spent = { chainId: requirements.network, requestId: signed!.txId }
      const deps = { clock: systemClock, random: systemRandom }
      const proof = await asPayer(signer => proofOf(new URL(target.url), spent, { ...deps, signer }))
      return [...answers, await send(payment, key, undefined, proof)]
    },
    /** Sends again until the agent has an end for this payment. */
    async settled(payment: PaymentPayload) {
      for (let at = 0; ; at++) {
        const answer = await send(payment)
        if (!UNDECIDED.has(answer.end) || at === AGAIN_MAX) return answer
        await pause(AGAIN_MS)
      }
    },
    untilSettling,
    /** Moves the ledger past the last valid round of what was signed. Not further: a node forgets blocks, and could prove nothing. */
    expire: () => sandbox.advance(Number(signed!.lastValid - signed!.firstValid) + 1),
    mend: () => sandbox.mend(),
    async becomePoor() {
      wallet = newKey()
      funds = 0n
      await sandbox.fund(wallet.address, { usdc: funds, microAlgos: MICRO_ALGOS })
    },
    /** Base units so far. */
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

function read(reply: HttpReply): Omit<Answer, 'ms'> {
  const { status, headers } = reply
  const { txId, errorReason } = receiptOf(headers) ?? {}
  const answered = isReplay(reply) ? 'replayed' : 'answered'
  const refused = errorReason ?? challengeOf(reply)?.error ?? 'no reason'
  const end = status < 400 ? answered : status === 402 ? refused : (errorCodeOf(reply) ?? 'no code')
  return { status, end, ...(txId !== undefined && { txId }) }
}
