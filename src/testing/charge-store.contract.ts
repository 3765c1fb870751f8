/** The promises of `src/ports/charge-store.ts`, for any implementation of it. */
import { balanceCases } from './charge-store/balance.cases.js'
import { bearerCases } from './charge-store/bearer-of-payment-bytes.cases.js'
import { boundedMemoryCases, ownersBudgetCases } from './charge-store/bounds-and-budgets.cases.js'
import { closeCases } from './charge-store/close-and-forfeit.cases.js'
import { casesOf, type MakeChargeStore } from './charge-store/fixture.js'
import { leaseCases } from './charge-store/lapsed-leases-and-renewal.cases.js'
import { concurrentCallsCases, openCases } from './charge-store/open-and-race.cases.js'
import { resentMovesCases } from './charge-store/resent-moves.cases.js'
import { resolveCases } from './charge-store/resolve-orphan-by-chain.cases.js'
import type { Contract } from './runner.js'

export type { ChargeStoreHarness, MakeChargeStore } from './charge-store/fixture.js'

/** Defines the tests that every `ChargeStore` has to pass. */
export const chargeStoreContract: Contract<MakeChargeStore> = (runner, name, make) => {
  const { describe } = runner
  const cases = casesOf(runner, make)
  describe(`charge store: ${name}`, () => {
    describe('opening', () => openCases(cases))
    describe('asking without a proof', () => bearerCases(cases))
    describe('racing', () => concurrentCallsCases(cases))
    describe('leasing', () => leaseCases(cases))
    describe('closing', () => closeCases(cases))
    describe('resolving', () => resolveCases(cases))
    describe('keeping', () => ownersBudgetCases(cases))
    describe('resending', () => resentMovesCases(cases))
  })
}

/** Defines the tests that a `ChargeStore` has to pass as well for an agent that has `balance`: one with `sell`, `drop` and `count`. */
export const balancesContract: Contract<MakeChargeStore> = (runner, name, make) => {
  runner.describe(`balances: ${name}`, () => balanceCases(casesOf(runner, make)))
}

/**
 * Defines the tests that a `ChargeStore` in bounded memory has to pass as well. The store of each test is empty, and holds at most
 * `max` completed answers and `max` calls at work, at least 3.
 */
export const boundedChargeStoreContract: Contract<MakeChargeStore, [max: number]> = (
  runner,
  name,
  make,
  max,
) => {
  runner.describe(`bounded charge store: ${name}`, () => boundedMemoryCases(casesOf(runner, make), max))
}
