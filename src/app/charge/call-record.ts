/** The record of one call: written by one effect, read by the next. It lives as long as the walk. */
import type { Answer } from '../../domain/handler-answer.js'
import { parseBaseUnits } from '../../domain/money.js'
import { isRecord, type PaymentPayload, type PaymentRequirements } from '../../domain/x402.js'
import type { EndedCall, LoggedEntry } from '../../ports/call-observer.js'
import type { ChargeRequest, Problem } from '../../ports/charge.js'
import type { Hold, Recorded } from '../../ports/charge-store.js'
import type { PaymentReader, ReadPayment } from '../../ports/payment-reader.js'
import type { ChargeDeps, EndpointEntry } from './charge-deps.js'
import { keyOfCall } from './key-of-call.js'
import type { StreamEnd, StreamSource } from './render-stream.js'

export interface Call {
  readonly id: string
  readonly traceId: string
  readonly parentSpan: EndedCall['parentSpan']
  readonly startedMs: number
  readonly startedMonotonicMs: number
  /** Without its payment where the key of an open window covers the call, and without that key where it opens nothing. */
  request: ChargeRequest
  readonly endpoint: EndpointEntry
  /** The key of a window that came beside a payment and opens nothing. Answers that the window covered may be kept under it. */
  endedWindow: string | undefined
  /** The body, or the query of a GET, as the handler receives it. */
  input: unknown
  /** The request asks for the price alone. Nothing was validated, so no window may let it run. */
  isProbe: boolean

  /** The presented payment, and the transaction that was read from it. */
  payload: PaymentPayload | undefined
  read: ReadPayment | undefined
  /** The payer signed a proof for this very payment. */
  isProven: boolean

  /** The idempotency key, where keys count. `keyProblem` says why the request cannot be accepted as it is. */
  key: string | undefined
  keyProblem: Problem | undefined

  /** What this call asked the store for, and whether it holds it. */
  hold: Hold | undefined
  held: boolean
  /** What the call may hold, and the secret that seals its answer. */
  owned: Owned | undefined
  /** The store did not answer what it did for this call. Then what the call holds is given back in the background. */
  storeSilent: boolean
  /** The payer whose credit the run took; `undefined` where it took none. */
  creditor: string | undefined
  /** The rate-limit key that counted the unverified payment. It gets the count back once the payment is verified. */
  countedUnder: string | undefined
  /** The record of an earlier call that stopped while settling. */
  recorded: Recorded | undefined

  requirements: PaymentRequirements | undefined
  payer: string | undefined
  /**
   * `handlerMs` is the handler's deadline in milliseconds. The other two are moments of the monotonic clock: the
   * payment cannot settle after the first, and it settles since the second.
   */
  handlerMs: number
  settleByMs: number
  settlingSinceMs: number

  answer: Answer | undefined
  /** The opened stream that the handler returned, until it has ended whole. */
  source: StreamSource | undefined
  /** Cancels the handler's signal, also while its stream leaves. */
  cancellation: { cancel(why: string): void } | undefined
  /** Resolves when the answer's stream has ended; `undefined` for any other answer. */
  streamEnd: Promise<StreamEnd> | undefined
  txId: string | undefined
  window: SoldWindow | undefined
  /** The id of the window that this call took one of its counted calls from. */
  takenFrom: string | undefined
  /** How many calls the window of the caller's key has after this one; `undefined` where it has no count, or it is unknown. */
  callsLeft: number | undefined
  /** Why the caller's window does not cover this call. The quote repeats it. */
  uncovered: string | undefined
  replayed: ReplayedAnswer | undefined
  mismatch: string | undefined

  problem: Problem | undefined
  /** Why the call ended with 402; the challenge's `error` repeats it. */
  refusal: string | undefined
  retryAfterMs: number | undefined
  readonly logs: LoggedEntry[]
  /** The message of what the handler threw, for the seller alone. */
  thrown: string | undefined
}

/** What a call may hold, and what speaks for its caller. */
export interface Owned {
  readonly hold: Hold
  /** Secrets for the kept answer: the first seals it, each may open it. */
  readonly seals: readonly string[]
  /** Neither a proof nor a secret speaks for the caller. */
  readonly isBearer: boolean
  /** Stands for the caller's address; `undefined` where the address may open nothing. */
  readonly caller: string | undefined
  /** The payment's own name for its answer, where the claim has another. */
  readonly answerName: string | undefined
}

/** The window that a call is selling. */
export interface SoldWindow {
  readonly key: string
  readonly id: string
  readonly expiresAtMs: number
  readonly callsLeft?: number
}

/** The part of a settled call that is kept, to be replayed to the caller that holds its key. */
export interface ReplayedAnswer {
  /** `undefined` where the answer was too large to keep, or its stream did not end. */
  readonly answer: Answer | undefined
  readonly txId: string | undefined
  readonly payer: string | undefined
  readonly amount: string
  readonly asset: string
  /** The network's id as the payer spelt it; absent where no payment was asked for. */
  readonly network?: string | undefined
  readonly window: Pick<SoldWindow, 'key' | 'expiresAtMs' | 'callsLeft'> | undefined
  /** What was left of the window that covered the call. */
  readonly callsLeft?: number
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const NO_TRACE = '0'.repeat(32)

/** @param reader absent where the request has no payment to read */
export function newCall(
  deps: ChargeDeps,
  endpoint: EndpointEntry,
  request: ChargeRequest,
  reader: PaymentReader | undefined,
): Call {
  const id = deps.random.uuid()
  const trace = callersTrace(request.headers.traceparent)
  const payload = request.payment.kind === 'read' ? request.payment.value : undefined
  const read = payload && reader?.read(payload)
  const { key, problem: keyProblem } = keyOfCall(deps.rules, request, payload)
  return {
    id,
    traceId: trace?.traceId ?? hexOf(id),
    parentSpan: trace?.parentSpan,
    startedMs: deps.clock.now(),
    startedMonotonicMs: deps.clock.monotonic(),
    request,
    endpoint,
    input: undefined,
    isProbe: false,
    payload,
    read,
    isProven: false,
    key,
    keyProblem,
    hold: undefined,
    held: false,
    owned: undefined,
    storeSilent: false,
    creditor: undefined,
    countedUnder: undefined,
    recorded: undefined,
    requirements: undefined,
    payer: read?.payer,
    handlerMs: endpoint.def.timeout,
    settleByMs: Number.POSITIVE_INFINITY,
    settlingSinceMs: 0,
    answer: undefined,
    source: undefined,
    cancellation: undefined,
    streamEnd: undefined,
    txId: read?.txId,
    window: undefined,
    takenFrom: undefined,
    callsLeft: undefined,
    uncovered: undefined,
    endedWindow: undefined,
    replayed: undefined,
    mismatch: undefined,
    problem: undefined,
    refusal: undefined,
    retryAfterMs: undefined,
    logs: [],
    thrown: undefined,
  }
}

const STORE_RETRY_MS = 2_000

/** Without a store there is no call: a payment that cannot be held cannot be charged exactly once. */
export function storeDown(call: Call): 'storeDown' {
  call.retryAfterMs = STORE_RETRY_MS
  call.problem = {
    code: 'store_unavailable',
    message:
      'The store that guards against double charges does not answer, or is full. Nothing was charged by this request; try again.',
  }
  return 'storeDown'
}

/** The random half of the call's own id. Making other random bytes took 7 % of a call in a window. */
export function spanIdOf({ id }: Call): string {
  return id.slice(19, 23) + id.slice(24)
}

/** Cuts the hyphens by position: a global replacement takes as long as making the id. */
function hexOf(uuid: string): string {
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24)
}

function callersTrace(traceparent: string | undefined) {
  const match = TRACEPARENT.exec(traceparent ?? '')
  if (match === null || match[1] === NO_TRACE) return undefined
  const [, traceId, spanId, flags] = match
  return { traceId: traceId!, parentSpan: { id: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 } }
}

/** The payer that a payment claims, where no transaction in it can be read. It is a claim without proof. */
export function claimedPayer(payload: PaymentPayload | undefined): string | undefined {
  const inner = payload?.payload
  if (!isRecord(inner)) return undefined
  const authorization = isRecord(inner.authorization) ? inner.authorization.from : undefined
  const claimed = inner.payer ?? inner.from ?? inner.sender ?? authorization
  return typeof claimed === 'string' && claimed.length <= 128 ? claimed : undefined
}

/** Whether a payment transfers the asset that is asked for to this seller. */
export function paysUs({ owner: { payTo, network } }: ChargeDeps, read: ReadPayment): boolean {
  return read.receiver === payTo && read.genesisHash === network.genesisHash && read.asset === network.usdcId
}

/** Whether a readable payment transfers exactly what the requirements ask for. */
export function meetsTerms(deps: ChargeDeps, read: ReadPayment, requirements: PaymentRequirements): boolean {
  return paysUs(deps, read) && read.amount === parseBaseUnits(requirements.amount)
}
