/** What every script of ours has to pass at virtual time: the contracts of its port, and what it keeps. */
import { randomUUID } from 'node:crypto'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { redisCounters } from '../../src/adapters/redis/counters.js'
import { redisSpendLedger } from '../../src/adapters/redis/spend-ledger.js'
import { redisSubscriptions } from '../../src/adapters/redis/subscriptions.js'
import { redisTasks } from '../../src/adapters/redis/task-store.js'
import {
  balancesContract,
  chargeStoreContract,
  countersContract,
  spendContract,
  subscriptionsContract,
  type TestRunner,
  tasksContract,
} from '../../src/testing.js'
import type { VirtualRedis } from '../support/redis-virtual.js'
import { rareCases } from './charge-store/rare.cases.js'
import { redisDeadlines } from './redis-deadlines.js'
import { redisLedger } from './redis-ledger.js'
import { redisRecords } from './redis-records.js'
import { redisTaskRecords } from './redis-tasks.js'
import { redisWindows } from './redis-windows.js'

/** Half a minute: real time goes on for the lives of keys, and a busy machine takes its time. */
const LEASE_MS = 30_000

export function redisSuites(runner: TestRunner, redis: () => VirtualRedis): void {
  chargeStoreContract(runner, 'redis at virtual time', makeCharges(redis))
  balancesContract(runner, 'redis at virtual time', makeCharges(redis))
  rareCases(runner, 'redis at virtual time', makeCharges(redis))
  redisRecords(runner, redis)
  redisDeadlines(runner, redis)
  redisLedger(runner, redis)
  redisTaskRecords(runner, redis)
  redisWindows(runner, redis)
  spendContract(runner, 'redis at virtual time', async () => {
    const { connection, prefix, advance } = await redis().world()
    const options = { budget: randomUUID(), windowMs: 86_400_000, lifeMs: 3_600_000 }
    const [ledger, other] = [1, 2].map(() => redisSpendLedger(connection, prefix, options))
    return { ledger: ledger!, other, advance, ...options }
  })
  tasksContract(runner, 'redis at virtual time', async () => {
    const { connection, prefix, time, advance } = await redis().world()
    const [store, other] = [1, 2].map(() => redisTasks(connection, prefix, time))
    return { store: store!, other, advance, lifeMs: 300_000 }
  })
  subscriptionsContract(runner, 'redis at virtual time', async () => {
    const { connection, prefix, time, advance } = await redis().world()
    let nowMs = await time.now()
    return {
      store: redisSubscriptions(connection, prefix, time),
      now: () => nowMs,
      advance: async ms => {
        nowMs += ms
        await advance(ms)
      },
      windowMs: 600_000,
    }
  })
  countersContract(runner, 'redis at virtual time', async () => {
    const { connection, prefix, advance } = await redis().world()
    return { counters: redisCounters(connection, key => `${prefix}${key}`), advance, periodMs: 600_000 }
  })
}

export const makeCharges = (redis: () => VirtualRedis) => async () => {
  const { connection, prefix, time, advance } = await redis().world()
  return { store: redisChargeStore(connection, prefix, time), advance, leaseMs: LEASE_MS }
}
