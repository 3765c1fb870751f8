/** Every port's contract on a real Redis. Its time is the server's, so these tests wait; most of them at once. */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { type Connection, connect } from '../../src/adapters/redis/connection.js'
import { redisCounters } from '../../src/adapters/redis/counters.js'
import { redisRuns } from '../../src/adapters/redis/recent-runs.js'
import { redisSpendLedger } from '../../src/adapters/redis/spend-ledger.js'
import { redisSubscriptions } from '../../src/adapters/redis/subscriptions.js'
import { redisTasks } from '../../src/adapters/redis/task-store.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import { perMinute } from '../../src/ports/counters.js'
import {
  balancesContract,
  chargeStoreContract,
  countersContract,
  runsContract,
  spendContract,
  subscriptionsContract,
  tasksContract,
} from '../../src/testing.js'
import { closing } from '../support/closing.js'
import { anyRedis, PATIENT } from '../support/redis-server.js'
import { passed as advance } from '../support/redis-time.js'

/**
 * Long beside a round trip on a busy machine, short beside all the other files. Many tests look between two thirds of it and the
 * whole: with four or six seconds, four and five of them were red where the process stood still for a second or two now and then.
 */
const LEASE_MS = 10_000
/** One waits for seven leases. */
const TIMEOUT_MS = 240_000

let redis: Awaited<ReturnType<typeof anyRedis>>
let connection: Connection
beforeAll(async () => {
  redis = await anyRedis()
  connection = connect(redis.url, PATIENT.commandTimeoutMs)
})
afterAll(async () => {
  await connection.close()
  await redis.stop()
})

const runner = {
  describe: (name: string, cases: () => void) => describe.concurrent(name, { timeout: TIMEOUT_MS }, cases),
  it,
  expect,
}
const prefix = () => `test-${randomUUID()}:`

const makeCharges = () => ({
  store: redisChargeStore(connection, prefix()),
  advance,
  leaseMs: LEASE_MS,
})
chargeStoreContract(runner, 'redis', makeCharges)
balancesContract(runner, 'redis', makeCharges)

subscriptionsContract(runner, 'redis', () => ({
  store: redisSubscriptions(connection, prefix()),
  now: Date.now,
  advance,
  windowMs: LEASE_MS,
}))

countersContract(runner, 'redis', () => {
  const place = prefix()
  return { counters: redisCounters(connection, key => `${place}${key}`), advance, periodMs: LEASE_MS }
})

runsContract(runner, 'redis', capacity => redisRuns(connection, prefix(), capacity))

it('sends what one turn of the event loop asks in one write', async () => {
  const own = closing(connect(redis.url, PATIENT.commandTimeoutMs))
  await own.send(client => client.ping())
  const { stream } = own.client as Redis
  const [many, one] = [vi.spyOn(stream, '_writev'), vi.spyOn(stream, '_write')]
  const [windows, credit] = [redisSubscriptions(own, prefix()), redisCounters(own, prefix)]
  const credited = credit.take('payer', perMinute(1))
  const found = Promise.resolve().then(() => Promise.all(['a', 'b', 'c'].map(id => windows.get(id))))
  expect([await found, await credited]).toEqual([[undefined, undefined, undefined], { admitted: true }])
  expect(many.mock.calls.map(([chunks]) => chunks.length)).toEqual([4])
  expect(one).not.toHaveBeenCalled()
})

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

tasksContract(runner, 'redis', () => {
  const name = prefix()
  const [store, other] = [1, 2].map(() => redisTasks(connection, name))
  return { store: store!, other, advance, lifeMs: LEASE_MS }
})

spendContract(runner, 'redis', () => {
  const name = prefix()
  const options = { budget: 'wallet', windowMs: LEASE_MS, lifeMs: LEASE_MS }
  const [ledger, other] = [1, 2].map(() => redisSpendLedger(connection, name, options))
  return { ledger: ledger!, other, advance, ...options }
})

describe.concurrent('a budget on Redis', () => {
  const payment = { network: 'testnet', txId: 'A'.repeat(52), firstValid: 1n, lastValid: 9n } as const

  it('does not trip over what is no row of its own', async () => {
    const name = prefix()
    const place = `${name}{spend:wallet}`
    const ledger = redisSpendLedger(connection, name, { budget: 'wallet' })
    for (const id of ['bad', 'good']) {
      await ledger.reserve({ id, amount: 1n }, undefined)
      await ledger.attach(id, payment)
    }
    await connection.send(redis => redis.hset(`${place}:payments`, { 'reserved:bad': 'testnet <tx> 1 9' }))
    await connection.send(redis => redis.zadd(`${place}:due:testnet`, 1, 'reserved:unknown'))
    const good = { id: 'good', amount: 1n, payment }
    expect(await ledger.due('testnet', 100n, 10)).toEqual([good])
    expect(ledger.spentBaseUnits).toBe(2n)
  })

  it('leaves nothing behind but what it counts', async () => {
    const name = prefix()
    const ledger = redisSpendLedger(connection, name, { budget: 'wallet' })
    for (const end of ['dead', 'spent'] as const) {
      await ledger.reserve({ id: end, amount: 5n }, undefined)
      await ledger.attach(end, payment)
      await ledger.settle(end, end)
    }
    const keys = await connection.send(redis => redis.keys(`${name}*`))
    const names = keys.map(key => key.slice(name.length + '{spend:wallet}:'.length)).sort()
    expect(names).toEqual(['amounts', 'entries'])
    expect(await connection.send(redis => redis.hlen(`${name}{spend:wallet}:amounts`))).toBe(2)
    expect(ledger.spentBaseUnits).toBe(5n)
  })
})
