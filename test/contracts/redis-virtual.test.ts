/** The contracts on a real Redis whose time is a number: many histories in the time of a few leases. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type VirtualRedis, virtualRedis } from '../support/redis-virtual.js'
import { chargeStoreModelContract } from './charge-store/model.js'
import { makeCharges, redisSuites } from './redis-suites.js'

let redis: VirtualRedis
beforeAll(async () => {
  redis = await virtualRedis()
})
afterAll(() => redis.stop())

redisSuites({ describe, expect, it }, () => redis)
chargeStoreModelContract(
  'redis at virtual time',
  makeCharges(() => redis),
  { runs: 300 },
)
