/** Limits hold whatever happens at once, whatever fails, and whatever sellers say. */
import { describe, expect, it, vi } from 'vitest'
import { memorySpendLedger } from '../../src/client.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { PAYMENT_LIFE_MAX_MS } from '../../src/ports/spend-ledger.js'
import { ANSWER, distinctPayments, honest, marketForFile, PRICE, PRICE_USD } from './market.js'

const market = marketForFile()

describe('the daily limit', () => {
  it('lets as many parallel calls through as fit under it', async () => {
    const { client, spent } = market.payer({ maxPerDay: '$0.05' })
    const seller = await market.seller(honest)
    const calls = await Promise.allSettled(Array.from({ length: 20 }, () => client.call(seller.url, {})))
    const refused = calls.flatMap(call => (call.status === 'rejected' ? [call.reason.code] : []))
    expect(refused).toEqual(Array(15).fill('daily_cap_reached'))
    expect(spent()).toBe(5n * PRICE)
    expect(client.spentToday).toBe(0.05)
    expect(client.remainingToday).toBe(0)
    expect(distinctPayments(seller).size).toBe(5)
  })

  it('is not forgotten where the time of day jumps ahead', async () => {
    const { client } = market.payer({ maxPerDay: '$0.01' })
    const seller = await market.seller(honest)
    await client.call(seller.url, {})
    const nowMs = Date.now() + 25 * 3_600_000
    const jump = vi.spyOn(Date, 'now').mockImplementation(() => nowMs)
    const again = client.call(seller.url, {}).finally(() => jump.mockRestore())
    await expect(again).rejects.toMatchObject({ code: 'daily_cap_reached' })
  })

  it('is shared by clients that share a ledger', async () => {
    const ledger = memorySpendLedger()
    const payers = [1, 2, 3, 4].map(() => market.payer({ maxPerDay: '$0.02', ledger }))
    const seller = await market.seller(honest)
    const calls = await Promise.allSettled(payers.map(({ client }) => client.call(seller.url, {})))
    expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect(payers.reduce((sum, { spent }) => sum + spent(), 0n)).toBe(2n * PRICE)
  })

  it('pays nothing while its ledger is down', async () => {
    const down = () => {
      throw new Error('the ledger is down')
    }
    const { client, spent } = market.payer({
      ledger: { ...memorySpendLedger(), reserve: down, release: down },
    })
    await expect(client.call((await market.seller(honest)).url, {})).rejects.toThrow('the ledger is down')
    expect(spent()).toBe(0n)
  })

  it('does not withhold an answer that is paid for when its ledger fails afterwards', async () => {
    const ledger = { ...memorySpendLedger(), settle: () => Promise.reject(new Error('down')) }
    const { client } = market.payer({ ledger })
    expect((await client.call((await market.seller(honest)).url, {})).data).toEqual({ done: true })
  })

  it('counts a replay until its own payment cannot land: that a seller did not take it is the seller’s word', async () => {
    const { client, spent } = market.payer({ maxPerDay: '$0.02' })
    const receipt = encodeHeader({ success: true, txId: 'A'.repeat(52), amount: '10000', asset: '10458941' })
    const headers = {
      'content-type': 'application/json',
      'Idempotency-Replayed': 'true',
      'PAYMENT-RESPONSE': receipt,
    }
    const seller = await market.seller((seen, shop) =>
      seen.payment ? { ...ANSWER, headers } : shop.challenge(shop.entry()),
    )
    const result = await client.call(seller.url, {}, { idempotencyKey: 'order-1' })
    expect(result).toMatchObject({ replayed: true, payment: { txId: 'A'.repeat(52), usd: PRICE_USD } })
    expect(result.warnings).toBeUndefined()
    expect(seller.paid()[0]?.headers['idempotency-key']).toBe('order-1')
    expect(client.receipts.toJSON()).toMatchObject([{ status: 200, charged: 'no' }])
    expect(client.spentToday).toBe(PRICE_USD)
    expect(spent()).toBe(0n)
  })

  it('tells of a “replay” whose own payment landed that it was charged', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(async (seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      await shop.settle(seen.payment)
      const receipt = encodeHeader({ success: true, txId: 'A'.repeat(52) })
      return { ...ANSWER, headers: { 'Idempotency-Replayed': 'true', 'PAYMENT-RESPONSE': receipt } }
    })
    const result = await client.call(seller.url, {})
    expect(result.replayed).toBeUndefined()
    expect(result.payment?.txId).toBe(market.sandbox.transactions().at(-1)?.txId)
    expect(result.warnings).toMatchObject([{ code: 'receipt_mismatch' }])
    expect(spent()).toBe(PRICE)
  })

  it('is free again where nothing could be signed', async () => {
    const { client } = market.payer({ maxPerDay: '$0.01', algodUrl: 'http://127.0.0.1:1' })
    const seller = await market.seller(honest)
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'node_unavailable' })
    expect(client.remainingToday).toBe(PRICE_USD)
    expect(seller.paid()).toEqual([])
  })
})

it('without a limit, what is left is infinite', () => {
  expect(market.payer().client.remainingToday).toBe(Number.POSITIVE_INFINITY)
})

it('a ledger that cannot do all that it has to is refused at construction', () => {
  const { attach: _, ...earlier } = memorySpendLedger()
  expect(() => market.payer({ ledger: earlier as never })).toThrow(
    expect.objectContaining({ code: 'invalid_options', message: expect.stringContaining('attach') }),
  )
})

describe('the memory ledger', () => {
  const DAY_MS = 86_400_000
  const payment = { network: 'testnet', txId: 'A', firstValid: 1n, lastValid: 10n } as const

  it('forgets what is 24 hours old, to the millisecond', () => {
    const clock = { nowMs: 5_000, monotonic: () => clock.nowMs }
    const ledger = memorySpendLedger(clock)
    ledger.reserve({ id: 'a', amount: 3n }, 3n)
    ledger.attach('a', payment)
    ledger.settle('a', 'spent')
    clock.nowMs += DAY_MS - 1
    expect(ledger.reserve({ id: 'b', amount: 1n }, 3n)).toBe(false)
    clock.nowMs += 1
    expect(ledger.spentBaseUnits).toBe(0n)
    expect(ledger.reserve({ id: 'b', amount: 3n }, 3n)).toBe(true)
  })

  it('forgets a reservation that nobody ended, after 24 hours and not before', () => {
    const clock = { nowMs: 0, monotonic: () => clock.nowMs }
    const ledger = memorySpendLedger(clock)
    ledger.reserve({ id: 'a', amount: 2n }, undefined)
    clock.nowMs = DAY_MS - 1
    expect(ledger.spentBaseUnits).toBe(2n)
    clock.nowMs = DAY_MS
    expect(ledger.spentBaseUnits).toBe(0n)
    ledger.release('a')
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it('forgets each spend in its own time, in whatever order they were settled', () => {
    const clock = { nowMs: 0, monotonic: () => clock.nowMs }
    const ledger = memorySpendLedger(clock)
    const times = [0, 700, 5_000, 60_000]
    for (const [at, ms] of times.entries()) {
      clock.nowMs = ms
      ledger.reserve({ id: `${at}`, amount: 10n ** BigInt(at) }, undefined)
      ledger.attach(`${at}`, payment)
    }
    clock.nowMs = PAYMENT_LIFE_MAX_MS + 70_000
    for (const id of ['2', '0', '3', '1']) ledger.settle(id, 'spent')
    const left = [699, 700, 5_000, 59_999, 60_000].map(ms => {
      clock.nowMs = PAYMENT_LIFE_MAX_MS + DAY_MS + ms
      return ledger.spentBaseUnits
    })
    // What counts from the same second is one entry.
    expect(left).toEqual([1_111n, 1_100n, 1_000n, 1_000n, 0n])
  })
})
