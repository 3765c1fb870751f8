/** A fixed period for each key, begun by its first call and shared by all processes. Promise: see the port. */
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimit } from '../../ports/rate-limit.js'
import type { Connection } from './connection.js'

const MINUTE_SECONDS = 60

export interface RedisRateLimitOptions {
  /** The length of the port's minute; shorter in tests that cannot wait. @default 60 */
  readonly windowSeconds?: number
}

export function redisRateLimit(
  connection: Connection,
  prefix: string,
  { windowSeconds = MINUTE_SECONDS }: RedisRateLimitOptions = {},
): RateLimit {
  const limiters = new Map<number, RateLimiterRedis>()
  const limiterOf = (perMinute: number): RateLimiterRedis => {
    const known = limiters.get(perMinute)
    if (known) return known
    const limiter = new RateLimiterRedis({
      storeClient: connection.client,
      keyPrefix: `${prefix}limit`,
      points: perMinute,
      duration: windowSeconds,
    })
    limiters.set(perMinute, limiter)
    return limiter
  }
  return {
    async take(key, perMinute) {
      try {
        await connection.send(() => limiterOf(perMinute).consume(key))
        return { admitted: true }
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return { admitted: false, retryAfterMs: refused.msBeforeNext }
        throw refused
      }
    },
    async peek(key, perMinute) {
      const counted = await connection.send(() => limiterOf(perMinute).get(key))
      return counted !== null && counted.consumedPoints >= perMinute
        ? { admitted: false, retryAfterMs: counted.msBeforeNext }
        : { admitted: true }
    },
    async giveBack(key, perMinute) {
      const limiter = limiterOf(perMinute)
      const counted = await connection.send(() => limiter.get(key))
      if (counted !== null && counted.consumedPoints > 0) await connection.send(() => limiter.reward(key))
    },
  }
}
