/** The promises of `src/ports/handler-credit.ts`, for any implementation of it. */
import { randomUUID } from 'node:crypto'
import type { CreditStore } from '../ports/handler-credit.js'
import type { TestRunner } from './runner.js'

/** A {@link CreditStore} under test, and its time. */
export interface CreditHarness {
  /** An empty store. */
  readonly store: CreditStore
  /** Lets time pass for the store: it moves the store's clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** Milliseconds: long enough for a few moves, short enough to wait for its end. */
  readonly idleMs: number
}

/** Makes the store of one test. Called once for each test. */
export type MakeCredit = () => CreditHarness | Promise<CreditHarness>

/**
 * Defines the tests that every {@link CreditStore} has to pass.
 *
 * @param runner Your test runner's functions.
 * @param name The store's name in the titles of tests.
 * @param make Makes the store of one test.
 */
export function creditContract({ describe, expect, it }: TestRunner, name: string, make: MakeCredit): void {
  const scene = async () => {
    const { store, advance, idleMs } = await make()
    const payer = randomUUID()
    const terms = { start: 3, max: 5, idleMs }
    const takeAll = async (who = payer) => {
      let taken = 0
      while (taken < 100 && (await store.take(who, terms))) taken++
      return taken
    }
    return { store, advance, idleMs, payer, terms, takeAll }
  }

  describe(`credit: ${name}`, () => {
    it('a payer begins with the runs of the start, and has no more', async () => {
      const { takeAll } = await scene()
      expect(await takeAll()).toBe(3)
      expect(await takeAll()).toBe(0)
    })

    it('each payer has credit of its own', async () => {
      const { takeAll } = await scene()
      expect(await takeAll()).toBe(3)
      expect(await takeAll(randomUUID())).toBe(3)
    })

    it('64 racing runs share what is left', async () => {
      const { store, payer, terms } = await scene()
      const taken = await Promise.all(Array.from({ length: 64 }, async () => store.take(payer, terms)))
      expect(taken.filter(granted => granted)).toHaveLength(3)
    })

    it('a run that is given back can be taken again, and a settled one earns another', async () => {
      const { store, payer, terms, takeAll } = await scene()
      await takeAll()
      await store.give(payer, 1, terms)
      expect(await takeAll()).toBe(1)
      await store.give(payer, 2, terms)
      expect(await takeAll()).toBe(2)
    })

    it('a payer earns up to the most, and no more', async () => {
      const { store, payer, terms, takeAll } = await scene()
      await store.take(payer, terms)
      for (let settled = 0; settled < 10; settled++) await store.give(payer, 2, terms)
      expect(await takeAll()).toBe(5)
    })

    it('nothing can be earned by a payer who has taken nothing', async () => {
      const { store, payer, terms, takeAll } = await scene()
      await store.give(payer, 2, terms)
      expect(await takeAll()).toBe(3)
    })

    it('an idle payer is forgotten, also one who keeps asking in vain', async () => {
      const { advance, idleMs, takeAll } = await scene()
      await takeAll()
      await advance(idleMs / 2)
      expect(await takeAll()).toBe(0)
      await advance(idleMs / 2)
      expect(await takeAll()).toBe(3)
    })

    it('a payer whose runs come and go is remembered', async () => {
      const { store, advance, idleMs, payer, terms, takeAll } = await scene()
      await takeAll()
      for (let step = 0; step < 3; step++) {
        await advance((idleMs * 2) / 3)
        await store.give(payer, 1, terms)
        expect(await takeAll()).toBe(1)
      }
    })
  })
}
