/** The promises of `src/ports/charge-store.ts`, for any implementation of it. */
import { balanceCases } from './charge-store/balance.cases.js'
import { bearerCases } from './charge-store/bearer.cases.js'
import { boundedMemoryCases } from './charge-store/bounded-memory.cases.js'
import { closeCases } from './charge-store/close.cases.js'
import { concurrentCallsCases } from './charge-store/concurrent-calls.cases.js'
import { casesOf, type MakeChargeStore } from './charge-store/fixture.js'
import { leaseCases } from './charge-store/lease.cases.js'
import { openCases } from './charge-store/open.cases.js'
import { resentMovesCases } from './charge-store/resent-moves.cases.js'
import { resolveCases } from './charge-store/resolve.cases.js'
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
  const cases = casesOf(runner, make)
  describe(`charge store: ${name}`, () => {
    describe('opening', () => openCases(cases))
    describe('asking without a proof', () => bearerCases(cases))
    describe('racing', () => concurrentCallsCases(cases))
    describe('leasing', () => leaseCases(cases))
    describe('closing', () => closeCases(cases))
    describe('resolving', () => resolveCases(cases))
    describe('resending', () => resentMovesCases(cases))
  })
}

/**
 * Defines the tests that a `ChargeStore` has to pass as well for an agent that has `balance`.
 *
 * @param runner Your test runner's functions.
 * @param name The store's name in the titles of tests.
 * @param make Makes the store of one test; it has `sell`, `drop` and `count`.
 */
export function balancesContract(runner: TestRunner, name: string, make: MakeChargeStore): void {
  runner.describe(`balances: ${name}`, () => balanceCases(casesOf(runner, make)))
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
  runner.describe(`bounded charge store: ${name}`, () => boundedMemoryCases(casesOf(runner, make), max))
}
