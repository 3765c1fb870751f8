/** The promises of `src/ports/counters.ts`, for any implementation of it. */
import { randomUUID } from 'node:crypto'
import type { Counters, CounterTerms } from '../ports/counters.js'
import type { Contract } from './runner.js'

/** {@link Counters} under test, and their time. */
export interface CountersHarness {
  /** Counters that may have keys of other tests. */
  readonly counters: Counters
  /** Lets time pass for the counters: it moves their clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** Milliseconds: long enough for a few moves, short enough to wait for its end. */
  readonly periodMs: number
}

/** Makes the counters of one test. Called once for each test. */
export type MakeCounters = () => CountersHarness | Promise<CountersHarness>

/** At least as long as those of a server, which name the seller, its agent and endpoint, and who calls. */
const newKey = () => randomUUID().padStart(500, 'seller ')

/** Defines the tests that every {@link Counters} has to pass. */
export const countersContract: Contract<MakeCounters> = ({ describe, expect, it }, name, make) => {
  const scene = async (over: Partial<CounterTerms> = {}) => {
    const { counters, advance, periodMs } = await make()
    const key = newKey()
    const terms = { max: 3, floor: 0, periodMs, isRenewed: false, ...over }
    const take = async (of = key) => counters.take(of, terms)
    const giveBack = async (count: number) => counters.giveBack(key, count, terms)
    const takeAll = async (of = key) => {
      let taken = 0
      while (taken < 100 && (await take(of)).admitted) taken++
      return taken
    }
    return { counters, advance, periodMs, key, terms, take, giveBack, takeAll }
  }
  /** As payers' runs are counted: what is paid earns up to two more. */
  const RUNS = { isRenewed: true, floor: -2 }
  const KINDS = [
    ['of a period', {}],
    ['of a renewed period', RUNS],
  ] as const

  describe(`counters: ${name}`, () => {
    for (const [kind, over] of KINDS) {
      it(`${kind}: a limit of N admits N, and says when the period ends`, async () => {
        const { take, takeAll, periodMs } = await scene(over)
        for (let call = 0; call < 3; call++) expect(await take()).toEqual({ admitted: true })
        const refused = await take()
        expect(refused).toEqual({ admitted: false, retryAfterMs: expect.any(Number) })
        const { retryAfterMs } = refused as { retryAfterMs: number }
        expect(retryAfterMs).toBeGreaterThan(0)
        expect(retryAfterMs).toBeLessThanOrEqual(periodMs)
        expect(await takeAll()).toBe(0)
      })

      it(`${kind}: each key has a count of its own`, async () => {
        const { takeAll } = await scene(over)
        expect(await takeAll()).toBe(3)
        expect(await takeAll()).toBe(0)
        expect(await takeAll(newKey())).toBe(3)
      })

      it(`${kind}: of 64 at once, as many are admitted as the limit says`, async () => {
        const { take } = await scene({ ...over, max: 10 })
        const verdicts = await Promise.all(Array.from({ length: 64 }, async () => take()))
        expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(10)
      })

      it(`${kind}: looking counts nothing, and sees what taking would`, async () => {
        const { counters, key, terms, takeAll } = await scene(over)
        for (let look = 0; look < 5; look++)
          expect(await counters.peek(key, terms)).toEqual({ admitted: true })
        expect(await takeAll()).toBe(3)
        expect(await counters.peek(key, terms)).toEqual({ admitted: false, retryAfterMs: expect.any(Number) })
        expect(await counters.peek(key, { ...terms, max: 4 })).toEqual({ admitted: true })
      })

      it(`${kind}: what is given back leaves room for as much, however many were refused`, async () => {
        const { take, takeAll, giveBack } = await scene(over)
        await takeAll()
        for (let refused = 0; refused < 5; refused++) expect((await take()).admitted).toBe(false)
        await giveBack(1)
        expect(await takeAll()).toBe(1)
        await giveBack(2)
        expect(await takeAll()).toBe(2)
      })

      it(`${kind}: giving back leads to the floor and no lower, also at once`, async () => {
        const { take, takeAll, giveBack, terms } = await scene(over)
        await take()
        await Promise.all(Array.from({ length: 10 }, async () => giveBack(2)))
        expect(await takeAll()).toBe(3 - terms.floor)
      })

      it(`${kind}: a key of which nothing was taken, or whose period is over, is given nothing`, async () => {
        const { advance, periodMs, giveBack, takeAll } = await scene(over)
        await giveBack(2)
        expect(await takeAll()).toBe(3)
        await advance(periodMs)
        await giveBack(2)
        expect(await takeAll()).toBe(3)
      })

      it(`${kind}: whoever waits as long as was said is admitted, and refusals put that off for nobody`, async () => {
        const { advance, periodMs, take, takeAll } = await scene(over)
        await takeAll()
        await advance(periodMs / 2)
        for (let refused = 0; refused < 5; refused++) expect((await take()).admitted).toBe(false)
        await advance(((await take()) as { retryAfterMs: number }).retryAfterMs)
        expect(await takeAll()).toBe(3)
      })
    }

    it('a period begins with the first count, and a change does not put its end off', async () => {
      const { advance, periodMs, take, takeAll, giveBack } = await scene()
      await take()
      await advance(periodMs / 2)
      await giveBack(1)
      expect(await takeAll()).toBe(3)
      await advance(periodMs / 2)
      expect(await takeAll()).toBe(3)
    })

    it('a renewed period ends when for its length nothing was taken nor given back', async () => {
      const { advance, periodMs, take, takeAll, giveBack } = await scene(RUNS)
      const other = newKey()
      await takeAll()
      for (let step = 0; step < 2; step++) {
        await giveBack(1)
        await take(other)
        await advance((periodMs * 2) / 3)
      }
      expect([await takeAll(), await takeAll(other)]).toEqual([2, 1])
    })
  })
}
