/** The promises of `src/ports/charge-store.ts`, for any implementation of it. */
import { bounded } from './charge-store/bounded-memory.cases.js'
import { closing } from './charge-store/close.cases.js'
import { racing } from './charge-store/concurrent-calls.cases.js'
import type { MakeChargeStore } from './charge-store/fixture.js'
import { leasing } from './charge-store/lease.cases.js'
import { opening } from './charge-store/open.cases.js'
import { resending } from './charge-store/resent-moves.cases.js'
import { resolving } from './charge-store/resolve.cases.js'
import type { TestRunner } from './runner.js'

export type { ChargeStoreHarness, MakeChargeStore } from './charge-store/fixture.js'

/**
 * Defines the tests that every `ChargeStore` has to pass.
 *
 * @param runner Your test runner's functions.
 * @param name The store's name in the titles of tests.
 * @param make Makes the store of one test.
 */
export function chargeStoreContract(runner: TestRunner, name: string, make: MakeChargeStore): void {
  const { describe } = runner
  describe(`charge store: ${name}`, () => {
    describe('opening', () => opening(runner, make))
    describe('racing', () => racing(runner, make))
    describe('leasing', () => leasing(runner, make))
    describe('closing', () => closing(runner, make))
    describe('resolving', () => resolving(runner, make))
    describe('resending', () => resending(runner, make))
  })
}

/**
 * Defines the tests that a `ChargeStore` in bounded memory has to pass as well.
 *
 * @param runner Your test runner's functions.
 * @param name The store's name in the titles of tests.
 * @param make Makes a store that is empty and holds at most `max` completed answers and `max` calls at work.
 * @param max The bound, at least 3.
 */
export function boundedChargeStoreContract(
  runner: TestRunner,
  name: string,
  make: MakeChargeStore,
  max: number,
): void {
  runner.describe(`bounded charge store: ${name}`, () => bounded(runner, make, max))
}
