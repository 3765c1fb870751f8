/**
 * `@svc/sdk/testing`: what each port promises, as tests that anyone's store can be put through.
 *
 * @example
 * import { describe, expect, it } from 'vitest'
 * chargeStoreContract({ describe, expect, it }, 'mine', () => ({ store: myStore(), advance: wait, leaseMs: 1_000 }))
 */
export {
  boundedChargeStoreContract,
  type ChargeStoreHarness,
  chargeStoreContract,
  type MakeChargeStore,
} from './testing/charge-store.contract.js'
export {
  type MakeRateLimit,
  type RateLimitHarness,
  rateLimitContract,
} from './testing/rate-limit.contract.js'
export type { TestRunner } from './testing/runner.js'
export { runsContract } from './testing/runs.contract.js'
export { type MakeSpend, type SpendHarness, spendContract } from './testing/spend.contract.js'
export {
  type MakeSubscriptions,
  type SubscriptionsHarness,
  subscriptionsContract,
} from './testing/subscriptions.contract.js'
