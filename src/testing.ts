/**
 * The promises of each port as tests, for stores of your own.
 *
 * @packageDocumentation
 *
 * @example
 * import { setTimeout as advance } from 'node:timers/promises'
 * import { chargeStoreContract } from '@svc/sdk/testing'
 * import { describe, expect, it } from 'vitest'
 *
 * const make = () => ({ store: postgresChargeStore(pool), advance, leaseMs: 1_000 })
 * chargeStoreContract({ describe, expect, it }, 'on PostgreSQL', make)
 */
export {
  balancesContract,
  boundedChargeStoreContract,
  type ChargeStoreHarness,
  chargeStoreContract,
  type MakeChargeStore,
} from './testing/charge-store.contract.js'
export { type CountersHarness, countersContract, type MakeCounters } from './testing/counters.contract.js'
export { runsContract } from './testing/recent-runs.contract.js'
export type {
  Contract,
  Expect,
  Expected,
  MakeSubscriptions,
  SubscriptionsHarness,
  TestRunner,
} from './testing/runner.js'
export { type MakeSpend, type SpendHarness, spendContract } from './testing/spend-ledger.contract.js'
export { subscriptionsContract } from './testing/subscriptions.contract.js'
export { type MakeTasks, type TasksHarness, tasksContract } from './testing/task-store.contract.js'
