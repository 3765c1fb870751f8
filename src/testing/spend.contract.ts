/** The promises of `src/ports/spend.ts`, for any implementation of it. */
import { randomUUID } from 'node:crypto'
import type { SpendLedger } from '../ports/spend.js'
import type { TestRunner } from './runner.js'

/** A {@link SpendLedger} under test, and its time. */
export interface SpendHarness {
  /** Nothing is spent yet. */
  readonly ledger: SpendLedger
  /** Lets time pass for it: moves its clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** What this ledger calls 24 hours. */
  readonly windowMs: number
}

/** Makes what one test is run on: called once a test. */
export type MakeSpend = () => SpendHarness | Promise<SpendHarness>

/**
 * Defines the tests that every {@link SpendLedger} has to pass.
 *
 * @param runner Your test runner's functions.
 * @param name How the tests are titled.
 * @param make Makes what one test is run on.
 */
export function spendContract({ describe, expect, it }: TestRunner, name: string, make: MakeSpend): void {
  const of = (amount: bigint) => ({ id: randomUUID(), amount })

  describe(`spend ledger: ${name}`, () => {
    it('64 racing reservations spend the cap and not a unit more', async () => {
      const { ledger } = await make()
      const racing = Array.from({ length: 64 }, async () => ledger.reserve(of(10n), 105n))
      expect((await Promise.all(racing)).filter(Boolean)).toHaveLength(10)
      expect(await ledger.reserve(of(6n), 105n)).toBe(false)
      expect(await ledger.reserve(of(5n), 105n)).toBe(true)
      expect(ledger.spentBaseUnits).toBe(105n)
    })

    it('without a cap everything is counted, and counts against a later cap', async () => {
      const { ledger } = await make()
      expect(await ledger.reserve(of(1_000_000_000_000n), undefined)).toBe(true)
      expect(await ledger.reserve(of(1n), 1_000_000_000_000n)).toBe(false)
      expect(await ledger.reserve(of(1n), 2n ** 80n)).toBe(true)
    })

    it('what is released is free again, once', async () => {
      const { ledger } = await make()
      const [released, kept] = [of(60n), of(40n)]
      await ledger.reserve(released, 100n)
      await ledger.reserve(kept, 100n)
      await ledger.release(released)
      await ledger.release(released)
      expect(await ledger.reserve(of(61n), 100n)).toBe(false)
      expect(await ledger.reserve(of(60n), 100n)).toBe(true)
    })

    it('what is committed was counted already, and cannot be released', async () => {
      const { ledger } = await make()
      const spend = of(60n)
      await ledger.reserve(spend, 100n)
      await ledger.commit(spend)
      await ledger.release(spend)
      expect(ledger.spentBaseUnits).toBe(60n)
      expect(await ledger.reserve(of(41n), 100n)).toBe(false)
    })

    it('a released spend that landed after all counts, beyond any cap', async () => {
      const { ledger } = await make()
      const late = of(60n)
      await ledger.reserve(late, 60n)
      await ledger.release(late)
      await ledger.reserve(of(60n), 60n)
      await ledger.commit(late)
      expect(ledger.spentBaseUnits).toBe(120n)
    })

    it('everything is forgotten a window after it was spent, also a reservation that nobody ended', async () => {
      const { ledger, advance, windowMs } = await make()
      const committed = of(50n)
      await ledger.reserve(committed, 100n)
      await ledger.commit(committed)
      await ledger.reserve(of(50n), 100n)
      await advance(windowMs / 2)
      expect(await ledger.reserve(of(1n), 100n)).toBe(false)
      await advance(windowMs / 2)
      expect(await ledger.reserve(of(100n), 100n)).toBe(true)
    })
  })
}
