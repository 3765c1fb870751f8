/** Limits hold whatever happens at once, whatever fails, and whatever sellers say. */
import { describe, expect, it } from 'vitest'
import { disownedPayments } from '../../src/app/client/disowned.js'
import { memorySpendLedger } from '../../src/client.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { ANSWER, distinctPayments, failure, honest, marketForFile, PRICE, PRICE_USD } from './market.js'

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
      ledger: { reserve: down, commit: down, release: down, spentBaseUnits: 0n },
    })
    await expect(client.call((await market.seller(honest)).url, {})).rejects.toThrow('the ledger is down')
    expect(spent()).toBe(0n)
  })

  it('does not withhold an answer that is paid for when its ledger fails afterwards', async () => {
    const ledger = { ...memorySpendLedger(), commit: () => Promise.reject(new Error('down')) }
    const { client } = market.payer({ ledger })
    expect((await client.call((await market.seller(honest)).url, {})).data).toEqual({ done: true })
  })

  it('is free again after failed calls', async () => {
    const { client, spent } = market.payer({ maxPerDay: '$0.01', retry: false })
    const broken = await market.seller((seen, shop) =>
      seen.payment ? failure(500, 'handler_error') : shop.challenge(shop.entry()),
    )
    for (let call = 0; call < 3; call++)
      await expect(client.call(broken.url, {})).rejects.toMatchObject({ code: 'call_failed' })
    expect(client.remainingToday).toBe(PRICE_USD)
    await client.call((await market.seller(honest)).url, {})
    expect(spent()).toBe(PRICE)
    expect(client.remainingToday).toBe(0)
  })

  it('counts a payment that lands after the seller had said no', async () => {
    const { client, spent } = market.payer({ maxPerDay: '$0.015', retry: false })
    const liar = await market.seller((seen, shop) =>
      seen.payment ? failure(500, 'handler_error') : shop.challenge(shop.entry()),
    )
    await expect(client.call(liar.url, {})).rejects.toMatchObject({ detail: { charged: 'no' } })
    expect(client.spentToday).toBe(0)
    await settleLater(liar.paid()[0]!.payment!)
    expect(spent()).toBe(PRICE)
    const shop = await market.seller(honest)
    await expect(client.call(shop.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(client.spentToday).toBe(PRICE_USD)
    expect(spent()).toBe(PRICE)
  })

  it('is not used up by a replay', async () => {
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
    expect(client.spentToday).toBe(0)
    expect(spent()).toBe(0n)
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

describe('the memory ledger', () => {
  const DAY_MS = 86_400_000

  it('forgets what is 24 hours old, to the millisecond', () => {
    const clock = { nowMs: 5_000, now: () => clock.nowMs }
    const ledger = memorySpendLedger(clock)
    expect(ledger.reserve({ id: 'a', amount: 3n }, 3n)).toBe(true)
    ledger.commit({ id: 'a', amount: 3n })
    clock.nowMs += DAY_MS - 1
    expect(ledger.reserve({ id: 'b', amount: 1n }, 3n)).toBe(false)
    clock.nowMs += 1
    expect(ledger.spentBaseUnits).toBe(0n)
    expect(ledger.reserve({ id: 'b', amount: 3n }, 3n)).toBe(true)
  })

  it('forgets a reservation that nobody ended, after 24 hours and not before', () => {
    const clock = { nowMs: 0, now: () => clock.nowMs }
    const ledger = memorySpendLedger(clock)
    ledger.reserve({ id: 'a', amount: 2n }, undefined)
    clock.nowMs = DAY_MS - 1
    expect(ledger.spentBaseUnits).toBe(2n)
    clock.nowMs = DAY_MS
    expect(ledger.spentBaseUnits).toBe(0n)
    ledger.release({ id: 'a', amount: 2n })
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it('counts again what had been released and was spent after all', () => {
    const ledger = memorySpendLedger()
    ledger.reserve({ id: 'a', amount: 2n }, undefined)
    ledger.release({ id: 'a', amount: 2n })
    expect(ledger.spentBaseUnits).toBe(0n)
    ledger.commit({ id: 'a', amount: 2n })
    expect(ledger.spentBaseUnits).toBe(2n)
  })
})

describe('disowned payments', () => {
  const signed = { payload: {}, firstValid: 1n, lastValid: 10n }

  it('are watched while they can land, then no longer; never judged by a node that is down', async () => {
    const ledger = memorySpendLedger()
    const node = { round: 5n as bigint | undefined, asked: 0, landed: undefined as bigint | undefined }
    const watch = disownedPayments(ledger, {
      lastRound: async () => node.round ?? Promise.reject(new Error('down')),
      confirmedRound: async () => {
        node.asked++
        return node.landed
      },
    })
    watch.watch({ id: 'a', amount: 2n }, { ...signed, txId: 'A' })
    await watch.look()
    node.round = undefined
    await watch.look()
    expect(node.asked).toBe(1)
    node.round = 10n
    await watch.look()
    expect(node.asked).toBe(2)
    node.round = 11n
    await watch.look()
    await watch.look()
    expect(node.asked).toBe(3)
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it('are bounded in number', () => {
    const watch = disownedPayments(memorySpendLedger(), {
      lastRound: async () => 0n,
      confirmedRound: async () => undefined,
    })
    for (let n = 0; !watch.full; n++)
      watch.watch({ id: String(n), amount: 1n }, { ...signed, txId: String(n) })
    expect(watch.full).toBe(true)
  })
})

async function settleLater(payment: string): Promise<void> {
  const seller = await market.seller(async (_, shop) => ({
    ...ANSWER,
    status: (await shop.settle(payment)).success ? 200 : 500,
  }))
  expect((await fetch(seller.url)).status).toBe(200)
}
