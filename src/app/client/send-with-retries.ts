/** Decides when a request is sent again, and after how long. It is the same request each time, with the same payment. */
import { group, milliseconds, type Option, positive } from '../../domain/option-checks.js'
import { type Cancel, type Clock, unlessAborted } from '../../ports/clock.js'
import type { Random } from '../../ports/random.js'
import type { HttpRequest } from './build-request.js'
import { callFailed, networkError } from './client-errors.js'
import {
  type Exchange,
  type ExchangeResult,
  errorCodeOf,
  type HttpReply,
  isSuccess,
  namesPayment,
} from './http-reply.js'

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

const RETRY = {
  attempts: positive(3),
  baseMs: milliseconds(250, 0, Number.POSITIVE_INFINITY),
  maxMs: milliseconds(8_000, 0, Number.POSITIVE_INFINITY),
} satisfies Record<keyof RetryOptions, Option<unknown>>

export const ONCE: RetryPolicy = { attempts: 1, baseMs: 0, maxMs: 0 }

export const retryPolicy: Option<RetryPolicy> = (given, name) =>
  given === false ? ONCE : group(RETRY)(given, name)

export interface Delivery {
  /** The last answer; none where the last attempt was lost. */
  readonly reply?: HttpReply
  readonly cause?: string
  readonly attempts: number
  /** Some attempt was lost. The seller may have acted upon it, whatever the last answer says. */
  readonly everLost: boolean
  /** The head of the last answer whose body was lost. */
  readonly torn?: HttpReply
}

export interface AskingDeps {
  readonly exchange: Exchange
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  /** For one answer. */
  readonly timeoutMs: number
}

/** Bounds `Retry-After`: a seller could ask for an hour. */
const RETRY_AFTER_MAX_MS = 30_000

/** The signed payment in a request. */
export interface SentPayment {
  readonly txId: string
  /** When it may be too late for the payment to land, by the monotonic clock. */
  readonly landsUntilMs: number
}

/**
 * Sends until there is an answer to keep. 5xx and lost answers count against `attempts`. Two kinds of answers are waited
 * out instead, for as long as one answer may take:
 *
 * - After an attempt was lost, an answer that says that the call is still running. Giving up would leave a payment in doubt.
 * - An answer that says that earlier runs of this payer are not settled yet, while the payment can land.
 */
export async function deliver(
  deps: AskingDeps,
  request: HttpRequest,
  payment?: SentPayment,
): Promise<Delivery> {
  const { exchange, retry: policy, clock, timeoutMs } = deps
  const endMs = clock.monotonic() + timeoutMs
  let everLost = false
  let torn: HttpReply | undefined
  let failures = 0
  for (let attempts = 1; ; attempts++) {
    const sent = await exchange(request, timeoutMs)
    const untilMs = policy.attempts > 1 ? waitsUntilMs(sent, everLost, endMs, payment) : undefined
    const waits = untilMs !== undefined
    everLost ||= isLost(sent, payment)
    if (sent.kind === 'lost') torn = sent.head ?? torn
    if (!waits && isFailure(sent)) failures++
    const waitMs = waits
      ? Math.max(pauseMs(sent, deps, attempts), policy.baseMs)
      : pauseMs(sent, deps, failures)
    const again = waits ? clock.monotonic() + waitMs < untilMs : isFailure(sent) && failures < policy.attempts
    if (!again) {
      const end = sent.kind === 'answered' ? { reply: sent.reply } : { cause: sent.cause }
      return { ...end, attempts, everLost, torn }
    }
    await pause(clock, waitMs, request.signal, `The call to ${request.url.origin} was aborted`)
  }
}

/** When waiting for another answer than this one ends; `undefined` where this one is not waited out. */
function waitsUntilMs(
  sent: ExchangeResult,
  everLost: boolean,
  endMs: number,
  payment: SentPayment | undefined,
): number | undefined {
  if (sent.kind === 'lost') return undefined
  const { reply } = sent
  if (everLost && !isLost(sent, payment) && isStillWorking(reply, payment)) return endMs
  return payment && isShortOfCredit(reply) ? Math.min(endMs, payment.landsUntilMs) : undefined
}

/** A 409 counts only with the field that our server sends beside its code: any server may use the same code. */
function isStillWorking(reply: HttpReply, payment: SentPayment | undefined): boolean {
  if (reply.status !== 409) return reply.status === 503
  const code = errorCodeOf(reply)
  if (code === 'idempotency_in_progress') return retryAfterMs(reply.headers, 0) !== undefined
  return code === 'payment_in_use' && payment !== undefined && namesPayment(reply, payment.txId)
}

/** The payer has too many runs that are not settled. This payment was not used, and can pay for a later attempt. */
function isShortOfCredit(reply: HttpReply): boolean {
  const asksToWait = reply.status === 429 && retryAfterMs(reply.headers, 0) !== undefined
  return asksToWait && errorCodeOf(reply) === 'too_many_unpaid_calls'
}

const GATEWAY_LOST: ReadonlySet<number> = new Set([502, 504])

/** A gateway answers 502 or 504 for an answer that it lost. With "settlement unknown" the seller does not know either, yet. */
function isLost(sent: ExchangeResult, payment: SentPayment | undefined): boolean {
  if (sent.kind === 'lost') return true
  const code = errorCodeOf(sent.reply)
  if (code === undefined) return GATEWAY_LOST.has(sent.reply.status)
  // What was taken from a balance is not known to the seller either, yet.
  if (code === 'charge_unknown') return payment === undefined
  return code === 'settlement_unknown' && payment !== undefined && namesPayment(sent.reply, payment.txId)
}

function isFailure(sent: ExchangeResult): boolean {
  return sent.kind === 'lost' || sent.reply.status >= 500
}

/** The seller's `Retry-After`, else full jitter: a random time up to the doubled bound, so that callers do not return together. */
function pauseMs(sent: ExchangeResult, { retry: policy, clock, random }: AskingDeps, retry: number): number {
  const askedMs = sent.kind === 'answered' ? retryAfterMs(sent.reply.headers, clock.now()) : undefined
  const { baseMs, maxMs } = policy
  return askedMs ?? random.fraction() * Math.min(maxMs, baseMs * 2 ** Math.max(retry - 1, 0))
}

export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const askedMs = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isNaN(askedMs) ? undefined : Math.min(Math.max(askedMs, 0), RETRY_AFTER_MAX_MS)
}

export async function pause(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal: AbortSignal | undefined,
  message: string,
): Promise<void> {
  let cancel!: Cancel
  const waited = new Promise<void>(resolve => {
    cancel = clock.after(ms, resolve)
  })
  await unlessAborted(waited, signal, message).finally(cancel)
}

export interface UnpaidReply extends Pick<Delivery, 'attempts' | 'everLost'> {
  /** The request that was answered: a GET where the endpoint wants one. */
  readonly request: HttpRequest
  readonly reply: HttpReply
}

/** Asks an endpoint without paying. */
export async function ask(deps: AskingDeps, request: HttpRequest): Promise<UnpaidReply> {
  const send = async (sent: HttpRequest): Promise<UnpaidReply> => {
    const { reply, attempts, everLost, cause } = await deliver(deps, sent)
    if (!reply) throw networkError(sent.url.origin, cause)
    return { request: sent, reply, attempts, everLost }
  }
  const asked = await send(request)
  const { status, headers } = asked.reply
  // Most frameworks answer another method than the route's with 404.
  const isElsewhere = status === 405 ? headers.get('allow')?.match(/\bGET\b/) : status === 404
  if (!isElsewhere || !request.mayBeGet) return asked
  const got = await send({ ...request, method: 'GET' })
  return got.reply.status === status ? asked : got
}

const BRIEF_TIMEOUT_MS = 30_000

/** As `ask`, for quotes and manifests: they take no work, so the time is short. */
export function askBriefly(deps: AskingDeps, request: HttpRequest): Promise<UnpaidReply> {
  return ask({ ...deps, timeoutMs: Math.min(deps.timeoutMs, BRIEF_TIMEOUT_MS) }, request)
}

export function succeeded(asked: UnpaidReply): UnpaidReply {
  const { request, reply } = asked
  if (isSuccess(reply) && !reply.oversized) return asked
  throw callFailed(request.url.origin, reply)
}
