/** The limits of one endpoint, checked. */
import { SvcError, shown } from './errors.js'
import { refuseUnknown } from './options.js'

/** The limits that one endpoint may set differently from its server. */
export interface EndpointLimits {
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

/** @throws SvcError `invalid_endpoint` */
export function limitsOf(
  name: string,
  { maxBodyBytes, rateLimit, stream, streamTimeout }: EndpointLimits,
): EndpointLimits {
  const refuse = (why: string): never => {
    throw new SvcError(`Endpoint '${name}': ${why}`, 'invalid_endpoint')
  }
  if (maxBodyBytes !== undefined && !isCount(maxBodyBytes)) {
    refuse(`maxBodyBytes is a positive whole number, not ${shown(maxBodyBytes)}`)
  }
  if (stream !== undefined && typeof stream !== 'boolean')
    refuse(`stream is true or false, not ${shown(stream)}`)
  if (streamTimeout !== undefined && !(isCount(streamTimeout) && streamTimeout <= STREAM_TIMEOUT_MAX_MS)) {
    refuse(`streamTimeout is 1 to ${STREAM_TIMEOUT_MAX_MS} milliseconds, not ${shown(streamTimeout)}`)
  }
  if (streamTimeout !== undefined && stream !== true)
    refuse('streamTimeout is for endpoints with stream: true')
  if (rateLimit) {
    refuseUnknown(rateLimit, ['perMinute', 'per'], 'rateLimit', refuse)
    const { perMinute, per = 'payer' } = rateLimit
    if (!isCount(perMinute)) refuse(`rateLimit.perMinute is a positive whole number, not ${shown(perMinute)}`)
    if (per !== 'payer' && per !== 'ip') refuse(`rateLimit.per is payer or ip, not ${shown(per)}`)
  } else if (rateLimit !== undefined && rateLimit !== false) refuse('rateLimit is {perMinute, per} or false')
  return {
    ...(maxBodyBytes !== undefined && { maxBodyBytes }),
    ...(stream && { stream, ...(streamTimeout !== undefined && { streamTimeout }) }),
    ...(rateLimit !== undefined && { rateLimit: rateLimit && Object.freeze({ ...rateLimit }) }),
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0
}
