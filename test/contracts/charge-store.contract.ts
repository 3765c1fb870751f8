/** The promises of `src/ports/charge-store.ts`, for any implementation of it. */
import { describe } from 'vitest'
import { bounded } from './charge-store/bounded.js'
import { closing } from './charge-store/closing.js'
import { leasing } from './charge-store/leasing.js'
import { opening } from './charge-store/opening.js'
import { racing } from './charge-store/racing.js'
import { resending } from './charge-store/resending.js'
import { resolving } from './charge-store/resolving.js'
import type { MakeChargeStore } from './charge-store/scene.js'

export { chargeStoreModelContract } from './charge-store/model.js'
export type { ChargeStoreHarness, MakeChargeStore } from './charge-store/scene.js'

export function chargeStoreContract(name: string, make: MakeChargeStore): void {
  describe(`charge store: ${name}`, () => {
    describe('opening', () => opening(make))
    describe('racing', () => racing(make))
    describe('leasing', () => leasing(make))
    describe('closing', () => closing(make))
    describe('resolving', () => resolving(make))
    describe('resending', () => resending(make))
  })
}

/** Each store that `make` makes is empty and holds at most `max` claims, `max` being at least 3. */
export function boundedChargeStoreContract(name: string, make: MakeChargeStore, max: number): void {
  describe(`bounded charge store: ${name}`, () => bounded(make, max))
}
