/** A fixed period for each key, begun by its first call and shared by all processes. Promise: see the port. */
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimit } from '../../ports/rate-limit.js'
import type { Connection } from './connection.js'

const MINUTE_SECONDS = 60

/** One step: the library's `reward` counts below zero, so calls that are given back at once would leave more room than was taken. */
const GIVE_BACK = /* lua */ `
if tonumber(redis.call('GET', KEYS[1]) or 0) > 0 then redis.call('DECR', KEYS[1]) end
`

export interface RedisRateLimitOptions {
  /** The length of the port's minute; shorter in tests that cannot wait. @default 60 */
  readonly windowSeconds?: number
}

export function redisRateLimit(
  connection: Connection,
  prefix: string,
  { windowSeconds = MINUTE_SECONDS }: RedisRateLimitOptions = {},
): RateLimit {
  const giveBack = connection.script('svcLimitGiveBack', GIVE_BACK)
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
      await giveBack([limiterOf(perMinute).getKey(key)], [])
    },
  }
}
