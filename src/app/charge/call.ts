/** The record of one call: written by one effect, read by the next. It lives as long as the walk. */
import type { Answer } from '../../domain/answer.js'
import { parseBaseUnits } from '../../domain/money.js'
import { isRecord, type PaymentPayload, type PaymentRequirements } from '../../domain/x402.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { ChargeRequest, Problem } from '../../ports/charge.js'
import type { Hold, Recorded } from '../../ports/charge-store.js'
import type { ReadPayment } from '../../ports/payment-reader.js'
import type { ChargeDeps, EndpointEntry } from './deps.js'

export interface Call {
  readonly id: string
  readonly traceId: string
  readonly parentSpan: EndedCall['parentSpan']
  readonly startedMs: number
  readonly startedMonotonicMs: number
  readonly request: ChargeRequest
  readonly endpoint: EndpointEntry
  /** The body, or for a GET the query, as the handler shall see it. */
  input: unknown
  /** Asks for the price alone: nothing was validated, so no window may let it run. */
  isProbe: boolean

  /** The presented payment and what could be read in it. */
  readonly payload: PaymentPayload | undefined
  readonly read: ReadPayment | undefined

  /** What this call may hold in the store, and whether it does. */
  hold: Hold | undefined
  held: boolean
  /** What the kept answer is sealed with: the caller's key, or without one the signature of the payment. */
  secret: string | undefined
  /** The store did not say what it did for this call: what it holds is given back in the background. */
  storeSilent: boolean
  /** Whose credit the run took; `undefined` where it took none. */
  creditor: string | undefined
  /** Where an unverified payment was counted: it is given back once the payment is verified. */
  countedUnder: string | undefined
  /** Left by a call that stopped while settling. */
  recorded: Recorded | undefined

  requirements: PaymentRequirements | undefined
  payer: string | undefined
  /** The handler's deadline in milliseconds, and by the monotonic clock the moments after which the payment cannot settle and since when it settles. */
  handlerMs: number
  settleByMs: number
  settlingSinceMs: number

  answer: Answer | undefined
  txId: string | undefined
  window: { readonly key: string; readonly id: string; readonly expiresAtMs: number } | undefined
  replayed: ReplayedAnswer | undefined
  mismatch: string | undefined

  problem: Problem | undefined
  /** Why a 402 is a 402; it becomes the challenge's `error`. */
  refusal: string | undefined
  retryAfterMs: number | undefined
  readonly logs: LogEntry[]
}

/** What is kept of a settled call, to be replayed to the caller that holds its key. */
export interface ReplayedAnswer {
  /** `undefined` where it was too large to be kept. */
  readonly answer: Answer | undefined
  readonly txId: string | undefined
  readonly payer: string | undefined
  readonly amount: string
  readonly asset: string
  readonly window: { readonly key: string; readonly expiresAtMs: number } | undefined
}

export interface LogEntry {
  readonly atMs: number
  readonly message: string
  readonly data?: unknown
}

const LOGS_MAX = 20
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const NO_TRACE = '0'.repeat(32)

export function newCall(deps: ChargeDeps, endpoint: EndpointEntry, request: ChargeRequest): Call {
  const id = deps.random.uuid()
  const trace = callersTrace(request.headers.traceparent)
  const payload = request.payment.kind === 'read' ? request.payment.value : undefined
  const read = payload && deps.reader.read(payload)
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
    hold: undefined,
    held: false,
    secret: undefined,
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
    txId: read?.txId,
    window: undefined,
    replayed: undefined,
    mismatch: undefined,
    problem: undefined,
    refusal: undefined,
    retryAfterMs: undefined,
    logs: [],
  }
}

const LOG_MESSAGE_LENGTH_MAX = 1_000
const LOG_DATA_LENGTH_MAX = 2_000

/** Rendered when it is logged: an entry cannot change afterwards, nor break or swell the error answer it ends up in. */
export function log(call: Call, atMs: number, message: string, data?: unknown): void {
  if (call.logs.length === LOGS_MAX) call.logs.shift()
  const entry = { atMs, message: String(message).slice(0, LOG_MESSAGE_LENGTH_MAX) }
  call.logs.push(data === undefined ? entry : { ...entry, data: loggable(data) })
}

function loggable(data: unknown): unknown {
  try {
    const text = JSON.stringify(data, withoutErrors) ?? 'null'
    return text.length > LOG_DATA_LENGTH_MAX ? `${text.slice(0, LOG_DATA_LENGTH_MAX)}…` : JSON.parse(text)
  } catch {
    return 'not JSON'
  }
}

/** Entries reach callers, and errors carry what does not belong there: an HTTP library's hold the request's headers. */
function withoutErrors(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key]
  return original instanceof Error ? original.name : value
}

const STORE_RETRY_MS = 2_000

/** No store, no call: what cannot be held cannot be charged for once. */
export function storeDown(call: Call): 'storeDown' {
  call.retryAfterMs = STORE_RETRY_MS
  call.problem = {
    code: 'store_unavailable',
    message:
      'The store that guards against double charges does not answer, or is full. Nothing was charged by this request; try again.',
  }
  return 'storeDown'
}

/** The random half of the call's own id: random bytes for another took 7 % of a call in a window. */
export function spanIdOf({ id }: Call): string {
  return id.slice(19, 23) + id.slice(24)
}

/** By place: a global replacement takes as long as making the id. */
function hexOf(uuid: string): string {
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24)
}

function callersTrace(traceparent: string | undefined) {
  const match = TRACEPARENT.exec(traceparent ?? '')
  if (match === null || match[1] === NO_TRACE) return undefined
  const [, traceId, spanId, flags] = match
  return { traceId: traceId!, parentSpan: { id: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 } }
}

/** Who a payment claims to come from, where no transaction in it can be read: a bare claim. */
export function claimedPayer(payload: PaymentPayload | undefined): string | undefined {
  const inner = payload?.payload
  if (!isRecord(inner)) return undefined
  const authorization = isRecord(inner.authorization) ? inner.authorization.from : undefined
  const claimed = inner.payer ?? inner.from ?? inner.sender ?? authorization
  return typeof claimed === 'string' && claimed.length <= 128 ? claimed : undefined
}

/**
 * The payer who signed this payment for us, whether or not it has landed. Payments that landed are public, so this is
 * enough only beside a secret: an idempotency key that cannot be guessed.
 */
export function signingPayer(deps: ChargeDeps, { read, endpoint }: Call): string | undefined {
  if (read === undefined || !paysUs(deps, read)) return undefined
  const fixed = endpoint.terms.fixedAmount
  if (fixed !== undefined ? read.amount !== fixed : read.amount <= 0n) return undefined
  return read.proven() ? read.payer : undefined
}

export function paysUs(deps: ChargeDeps, read: ReadPayment): boolean {
  return read.receiver === deps.payTo && read.network === deps.network && read.asset === deps.assetId
}

/** Whether a readable payment moves exactly what we asked for. */
export function meetsTerms(deps: ChargeDeps, read: ReadPayment, requirements: PaymentRequirements): boolean {
  return paysUs(deps, read) && read.amount === parseBaseUnits(requirements.amount)
}
