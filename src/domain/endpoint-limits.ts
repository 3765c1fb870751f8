/** Options of one endpoint, checked: its limits, when it will stop answering, and the names that it had. */
import { SvcError, shown } from './errors.js'
import { refuseUnknown } from './option-checks.js'
import type { UpstreamOptions } from './upstream.js'

/** The limits that one endpoint may set differently from its server. */
export interface EndpointLimits extends PaidBy {
  /** The largest body that is read, in bytes. @default the server's `maxBodyBytes` */
  readonly maxBodyBytes?: number
  /**
   * Calls a minute of this endpoint alone, counted separately from all others; `false` exempts it.
   *
   * @default the server's `rateLimit`
   */
  readonly rateLimit?: EndpointRateLimit | false
  /**
   * Whether the handler may return a stream: an async iterable (each item is one server-sent event: text as it is, all
   * else as JSON), a `ReadableStream` or Node stream of bytes or text (sent as it comes), or a `Response` (its body is
   * not collected). The call is charged when the handler has returned the stream, before its first byte leaves.
   *
   * @default false: a stream is no answer, and the body of a `Response` is collected before the charge
   */
  readonly stream?: boolean
  /** How long a stream may take, in milliseconds, from the charge to its last byte; at most an hour. @default 300000 */
  readonly streamTimeout?: number
}

/** The rate limit of each caller. */
export interface EndpointRateLimit {
  /** Calls a minute. */
  readonly perMinute: number
  /** What identifies one caller: the payer, or the network address (of IPv6, its /64). @default 'payer' */
  readonly per?: 'payer' | 'ip'
}

/**
 * A claim is kept for the payment's rounds and an hour. A longer stream would lose its key while it runs, and a retry would be
 * charged again.
 */
export const STREAM_TIMEOUT_MAX_MS = 3_600_000

export function limitsOf(
  name: string,
  options: EndpointLimits & UpstreamOptions & { readonly subscription?: unknown },
): EndpointLimits {
  const { maxBodyBytes, rateLimit, stream, streamTimeout, upstream } = options
  const refuse = (why: string): never => {
    throw new SvcError(`Endpoint '${name}': ${why}`, 'invalid_endpoint')
  }
  if (maxBodyBytes !== undefined && !isCount(maxBodyBytes))
    refuse(`maxBodyBytes is a positive whole number, not ${shown(maxBodyBytes)}`)
  if (stream !== undefined && typeof stream !== 'boolean')
    refuse(`stream is true or false, not ${shown(stream)}`)
  if (streamTimeout !== undefined && !(isCount(streamTimeout) && streamTimeout <= STREAM_TIMEOUT_MAX_MS))
    refuse(`streamTimeout is 1 to ${STREAM_TIMEOUT_MAX_MS} milliseconds, not ${shown(streamTimeout)}`)
  const mayStream = stream ?? upstream !== undefined
  if (streamTimeout !== undefined && !mayStream) refuse('streamTimeout is for endpoints with stream: true')
  if (rateLimit) {
    refuseUnknown(rateLimit, ['perMinute', 'per'], 'rateLimit', refuse)
    const { perMinute, per = 'payer' } = rateLimit
    if (!isCount(perMinute)) refuse(`rateLimit.perMinute is a positive whole number, not ${shown(perMinute)}`)
    if (per !== 'payer' && per !== 'ip') refuse(`rateLimit.per is payer or ip, not ${shown(per)}`)
  } else if (rateLimit !== undefined && rateLimit !== false) refuse('rateLimit is {perMinute, per} or false')
  return {
    ...checkedPaidBy(options, refuse),
    ...(maxBodyBytes !== undefined && { maxBodyBytes }),
    ...((stream || (upstream !== undefined && stream === false)) && { stream }),
    ...(streamTimeout !== undefined && { streamTimeout }),
    ...(rateLimit !== undefined && { rateLimit: rateLimit && Object.freeze({ ...rateLimit }) }),
  }
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

/** ISO 8601 moments in UTC, as `Date.toISOString` writes them. */
export interface Lifecycle {
  /** From when callers should use another endpoint. @see RFC 9745 */
  readonly deprecated?: string
  /** When it is expected to stop. @see RFC 8594 */
  readonly sunset?: string
}

const ISO_8601 = /^\d{4}-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Refuses a sunset before the deprecation, too (RFC 9745). */
export function lifecycleOf(
  name: string,
  { deprecated, sunset }: { readonly deprecated?: unknown; readonly sunset?: unknown },
): Lifecycle {
  const moments = {
    ...(deprecated !== undefined && { deprecated: moment(name, 'deprecated', deprecated) }),
    ...(sunset !== undefined && { sunset: moment(name, 'sunset', sunset) }),
  }
  if (moments.deprecated && moments.sunset && moments.sunset < moments.deprecated)
    throw new SvcError(`Endpoint '${name}': sunset comes before deprecated`, 'invalid_endpoint')
  return moments
}

function moment(name: string, option: string, value: unknown): string {
  const parsed = value instanceof Date ? value : new Date(isReal(value) ? value : Number.NaN)
  if (!Number.isNaN(parsed.getTime())) return parsed.toISOString()
  throw new SvcError(
    `Endpoint '${name}': ${option} is a Date or ISO 8601 text such as '2026-12-31', not ${JSON.stringify(value)}`,
    'invalid_endpoint',
  )
}

/** JavaScript reads the 30th of February as the 2nd of March, so this compares the parsed date with its text. */
function isReal(value: unknown): value is string {
  const match = typeof value === 'string' ? ISO_8601.exec(value) : null
  if (!match) return false
  const year = Number((value as string).slice(0, 4))
  const [, month, day] = match.map(Number)
  return day! <= new Date(Date.UTC(year, month!, 0)).getUTCDate()
}

/** The first name of what was renamed. Stores keep by it what was sold. */
export function firstName(name: string, formerly: readonly string[] = []): string {
  return formerly[0] ?? name
}

export function formerNames(
  given: unknown,
  format: RegExp,
  refuse: (why: string) => never,
): { readonly formerly?: readonly string[] } {
  if (given === undefined) return {}
  if (Array.isArray(given) && given.every(name => typeof name === 'string' && format.test(name)))
    return { formerly: Object.freeze([...given]) }
  return refuse(`formerly is a list of earlier names, the first one first, not ${shown(given)}`)
}

/** Whether balances of the agent pay for an endpoint's calls. */
export interface PaidBy {
  /** `false`: none does. @default a balance does, where the agent sells them */
  readonly balance?: false
  /** `'balance'`: nothing else does, and an unpaid call is quoted a balance. Beside `price`. @default a payment does, too */
  readonly only?: 'balance'
}

function checkedPaidBy(
  { balance, only, subscription }: PaidBy & { readonly subscription?: unknown },
  refuse: (why: string) => never,
): PaidBy {
  if (balance !== undefined && balance !== false)
    refuse('balance is false, where no balance pays for its calls')
  if (only !== undefined && only !== 'balance') refuse(`only is 'balance', not ${shown(only)}`)
  if (only && (balance === false || subscription)) refuse("only: 'balance' is for a price per call")
  return { ...(balance === false && { balance }), ...(only && { only }) }
}
