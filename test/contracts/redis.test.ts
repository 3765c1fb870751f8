/** Every port's contract on a real Redis. Its time is the server's, so these tests wait; most of them at once. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { type Connection, connect } from '../../src/adapters/redis/connection.js'
import { redisCredit } from '../../src/adapters/redis/credit.js'
import { redisRateLimit } from '../../src/adapters/redis/rate-limit.js'
import { redisRuns } from '../../src/adapters/redis/runs.js'
import { redisSpendLedger } from '../../src/adapters/redis/spend.js'
import { redisSubscriptions } from '../../src/adapters/redis/subscriptions.js'
import type { EndedCall } from '../../src/ports/witness.js'
import {
  chargeStoreContract,
  creditContract,
  rateLimitContract,
  runsContract,
  spendContract,
  subscriptionsContract,
} from '../../src/testing.js'
import { anyRedis } from '../support/redis-server.js'
import { passed as advance } from '../support/redis-time.js'

/** Long beside a round trip on a busy machine, short beside a test's patience. */
const LEASE_MS = 1_000

let redis: Awaited<ReturnType<typeof anyRedis>>
let connection: Connection
beforeAll(async () => {
  redis = await anyRedis()
  connection = connect(redis.url, { commandTimeoutMs: 5_000 })
})
afterAll(async () => {
  await connection.close()
  await redis.stop()
})

const runner = { describe: describe.concurrent, it, expect }
const prefix = () => `test-${randomUUID()}:`

chargeStoreContract(runner, 'redis', () => ({
  store: redisChargeStore(connection, prefix()),
  advance,
  leaseMs: LEASE_MS,
}))

subscriptionsContract(runner, 'redis', () => ({
  store: redisSubscriptions(connection, prefix()),
  now: Date.now,
  advance,
  windowMs: LEASE_MS,
}))

rateLimitContract(runner, 'redis', () => ({
  limit: redisRateLimit(connection, prefix(), { windowSeconds: 2 }),
  advance,
  windowMs: 2_000,
}))

runsContract(runner, 'redis', capacity => redisRuns(connection, prefix(), capacity))

it('tells Redis of a burst of calls in one command, of the newest only', async () => {
  let told = 0
  const counted: Connection = {
    ...connection,
    script(name, source) {
      const run = connection.script(name, source)
      return (...given) => {
        told++
        return run(...given)
      }
    },
  }
  const name = prefix()
  const [one, other] = [redisRuns(counted, name, 3), redisRuns(connection, name, 3)]
  for (let call = 0; call < 1_000; call++) one.ended({ id: `call ${call}` } as EndedCall)
  const newest = ['call 999', 'call 998', 'call 997']
  expect(one.list().map(({ id }) => id)).toEqual(newest)
  await expect.poll(() => other.list().map(({ id }) => id)).toEqual(newest)
  expect(told).toBe(1)
})

creditContract(runner, 'redis', () => ({
  store: redisCredit(connection, prefix()),
  advance,
  idleMs: LEASE_MS,
}))

spendContract(runner, 'redis', () => ({
  ledger: redisSpendLedger(connection, prefix(), { budget: 'wallet', windowMs: LEASE_MS }),
  advance,
  windowMs: LEASE_MS,
}))
