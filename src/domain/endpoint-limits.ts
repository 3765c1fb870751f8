/** The limits of one endpoint, checked. */
import { SvcError, shown } from './errors.js'

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
}

/** The rate limit of each caller. */
export interface EndpointRateLimit {
  /** Calls a minute. */
  readonly perMinute: number
  /** What identifies one caller: the payer, or the network address. @default 'payer' */
  readonly per?: 'payer' | 'ip'
}

/** @throws SvcError `invalid_endpoint` */
export function limitsOf(name: string, { maxBodyBytes, rateLimit }: EndpointLimits): EndpointLimits {
  const refuse = (why: string): never => {
    throw new SvcError(`Endpoint '${name}': ${why}`, 'invalid_endpoint')
  }
  if (maxBodyBytes !== undefined && !isCount(maxBodyBytes)) {
    refuse(`maxBodyBytes is a positive whole number, not ${shown(maxBodyBytes)}`)
  }
  if (rateLimit) {
    const { perMinute, per = 'payer' } = rateLimit
    if (!isCount(perMinute)) refuse(`rateLimit.perMinute is a positive whole number, not ${shown(perMinute)}`)
    if (per !== 'payer' && per !== 'ip') refuse(`rateLimit.per is payer or ip, not ${shown(per)}`)
  } else if (rateLimit !== undefined && rateLimit !== false) refuse('rateLimit is {perMinute, per} or false')
  return {
    ...(maxBodyBytes !== undefined && { maxBodyBytes }),
    ...(rateLimit !== undefined && { rateLimit: rateLimit && Object.freeze({ ...rateLimit }) }),
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0
}
