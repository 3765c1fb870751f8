/** A payment at a kept quote is with the seller before the client knows its terms. At most one payment of a call lands. */
import { decodeSignedTransaction } from 'algosdk'
import { describe, expect, it } from 'vitest'
import { type ClientOptions, memorySpendLedger } from '../../src/client.js'
import { decodeHeader } from '../../src/domain/x402.js'
import {
  deepQuote,
  distinctPayments,
  failure,
  fastRetry,
  marketForFile,
  type Script,
  type Shop,
  txIdIn,
} from './market.js'

const market = marketForFile()
const CACHED = { quote: 'cached' } as const
const AT_FIRST = 10_000n
const DEARER = 40_000n
const CHEAPER = 4_000n

/** Sells once at the first price, so that the client keeps its quote. Then `then` answers everything. */
async function changing(then: Script, options: ClientOptions = { maxPrice: '$0.05' }) {
  let changed = false
  const seller = await market.seller((seen, shop) => {
    if (changed) return then(seen, shop)
    return seen.payment ? shop.sell(seen.payment) : asks(shop, AT_FIRST)
  })
  const payer = market.payer(options)
  await payer.client.call(seller.url, {}, CACHED)
  changed = true
  const known = distinctPayments(seller)
  const { client } = payer
  return {
    client,
    seller,
    call: (more = {}) => client.call(seller.url, {}, { ...CACHED, ...more }),
    /** The payments after the change, oldest first. */
    payments: () => [...distinctPayments(seller)].filter(payment => !known.has(payment)) as string[],
    spent: () => payer.spent() - AT_FIRST,
    trips: () => seller.seen.length - 2,
  }
}

const asks = (shop: Shop, amount: bigint, changes = {}) =>
  shop.challenge(shop.entry({ amount: amount.toString(), ...changes }))

const amountOf = (payment: string) => (decodeHeader(payment)!.accepted as { amount: string }).amount

/** Sells at this price to who pays it, and refuses all other payments. */
const honestAt =
  (price: bigint): Script =>
  (seen, shop) =>
    seen.payment && amountOf(seen.payment) === price.toString() ? shop.sell(seen.payment) : asks(shop, price)

/** How many of these the sandbox's facilitator settles now. */
async function land(payments: readonly string[]): Promise<number> {
  let landed = 0
  const fence = await market.seller(async ({ headers }, shop) => {
    if ((await shop.settle(headers['x-hoarded']!)).success) landed++
    return { status: 200 }
  })
  for (const payment of payments) await fetch(fence.url, { headers: { 'x-hoarded': payment } })
  return landed
}

const leased = (payment: string) => {
  const { paymentGroup, paymentIndex } = decodeHeader(payment)!.payload as {
    paymentGroup: string[]
    paymentIndex: number
  }
  const { txn } = decodeSignedTransaction(Buffer.from(paymentGroup[paymentIndex]!, 'base64'))
  return { lease: Buffer.from(txn.lease ?? []).toString('hex'), lastValid: txn.lastValid }
}

describe('other terms than those of the kept quote', () => {
  it.each([
    ['a higher price', DEARER],
    ['a lower price', CHEAPER],
  ])('%s is paid, and the first payment can never land', async (_, price) => {
    const { call, payments, spent, trips } = await changing(honestAt(price))
    const { payment, warnings } = await call()
    expect(payment).toMatchObject({ amount: price.toString(), txId: txIdIn(payments()[1]!) })
    expect(warnings).toEqual([expect.objectContaining({ code: 'quote_changed' })])
    expect(trips()).toBe(2)
    expect(payments().map(amountOf)).toEqual([AT_FIRST.toString(), price.toString()])
    expect(await land(payments())).toBe(0)
    expect(spent()).toBe(price)
    await call()
    expect(trips()).toBe(4)
    market.sandbox.advanceRounds(300)
    expect(await land(payments())).toBe(0)
  })

  it('have the lease and the last round of the first payment, and no other call has that lease', async () => {
    const { call, payments } = await changing(honestAt(DEARER))
    await call()
    const [first, second] = payments().map(leased)
    expect(first!.lease).toMatch(/^[0-9a-f]{64}$/)
    expect(second).toEqual(first)
    const other = await changing(honestAt(DEARER))
    await other.call()
    expect(leased(other.payments()[0]!).lease).not.toBe(first!.lease)
  })

  it('of another receiver or sponsor are paid as well', async () => {
    const { address } = market.sandbox.accounts('another seller')
    for (const changes of [{ payTo: address }, { extra: {} }]) {
      const { call, payments, spent } = await changing((seen, shop) => {
        const entry = shop.entry(changes)
        const pays =
          seen.payment && JSON.stringify(decodeHeader(seen.payment)!.accepted) === JSON.stringify(entry)
        return pays ? shop.sell(seen.payment!) : shop.challenge(entry)
      })
      expect(await call()).toMatchObject({ status: 200, data: { done: true } })
      expect(await land(payments())).toBe(0)
      expect(spent()).toBe(AT_FIRST)
    }
  })

  it('are paid once by each of eight calls at once', async () => {
    const { client, seller, payments, spent } = await changing(honestAt(DEARER))
    const requests = Array.from({ length: 8 }, () => ({ url: seller.url, body: {}, ...CACHED }))
    const outcomes = await client.callMany(requests, { concurrency: 8 })
    expect(outcomes.map(({ ok }) => ok)).toEqual(Array(8).fill(true))
    expect(payments()).toHaveLength(16)
    expect(await land(payments())).toBe(0)
    expect(spent()).toBe(8n * DEARER)
  })

  const unpaid: [string, string, Script, ClientOptions?][] = [
    ['above the price limit', 'price_above_max', (_, shop) => asks(shop, 60_000n)],
    [
      'beyond the day',
      'daily_cap_reached',
      (_, shop) => asks(shop, DEARER),
      { maxPerDay: '$0.059', maxPrice: '$0.05' },
    ],
    ['in another asset', 'unreadable_quote', (_, shop) => asks(shop, DEARER, { asset: '1' })],
    [
      'for a window',
      'window',
      (_, shop) =>
        asks(shop, DEARER, { extra: { feePayer: market.sandbox.feePayer, subscriptionPeriod: '1d' } }),
    ],
  ]
  it.each(unpaid)('%s are not paid', async (_, reason, then, options) => {
    const { call, client, payments, spent } = await changing(then, options)
    const error = await call().catch(error => error)
    const [payment] = payments() as [string]
    expect(error).toMatchObject({ code: 'quote_changed', status: 402 })
    expect(error.detail).toEqual({
      reason,
      charged: 'no',
      amount: AT_FIRST.toString(),
      txId: txIdIn(payment),
      lastValid: expect.any(Number),
    })
    expect(error.message).toContain(`not charged, says the seller (payment ${txIdIn(payment)})`)
    expect(payments()).toHaveLength(1)
    expect(client.spentToday).toBe(0.02)
    expect(await land(payments())).toBe(1)
    expect(spent()).toBe(AT_FIRST)
  })
})

it('a quote that nests too deep after the first payment: the error names that payment', async () => {
  const { call, payments } = await changing((_, shop) => deepQuote(shop.entry()))
  const error = await call().catch(error => error)
  expect(error).toMatchObject({ code: 'call_failed', status: 402 })
  expect(error.detail).toMatchObject({ charged: 'no', txId: txIdIn(payments()[0]!) })
  expect(() => JSON.stringify(error.detail)).not.toThrow()
})

it('a seller that lands the first payment and answers for the second: the result names the one that landed', async () => {
  const { call, client, payments, spent } = await changing(async (seen, shop) => {
    if (!seen.payment || amountOf(seen.payment) !== CHEAPER.toString()) return asks(shop, CHEAPER)
    const [, first] = [...new Set(shop.seen.flatMap(({ payment }) => payment ?? []))]
    await shop.settle(first!)
    return { status: 200, body: '{"done":true}' }
  })
  const { payment, warnings } = await call()
  const [first, second] = payments()
  expect(spent()).toBe(AT_FIRST)
  expect(payment).toMatchObject({ txId: txIdIn(first!), amount: AT_FIRST.toString() })
  expect(warnings!.at(-1)!.message).toContain(txIdIn(first!))
  const claimed = client.receipts.toJSON().filter(({ charged }) => charged === 'yes')
  expect(claimed.map(({ txId }) => txId)).toContain(txIdIn(first!))
  expect(claimed.map(({ txId }) => txId)).not.toContain(txIdIn(second!))
})

it('a seller that answers for the second payment and then lands the first: the books follow the chain', async () => {
  const options = { maxPrice: '$0.05', maxPerDay: '$0.06' }
  const { call, client, seller, payments } = await changing((seen, shop) => {
    const pays = seen.payment && amountOf(seen.payment) === DEARER.toString()
    return pays ? { status: 200, body: '{"done":true}' } : asks(shop, DEARER)
  }, options)
  await call()
  const books = () => client.receipts.toJSON().map(({ charged }) => charged)
  expect(books()).toEqual(['yes', 'no', 'yes'])
  expect(await land(payments())).toBe(1)
  market.sandbox.advanceRounds(300)
  // A call that needs room has the chain asked: the second payment is dead, and leaves its room.
  expect((await client.estimate(seller.url, {})).refusal).toBeUndefined()
  expect(books()).toEqual(['yes', 'yes', 'no'])
})

describe('a seller that refuses every payment and lands all of them gets one a call', () => {
  const liars: [string, Script, 'no' | 'yes'][] = [
    ['later', (_, shop) => asks(shop, DEARER), 'no'],
    [
      'as each comes',
      async (seen, shop) => {
        await shop.settle(seen.payment!)
        return asks(shop, DEARER)
      },
      'yes',
    ],
    [
      'the first when it has the second',
      async (_, shop) => {
        const [, first, second] = [...new Set(shop.seen.flatMap(({ payment }) => payment ?? []))]
        if (second) await shop.settle(first!)
        return asks(shop, DEARER)
      },
      'yes',
    ],
    [
      'the second first',
      async (_, shop) => {
        const [, first, second] = [...new Set(shop.seen.flatMap(({ payment }) => payment ?? []))]
        if (second) for (const payment of [second, first!]) await shop.settle(payment)
        return asks(shop, DEARER)
      },
      'yes',
    ],
  ]
  it.each(liars)('%s', async (_, lie, charged) => {
    const { call, client, payments, spent } = await changing(lie)
    const error = await call().catch(error => error)
    expect(error).toMatchObject({ code: 'call_failed', status: 402, detail: { charged } })
    await land(payments())
    const landed = spent()
    expect([AT_FIRST, DEARER]).toContain(landed)
    expect(client.spentToday).toBeGreaterThanOrEqual(Number(AT_FIRST + landed) / 1e6)
    const claimed = client.receipts.toJSON().filter(({ charged }) => charged === 'yes')
    if (charged === 'yes') expect(claimed.map(({ txId }) => txId)).toContain(error.detail.txId)
    else expect([error.detail.earlierTxId, error.detail.txId]).toEqual(payments().map(txIdIn))
  })

  it('and one that asks for another price each time gets two signatures a call, of which one lands', async () => {
    let price = AT_FIRST
    const { call, payments, spent } = await changing((_, shop) => asks(shop, ++price))
    await expect(call()).rejects.toMatchObject({ code: 'call_failed' })
    expect(payments()).toHaveLength(2)
    expect(await land(payments())).toBe(1)
    expect(spent()).toBeLessThanOrEqual(price)
  })
})

describe('one payment alone is signed', () => {
  it('where the seller refuses it and keeps to the terms; it is asked before the next call', async () => {
    let refuses = true
    const { call, payments, seller, spent } = await changing((seen, shop) =>
      seen.payment && !refuses ? shop.sell(seen.payment) : asks(shop, AT_FIRST),
    )
    await expect(call()).rejects.toMatchObject({ code: 'call_failed', detail: { charged: 'no' } })
    expect(payments()).toHaveLength(1)
    refuses = false
    await call()
    expect(seller.seen.slice(-2).map(({ payment }) => payment === undefined)).toEqual([true, false])
    expect(spent()).toBe(AT_FIRST)
  })

  const answers: [string, string, Script][] = [
    ['no answer', 'network_error', () => 'cut'],
    ['another failure', 'call_failed', () => failure(400, 'invalid_input')],
    [
      'no answer, and then other terms',
      'call_failed',
      (_, shop) => (shop.seen.filter(({ payment }) => payment).length === 2 ? 'cut' : asks(shop, DEARER)),
    ],
    ['a 402 without terms', 'call_failed', () => ({ status: 402 })],
  ]
  it.each(answers)('after %s', async (_, code, then) => {
    const { call, payments, spent } = await changing(then, { retry: fastRetry })
    await expect(call()).rejects.toMatchObject({ code })
    expect(payments()).toHaveLength(1)
    expect(await land(payments())).toBe(1)
    expect(spent()).toBe(AT_FIRST)
  })
})

it('an abort after the second payment was sent names both', async () => {
  const stop = new AbortController()
  const { call, payments } = await changing((_, shop) => {
    if (payments().length === 2) stop.abort()
    return payments().length === 2 ? 'silence' : asks(shop, DEARER)
  })
  const error = await call({ signal: stop.signal }).catch(error => error)
  const [earlierTxId, txId] = payments().map(txIdIn)
  expect(error).toMatchObject({ code: 'aborted', detail: { charged: 'maybe', txId, earlierTxId } })
})

it('both payments stay in the ledger for the next process, until the chain proves one dead', async () => {
  const ledger = memorySpendLedger()
  const limits = { ledger, maxPerDay: '$0.07', maxPrice: '$0.05' }
  const { call, payments, seller } = await changing(honestAt(DEARER), limits)
  await call()
  const open = await ledger.due('testnet', 2n ** 50n, 10)
  expect(open.map(({ payment }) => payment.txId)).toEqual([txIdIn(payments()[0]!)])
  const { client: later } = market.payer(limits)
  expect(later.spentToday).toBe(0.06)
  const fresh = await market.seller((seen, shop) =>
    seen.payment ? shop.sell(seen.payment) : asks(shop, 20_000n),
  )
  await expect(later.call(fresh.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
  market.sandbox.advanceRounds(300)
  await later.call(fresh.url, {})
  expect(later.spentToday).toBe(0.07)
  expect(seller.paid()).toHaveLength(3)
})
