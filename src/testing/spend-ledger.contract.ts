/** The promises of `src/ports/spend-ledger.ts`, for any implementation of it. */
import { randomUUID } from 'node:crypto'
import type { SpendLedger, SpendPayment } from '../ports/spend-ledger.js'
import type { Contract } from './runner.js'

/** A {@link SpendLedger} under test, and its time. */
export interface SpendHarness {
  /** A ledger in which nothing is spent. */
  readonly ledger: SpendLedger
  /** The same ledger in another process. Left out where only one process can have it. */
  readonly other?: SpendLedger
  /** Lets time pass for the ledger: it moves the ledger's clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** The length of this ledger's 24 hours. */
  readonly windowMs: number
  /** How long a payment may land after it was attached. */
  readonly lifeMs: number
}

/** Makes the ledger of one test. Called once for each test. */
export type MakeSpend = () => SpendHarness | Promise<SpendHarness>

/** Defines the tests that every {@link SpendLedger} has to pass. */
export const spendContract: Contract<MakeSpend> = ({ describe, expect, it }, name, make) => {
  const of = (amount: bigint) => ({ id: randomUUID(), amount })
  const payment = (lastValid: bigint, changes: Partial<SpendPayment> = {}): SpendPayment => {
    const txId = randomUUID()
      .replace(/[^a-f]/g, 'A')
      .toUpperCase()
      .padEnd(52, 'B')
      .slice(0, 52)
    return { network: 'testnet', txId, firstValid: lastValid - 10n, lastValid, ...changes }
  }
  /** A network that is not public is named by its CAIP-2 id. */
  const OUR_OWN = 'algorand:kUt08LxeVAAG-nh4JoAoAMM9_l_hBwSo'
  const LATE = 2n ** 50n

  /** A ledger with one open reservation. */
  async function opened(amount: bigint, lastValid = 100n) {
    const harness = await make()
    const spend = of(amount)
    const paid = payment(lastValid)
    await harness.ledger.reserve(spend, undefined)
    expect(await harness.ledger.attach(spend.id, paid)).toBe(true)
    return { ...harness, others: harness.other ?? harness.ledger, spend, paid }
  }

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
      await ledger.release(released.id)
      await ledger.release(released.id)
      expect(await ledger.reserve(of(61n), 100n)).toBe(false)
      expect(await ledger.reserve(of(60n), 100n)).toBe(true)
    })

    it('a reservation that is sent again is counted once, also after its payment was handed over', async () => {
      const { ledger, spend } = await opened(60n)
      const reserved = of(30n)
      for (let sent = 0; sent < 2; sent++) {
        expect(await ledger.reserve(reserved, 100n)).toBe(true)
        expect(await ledger.reserve(spend, 100n)).toBe(true)
      }
      expect(ledger.spentBaseUnits).toBe(90n)
      await ledger.release(reserved.id)
      await ledger.settle(spend.id, 'dead')
      expect(ledger.spentBaseUnits).toBe(0n)
    })

    it('nothing is attached to a reservation that is gone', async () => {
      const { ledger } = await make()
      const spend = of(60n)
      expect(await ledger.attach(spend.id, payment(1n))).toBe(false)
      await ledger.reserve(spend, undefined)
      await ledger.release(spend.id)
      expect(await ledger.attach(spend.id, payment(1n))).toBe(false)
      expect(await ledger.due('testnet', LATE, 10)).toEqual([])
      expect(ledger.spentBaseUnits).toBe(0n)
    })

    it('one payment is attached to a reservation, however often', async () => {
      const { ledger, spend, paid } = await opened(60n)
      expect(await ledger.attach(spend.id, paid)).toBe(true)
      expect(await ledger.attach(spend.id, { ...paid, txId: 'C'.repeat(52) })).toBe(false)
      expect(await ledger.due('testnet', LATE, 10)).toEqual([{ ...spend, payment: paid }])
      expect(ledger.spentBaseUnits).toBe(60n)
    })

    it('what was handed over cannot be released, by anybody', async () => {
      const { ledger, others, spend } = await opened(60n)
      await ledger.release(spend.id)
      await others.release(spend.id)
      expect(await ledger.reserve(of(41n), 100n)).toBe(false)
      expect(ledger.spentBaseUnits).toBe(60n)
    })

    it('any process learns which payments are due: of the network, before the round, first due first', async () => {
      const { ledger, others, spend, paid } = await opened(1n, 100n)
      const [later, elsewhere, reserved, ofOurOwn] = [of(2n), of(3n), of(4n), of(5n)]
      await others.reserve(later, undefined)
      await others.attach(later.id, payment(101n))
      await ledger.reserve(elsewhere, undefined)
      await ledger.attach(elsewhere.id, payment(50n, { network: 'mainnet' }))
      await ledger.reserve(ofOurOwn, undefined)
      await ledger.attach(ofOurOwn.id, payment(50n, { network: OUR_OWN }))
      await ledger.reserve(reserved, undefined)
      const due = async (round: bigint, max = 10) =>
        (await others.due('testnet', round, max)).map(({ id }) => id)
      expect(await due(100n)).toEqual([])
      expect(await due(101n)).toEqual([spend.id])
      expect(await due(102n)).toEqual([spend.id, later.id])
      expect(await due(102n, 1)).toEqual([spend.id])
      expect(await others.due('testnet', 101n, 1)).toEqual([{ ...spend, payment: paid }])
      expect((await others.due('mainnet', LATE, 10)).map(({ id }) => id)).toEqual([elsewhere.id])
      expect((await others.due(OUR_OWN, LATE, 10)).map(({ id }) => id)).toEqual([ofOurOwn.id])
      await others.settle(ofOurOwn.id, 'dead')
      expect(await ledger.due(OUR_OWN, LATE, 10)).toEqual([])
    })

    it('what is postponed is due behind the others, and still counted', async () => {
      const { ledger, others, spend, paid } = await opened(60n, 100n)
      const next = of(1n)
      await ledger.reserve(next, undefined)
      await ledger.attach(next.id, payment(105n))
      await others.postpone(spend.id, 110n)
      await others.postpone(spend.id, 90n)
      expect((await ledger.due('testnet', 110n, 10)).map(({ id }) => id)).toEqual([next.id])
      expect((await ledger.due('testnet', 111n, 10)).map(({ id }) => id)).toEqual([next.id, spend.id])
      expect((await ledger.due('testnet', 111n, 10))[1]?.payment).toEqual(paid)
      expect(ledger.spentBaseUnits).toBe(61n)
    })

    it('what is dead is free again once, whoever says so and however often', async () => {
      const { ledger, others, spend } = await opened(60n)
      await Promise.all([ledger, others, ledger].map(async one => one.settle(spend.id, 'dead')))
      await ledger.settle(spend.id, 'spent')
      await ledger.postpone(spend.id, 500n)
      expect(await ledger.due('testnet', LATE, 10)).toEqual([])
      expect(await others.reserve(of(101n), 100n)).toBe(false)
      expect(await others.reserve(of(100n), 100n)).toBe(true)
    })

    it('what is spent stays counted once, whoever says so and however often', async () => {
      const { ledger, others, spend } = await opened(60n)
      await Promise.all([ledger, others, ledger].map(async one => one.settle(spend.id, 'spent')))
      await others.settle(spend.id, 'dead')
      await others.release(spend.id)
      expect(await ledger.due('testnet', LATE, 10)).toEqual([])
      expect(await ledger.reserve(of(41n), 100n)).toBe(false)
      expect(await ledger.reserve(of(40n), 100n)).toBe(true)
      expect(ledger.spentBaseUnits).toBe(100n)
    })

    it('a reservation without a payment is not settled', async () => {
      const { ledger } = await make()
      const spend = of(60n)
      await ledger.reserve(spend, undefined)
      await ledger.settle(spend.id, 'dead')
      expect(await ledger.reserve(of(41n), 100n)).toBe(false)
    })

    it('everything is forgotten a window after it was spent, also a reservation that nobody ended', async () => {
      const { ledger, advance, windowMs, spend } = await opened(50n)
      await ledger.settle(spend.id, 'spent')
      await ledger.reserve(of(50n), 100n)
      await advance(windowMs / 2)
      expect(await ledger.reserve(of(1n), 100n)).toBe(false)
      await advance(windowMs / 2)
      expect(await ledger.reserve(of(100n), 100n)).toBe(true)
    })

    it('an open reservation counts a window longer than its payment can land, and is forgotten then', async () => {
      const { ledger, advance, windowMs, lifeMs } = await opened(50n)
      await advance(windowMs)
      expect(await ledger.reserve(of(51n), 100n)).toBe(false)
      expect(await ledger.due('testnet', LATE, 10)).toHaveLength(1)
      await advance(lifeMs)
      expect(await ledger.reserve(of(100n), 100n)).toBe(true)
      expect(await ledger.due('testnet', LATE, 10)).toEqual([])
    })

    it('what a seller claims to have taken counts as long as it can land, and is not due any more', async () => {
      const { ledger, others, advance, windowMs, lifeMs, spend } = await opened(50n)
      await others.settle(spend.id, 'claimed')
      await ledger.settle(spend.id, 'dead')
      expect(await ledger.due('testnet', LATE, 10)).toEqual([])
      await advance(windowMs)
      expect(await ledger.reserve(of(51n), 100n)).toBe(false)
      await advance(lifeMs)
      expect(await ledger.reserve(of(100n), 100n)).toBe(true)
    })

    it('what landed counts a window from when it can have landed, not from when that was found out', async () => {
      const { ledger, advance, windowMs, lifeMs, spend } = await opened(50n)
      await advance(lifeMs + windowMs / 2)
      await ledger.settle(spend.id, 'spent')
      expect(await ledger.reserve(of(51n), 100n)).toBe(false)
      await advance(windowMs / 2)
      expect(await ledger.reserve(of(100n), 100n)).toBe(true)
    })

    it('keeps one text of balances: of many changes of the same text one is made, and all processes read it', async () => {
      const { ledger, other = ledger } = await make()
      if (!ledger.balances || !other.balances) return
      expect(await ledger.balances()).toBe('')
      const texts = Array.from({ length: 8 }, (_, at) => `{"text":"${at} \u00e9"}`)
      const change = async (after: string, at: number) =>
        (await (at % 2 === 0 ? ledger : other).balances!({ before: '', after })) === after
      expect((await Promise.all(texts.map(change))).filter(Boolean)).toHaveLength(1)
      const kept = await other.balances()
      expect(await ledger.balances({ before: 'another', after: 'lost' })).toBe(kept)
      const after = 'next'.padEnd(100_000, '\u00e9')
      expect(await ledger.balances({ before: kept, after })).toBe(after)
      expect(await other.balances()).toBe(after)
    })
  })
}
