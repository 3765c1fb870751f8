/** The contracts on a real Redis whose time is a number: leases end at once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type VirtualRedis, virtualRedis } from '../support/redis-virtual.js'
import { redisSuites } from './redis-suites.js'

let redis: VirtualRedis
beforeAll(async () => {
  redis = await virtualRedis()
})
afterAll(() => redis.stop())

redisSuites({ describe, expect, it }, () => redis)
