/** How long a payment counts: only the chain shortens it, and no ledger withholds an answer that was paid for. */
import { describe, expect, it } from 'vitest'
import { memorySpendLedger, type SpendLedger } from '../../src/client.js'
import { PAYMENT_LIFE_MAX_MS } from '../../src/ports/spend-ledger.js'
import { ANSWER, honest, marketForFile, PRICE, PRICE_USD, type Script } from './market.js'

const market = marketForFile()
const DAY_MS = 86_400_000

/** A ledger whose time a test moves. */
function timed() {
  const clock = { nowMs: 0, monotonic: () => clock.nowMs }
  return {
    ledger: memorySpendLedger(clock),
    advance(ms: number) {
      clock.nowMs += ms
    },
  }
}

describe('a payment that a seller submits as late as it can', () => {
  const bare: Script = (seen, shop) => (seen.payment ? ANSWER : shop.challenge(shop.entry()))
  const withReceipt: Script = (seen, shop) =>
    seen.payment ? shop.sell(seen.payment) : shop.challenge(shop.entry())

  it.each([
    ['a bare 200', bare],
    ['a receipt', withReceipt],
  ])('counts for 24 hours after that, having been answered by %s', async (_, script) => {
    const { ledger, advance } = timed()
    const { client } = market.payer({ maxPerDay: '$0.01', ledger })
    const seller = await market.seller(script)
    await client.call(seller.url, {})
    advance(DAY_MS + PAYMENT_LIFE_MAX_MS - 1)
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
    advance(1)
    await client.call(seller.url, {})
  })

  it.each([
    ['a bare 200', ANSWER],
    [
      'a replay without a receipt',
      { ...ANSWER, headers: { ...ANSWER.headers, 'Idempotency-Replayed': 'true' } },
    ],
  ])(
    'and never submits, is given back when the chain has proved it dead: answered by %s',
    async (_, answer) => {
      const { client, spent } = market.payer({ maxPerDay: '$0.01' })
      const seller = await market.seller((seen, shop) =>
        seen.payment ? answer : shop.challenge(shop.entry()),
      )
      await client.call(seller.url, {})
      await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
      market.sandbox.advanceRounds(300)
      await client.call(seller.url, {})
      expect(client.receipts.toJSON().map(({ charged }) => charged)).toEqual(['no', 'yes'])
      expect(spent()).toBe(0n)
    },
  )
})

describe('a shared ledger', () => {
  /** As a ledger on the network: it knows the sum once a move has been answered. */
  function distant(shared: SpendLedger): SpendLedger & { answer(): void } {
    let sum = 0n
    const waiting: (() => void)[] = []
    const learnt = <T>(result: T): T => {
      sum = shared.spentBaseUnits
      return result
    }
    return {
      reserve: async (...spend) => learnt(await shared.reserve(...spend)),
      attach: async (...payment) => learnt(await shared.attach(...payment)),
      release: async id => learnt(await shared.release(id)),
      due: (...asked) => new Promise(resolve => waiting.push(() => resolve(learnt(shared.due(...asked))))),
      postpone: async (...later) => learnt(await shared.postpone(...later)),
      settle: async (...end) => learnt(await shared.settle(...end)),
      get spentBaseUnits() {
        return sum
      },
      answer() {
        for (const resolve of waiting.splice(0)) resolve()
      },
    }
  }

  it('is read at construction; until then nothing remains under a cap', async () => {
    const shared = memorySpendLedger()
    shared.reserve({ id: 'by another process', amount: 4n * PRICE }, undefined)
    const ledger = distant(shared)
    const { client } = market.payer({ maxPerDay: '$0.05', ledger })
    expect(client.remainingToday).toBe(0)
    ledger.answer()
    await expect.poll(() => client.spentToday).toBe(4 * PRICE_USD)
    expect(client.remainingToday).toBe(PRICE_USD)
    expect(market.payer({ ledger: distant(shared) }).client.remainingToday).toBe(Number.POSITIVE_INFINITY)
  })

  it('that fails at construction is read again when somebody asks what remains', async () => {
    const shared = memorySpendLedger()
    let isUp = false
    const due: SpendLedger['due'] = async () => {
      if (!isUp) throw new Error('down')
      return []
    }
    const { client } = market.payer({ maxPerDay: '$0.05', ledger: { ...shared, due } })
    await expect.poll(() => client.remainingToday).toBe(0)
    isUp = true
    await expect.poll(() => client.remainingToday).toBe(0.05)
  })

  it('that never answers after a payment does not withhold the answer', async () => {
    const silent = { ...memorySpendLedger(), settle: () => new Promise<void>(() => {}) }
    const { client, spent } = market.payer({ ledger: silent })
    const seller = await market.seller(honest)
    expect((await client.call(seller.url, {})).data).toEqual({ done: true })
    expect(spent()).toBe(PRICE)
  })
})
