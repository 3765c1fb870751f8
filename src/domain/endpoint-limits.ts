/** What one endpoint may set differently from its server: its limits, and what pays for it. */
import {
  between,
  flag,
  holding,
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

/** A claim is kept for the payment's rounds and an hour: a longer stream would lose its key, and a retry would be charged again. */
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

/** Whether balances of the agent pay for an endpoint's calls. */
export interface PaidBy {
  /** `false`: none does. @default a balance does, where the agent sells them */
  readonly balance?: false
  /** `'balance'`: nothing else does, and an unpaid call is quoted a balance. Beside `price`. @default a payment does, too */
  readonly only?: 'balance'
}
