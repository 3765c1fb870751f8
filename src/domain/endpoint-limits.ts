/** Options of one endpoint, checked: its limits, when it will stop answering, and the names that it had. */
import {
  between,
  flag,
  holding,
  invalid,
  listOf,
  type Option,
  oneOf,
  optional,
  positive,
  readOptions,
} from './option-checks.js'
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

const RATE = {
  perMinute: positive(),
  per: oneOf<'payer' | 'ip'>(['payer', 'ip'], 'payer'),
} satisfies Record<keyof EndpointRateLimit, Option<unknown>>

const rateLimit = holding(RATE, (given, name): EndpointRateLimit | false | undefined =>
  given === undefined || given === false ? given : Object.freeze(readOptions(given as object, RATE, name)),
)

export const LIMITS = {
  maxBodyBytes: optional(positive()),
  rateLimit,
  stream: optional(flag(false)),
  streamTimeout: optional(between(1, STREAM_TIMEOUT_MAX_MS)),
  balance: optional(oneOf<false>([false])),
  only: optional(oneOf<'balance'>(['balance'])),
} satisfies Record<keyof EndpointLimits, Option<unknown>>

/** What must hold of several limits together, and `stream` where it says something. */
export function limitsOf(
  { stream, streamTimeout, balance, only, upstream, subscription }: Limited,
  refuse: (why: string) => never,
): Pick<EndpointLimits, 'stream'> {
  const mayStream = stream ?? upstream !== undefined
  if (streamTimeout !== undefined && !mayStream) refuse('streamTimeout is for endpoints with stream: true')
  if (only && (balance === false || subscription)) refuse("only: 'balance' is for a price per call")
  return { stream: stream || upstream !== undefined ? stream : undefined }
}

type Limited = EndpointLimits & UpstreamOptions & { readonly subscription?: unknown }

/** ISO 8601 moments in UTC, as `Date.toISOString` writes them. */
export interface Lifecycle {
  /** From when callers should use another endpoint. @see RFC 9745 */
  readonly deprecated?: string
  /** When it is expected to stop. @see RFC 8594 */
  readonly sunset?: string
}

const ISO_8601 = /^\d{4}-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

const moment: Option<string | undefined> = (given, name) => {
  if (given === undefined) return undefined
  const parsed = given instanceof Date ? given : new Date(isReal(given) ? given : Number.NaN)
  if (!Number.isNaN(parsed.getTime())) return parsed.toISOString()
  throw invalid(`${name} is a Date or ISO 8601 text such as '2026-12-31', not ${JSON.stringify(given)}`)
}

export const LIFECYCLE = {
  deprecated: moment,
  sunset: moment,
} satisfies Record<keyof Lifecycle, Option<unknown>>

/** Refuses a sunset before the deprecation (RFC 9745). */
export function checkLifecycle({ deprecated, sunset }: Lifecycle, refuse: (why: string) => never): void {
  if (deprecated && sunset && sunset < deprecated) refuse('sunset comes before deprecated')
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

export function formerNames(format: RegExp): Option<readonly string[] | undefined> {
  const isName = (name: unknown) => typeof name === 'string' && format.test(name)
  return optional(listOf(isName, 'a list of earlier names, the first one first'))
}

/** Whether balances of the agent pay for an endpoint's calls. */
export interface PaidBy {
  /** `false`: none does. @default a balance does, where the agent sells them */
  readonly balance?: false
  /** `'balance'`: nothing else does, and an unpaid call is quoted a balance. Beside `price`. @default a payment does, too */
  readonly only?: 'balance'
}
