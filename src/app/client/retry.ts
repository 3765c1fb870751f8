/** When a request is sent again, and after how long. The same bytes each time: only the waiting is decided here. */
import { pause } from './abort.js'
import { errorCodeOf } from './body.js'
import type { Exchange, Outgoing, Reply, Sent } from './exchange.js'

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
  readonly reply?: Reply
  readonly cause?: string
  readonly attempts: number
  /** Some attempt was lost: it may have been acted upon, whatever the last answer says. */
  readonly everLost: boolean
}

/** A seller may ask for patience, but not for an hour of it. */
const RETRY_AFTER_MAX_MS = 30_000

/** Answers that say: your earlier attempt is still being worked on. Without an earlier attempt they are answers like others. */
const STILL_WORKING: ReadonlySet<string> = new Set(['idempotency_in_progress', 'payment_in_use'])

/**
 * Sends until there is an answer to keep. 5xx and lost answers count against `attempts`. Once an answer was lost, those
 * that only say "not yet" are waited out for as long as one answer may take: giving up would leave a payment in doubt.
 */
export async function deliver(
  exchange: Exchange,
  request: Outgoing,
  policy: RetryPolicy,
  timeoutMs: number,
): Promise<Delivery> {
  const endMs = performance.now() + timeoutMs
  let everLost = false
  let failures = 0
  for (let attempts = 1; ; attempts++) {
    const sent = await exchange(request, timeoutMs)
    const lost = isLost(sent)
    const stillWorking = !lost && sent.kind === 'answered' && isStillWorking(sent.reply)
    const waits = everLost && stillWorking && policy.attempts > 1
    everLost ||= lost
    if (!waits && isFailure(sent)) failures++
    const waitMs = waits
      ? Math.max(pauseMs(sent, policy, attempts), policy.baseMs)
      : pauseMs(sent, policy, failures)
    const again = waits ? performance.now() + waitMs < endMs : isFailure(sent) && failures < policy.attempts
    if (!again) {
      return sent.kind === 'answered'
        ? { reply: sent.reply, attempts, everLost }
        : { cause: sent.cause, attempts, everLost }
    }
    await pause(waitMs, request.signal, `The call to ${request.url.origin} was aborted`)
  }
}

export function isStillWorking(reply: Reply): boolean {
  return reply.status === 503 || (reply.status === 409 && STILL_WORKING.has(errorCodeOf(reply) ?? ''))
}

const GATEWAY_LOST: ReadonlySet<number> = new Set([502, 504])

/**
 * Nothing came back, or nothing that says what became of the payment: a gateway's own 502 or 504 stands for an answer
 * that it lost, and "settlement unknown" for one that the seller does not have yet.
 */
function isLost(sent: Sent): boolean {
  if (sent.kind === 'lost') return true
  const code = errorCodeOf(sent.reply)
  return code === 'settlement_unknown' || (code === undefined && GATEWAY_LOST.has(sent.reply.status))
}

function isFailure(sent: Sent): boolean {
  return sent.kind === 'lost' || sent.reply.status >= 500
}

/** What the seller asks for, else full jitter: any moment up to the doubled bound, so that callers do not return together. */
function pauseMs(sent: Sent, { baseMs, maxMs }: RetryPolicy, retry: number): number {
  const askedMs = sent.kind === 'answered' ? retryAfterMs(sent.reply.headers) : undefined
  return askedMs ?? Math.random() * Math.min(maxMs, baseMs * 2 ** Math.max(retry - 1, 0))
}

/** `Retry-After` in seconds or as a date, bounded; `undefined` for anything else. */
export function retryAfterMs(headers: Headers, nowMs = Date.now()): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const askedMs = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isNaN(askedMs) ? undefined : Math.min(Math.max(askedMs, 0), RETRY_AFTER_MAX_MS)
}
