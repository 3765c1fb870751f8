/** Decides when a request is sent again, and after how long. It is the same request each time, with the same payment. */
import type { Cancel, Clock } from '../../ports/clock.js'
import type { Random } from '../../ports/random.js'
import { unlessAborted } from '../../ports/waiting.js'
import { callFailed, networkError } from './errors.js'
import {
  type Exchange,
  type ExchangeResult,
  errorCodeOf,
  type HttpReply,
  isSuccess,
  namesPayment,
} from './http-exchange.js'
import type { HttpRequest, RequestOptions } from './http-request.js'

/**
 * How often a request is sent, and how long the client pauses in between: a random time, bounded by `baseMs` doubled
 * each time.
 */
export interface RetryOptions {
  /** How often a request is sent at most. @default 3 */
  readonly attempts?: number
  /** Bound of the first pause, in milliseconds. @default 250 */
  readonly baseMs?: number
  /** Bound of any pause, in milliseconds. @default 8000 */
  readonly maxMs?: number
}

export type RetryPolicy = Required<RetryOptions>

/** What became of a request that may have been sent several times. */
export interface Delivery {
  /** The last answer; none where the last attempt was lost. */
  readonly reply?: HttpReply
  readonly cause?: string
  readonly attempts: number
  /** Some attempt was lost: it may have been acted upon, whatever the last answer says. */
  readonly everLost: boolean
}

export interface DeliveryDeps {
  readonly exchange: Exchange
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
}

/** A seller may ask for patience, but not for an hour of it. */
const RETRY_AFTER_MAX_MS = 30_000

/** The signed payment in a request. */
export interface SentPayment {
  readonly txId: string
  /** By the monotonic clock: when it may be too late for the payment to land. */
  readonly landsUntilMs: number
}

/**
 * Sends until there is an answer to keep. 5xx and lost answers count against `attempts`. Two kinds of answers are waited
 * out instead, for as long as one answer may take. After an attempt was lost: those that say that it is being worked on,
 * because giving up would leave a payment in doubt. And a payer's runs that are not settled yet, while the payment can land.
 */
export async function deliver(
  deps: DeliveryDeps,
  request: HttpRequest,
  timeoutMs: number,
  presented?: SentPayment,
): Promise<Delivery> {
  const { exchange, retry: policy, clock } = deps
  const endMs = clock.monotonic() + timeoutMs
  let everLost = false
  let failures = 0
  for (let attempts = 1; ; attempts++) {
    const sent = await exchange(request, timeoutMs)
    const untilMs = policy.attempts > 1 ? waitsUntilMs(sent, everLost, endMs, presented) : undefined
    const waits = untilMs !== undefined
    everLost ||= isLost(sent, presented)
    if (!waits && isFailure(sent)) failures++
    const waitMs = waits
      ? Math.max(pauseMs(sent, deps, attempts), policy.baseMs)
      : pauseMs(sent, deps, failures)
    const again = waits ? clock.monotonic() + waitMs < untilMs : isFailure(sent) && failures < policy.attempts
    if (!again) {
      return sent.kind === 'answered'
        ? { reply: sent.reply, attempts, everLost }
        : { cause: sent.cause, attempts, everLost }
    }
    await pause(clock, waitMs, request.signal, `The call to ${request.url.origin} was aborted`)
  }
}

/** @throws SvcError `aborted` as soon as the signal fires. */
async function pause(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal: AbortSignal | undefined,
  message: string,
): Promise<void> {
  let cancel: Cancel | undefined
  const waited = new Promise<void>(resolve => {
    cancel = clock.after(ms, resolve)
  })
  try {
    await unlessAborted(waited, signal, message)
  } finally {
    cancel?.()
  }
}

export interface UnpaidReply {
  /** As it was sent: a GET where the endpoint wanted one. */
  readonly request: HttpRequest
  readonly reply: HttpReply
  readonly attempts: number
}

/**
 * Asks an endpoint without paying.
 *
 * @throws SvcError `network_error`, `aborted`
 */
export async function ask(
  deps: DeliveryDeps,
  request: HttpRequest,
  { method }: RequestOptions,
  timeoutMs: number,
): Promise<UnpaidReply> {
  const send = async (sent: HttpRequest): Promise<UnpaidReply> => {
    const { reply, attempts, cause } = await deliver(deps, sent, timeoutMs)
    if (!reply) throw networkError(sent.url.origin, cause)
    return { request: sent, reply, attempts }
  }
  const asked = await send(request)
  const { status, headers } = asked.reply
  if (status !== 405 || method !== undefined || request.body !== undefined) return asked
  return /\bGET\b/.test(headers.get('allow') ?? '') ? send({ ...request, method: 'GET' }) : asked
}

/** @throws SvcError `call_failed` for anything but a success. */
export function succeeded(asked: UnpaidReply): UnpaidReply {
  const { request, reply } = asked
  if (isSuccess(reply) && !reply.oversized) return asked
  throw callFailed(request.url.origin, reply)
}

/** Until when this answer is waited out; `undefined` for one that is not. */
function waitsUntilMs(
  sent: ExchangeResult,
  everLost: boolean,
  endMs: number,
  presented: SentPayment | undefined,
): number | undefined {
  if (sent.kind === 'lost') return undefined
  const { reply } = sent
  if (everLost && !isLost(sent, presented) && isStillWorking(reply, presented)) return endMs
  return presented && isShortOfCredit(reply) ? Math.min(endMs, presented.landsUntilMs) : undefined
}

/** Without an earlier attempt such a 409 is an answer like others. Its code is believed with what our server sends beside it. */
function isStillWorking(reply: HttpReply, presented: SentPayment | undefined): boolean {
  if (reply.status !== 409) return reply.status === 503
  const code = errorCodeOf(reply)
  if (code === 'idempotency_in_progress') return asksToWait(reply)
  return code === 'payment_in_use' && presented !== undefined && namesPayment(reply, presented.txId)
}

function asksToWait({ headers }: HttpReply): boolean {
  return retryAfterMs(headers, 0) !== undefined
}

/** The payer has too many runs that are not settled; the payment was not touched, and is good for a later one. */
function isShortOfCredit(reply: HttpReply): boolean {
  const asks = reply.status === 429 && asksToWait(reply)
  return asks && errorCodeOf(reply) === 'too_many_unpaid_calls'
}

const GATEWAY_LOST: ReadonlySet<number> = new Set([502, 504])

/**
 * Nothing came back, or nothing that says what became of the payment: a gateway's own 502 or 504 stands for an answer
 * that it lost, and "settlement unknown" of this payment for one that the seller does not have yet.
 */
function isLost(sent: ExchangeResult, presented: SentPayment | undefined): boolean {
  if (sent.kind === 'lost') return true
  const code = errorCodeOf(sent.reply)
  if (code === undefined) return GATEWAY_LOST.has(sent.reply.status)
  return code === 'settlement_unknown' && presented !== undefined && namesPayment(sent.reply, presented.txId)
}

function isFailure(sent: ExchangeResult): boolean {
  return sent.kind === 'lost' || sent.reply.status >= 500
}

/** What the seller asks for, else full jitter: any moment up to the doubled bound, so that callers do not return together. */
function pauseMs(
  sent: ExchangeResult,
  { retry: policy, clock, random }: DeliveryDeps,
  retry: number,
): number {
  const askedMs = sent.kind === 'answered' ? retryAfterMs(sent.reply.headers, clock.now()) : undefined
  const { baseMs, maxMs } = policy
  return askedMs ?? random.fraction() * Math.min(maxMs, baseMs * 2 ** Math.max(retry - 1, 0))
}

/** `Retry-After` in seconds or as a date, bounded; `undefined` for anything else. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const askedMs = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isNaN(askedMs) ? undefined : Math.min(Math.max(askedMs, 0), RETRY_AFTER_MAX_MS)
}
