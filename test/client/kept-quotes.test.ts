/** Which quotes are kept, for how long, and what a call at one sends. */
import { afterEach, describe, expect, it } from 'vitest'
import { type KeptQuote, keptQuotes } from '../../src/app/client/kept-quotes.js'
import type { PaymentRequirements } from '../../src/domain/x402.js'
import { defineEndpoint } from '../../src/index.js'
import { openSeller } from '../support/seller.js'
import { honest, marketForFile, PRICE, type Script } from './market.js'

const market = marketForFile()
const CACHED = { quote: 'cached' } as const

describe('a call at a kept quote', () => {
  it('makes one trip, and only where both calls ask for it', async () => {
    const { client, spent } = market.payer({ maxPrice: '$0.01' })
    const seller = await market.seller(honest)
    const trips = async (call: Promise<unknown>) => {
      const before = seller.seen.length
      await call
      return seller.seen.length - before
    }
    expect(await trips(client.call(seller.url, {}))).toBe(2)
    expect(await trips(client.call(seller.url, {}, CACHED))).toBe(2)
    expect(await trips(client.call(seller.url, { other: 'body' }, CACHED))).toBe(1)
    expect(await trips(client.stream(seller.url, {}, CACHED))).toBe(1)
    const [many] = await client.callMany([{ url: seller.url, body: {}, ...CACHED }])
    expect(many).toMatchObject({ ok: true, result: { status: 200, payment: { usd: 0.01 } } })
    expect(many).not.toHaveProperty('result.warnings')
    expect(await trips(client.call(seller.url, {}, { quote: 'fresh' }))).toBe(2)
    expect(await trips(client.call(`${seller.url}?n=1`, {}, CACHED))).toBe(2)
    expect(await trips(client.call(seller.url, {}, { ...CACHED, method: 'PUT' }))).toBe(2)
    expect(await trips(client.call(seller.url, undefined, CACHED))).toBe(2)
    expect(spent()).toBe(BigInt(client.receipts.length) * PRICE)
  })

  it('goes to a GET endpoint as a GET', async () => {
    const { client } = market.payer({ maxPrice: '$0.01' })
    const seller = await market.seller((seen, shop) =>
      seen.method === 'GET' ? honest(seen, shop) : { status: 405, headers: { allow: 'GET' } },
    )
    await client.call(seller.url, undefined, CACHED)
    await client.call(seller.url, undefined, CACHED)
    expect(seller.seen.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET', 'GET'])
  })

  it('sends nothing that the caps do not allow', async () => {
    const { client } = market.payer({ maxPerDay: '$0.025' })
    const seller = await market.seller(honest)
    await client.call(seller.url, {}, CACHED)
    await client.call(seller.url, {}, CACHED)
    await expect(client.call(seller.url, {}, CACHED)).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(seller.paid()).toHaveLength(2)
  })

  it.each<[string, Script]>([
    [
      'whose time is over',
      (seen, shop) =>
        seen.payment ? shop.sell(seen.payment) : shop.challenge(shop.entry({ maxTimeoutSeconds: 1e-9 })),
    ],
    [
      'of a window',
      (seen, shop) =>
        seen.payment
          ? shop.sell(seen.payment)
          : shop.challenge(
              shop.entry({ extra: { feePayer: market.sandbox.feePayer, subscriptionPeriod: '1d' } }),
            ),
    ],
    [
      'of more than 16 KiB in a body',
      (seen, shop) =>
        seen.payment
          ? shop.sell(seen.payment)
          : {
              status: 402,
              body: JSON.stringify({ x402Version: 2, accepts: [shop.entry()], padding: 'x'.repeat(16_384) }),
            },
    ],
  ])('is not made at one %s', async (_, script) => {
    const { client } = market.payer({ maxPrice: '$0.01' })
    const seller = await market.seller(script)
    await client.call(seller.url, {}, CACHED)
    await client.call(seller.url, {}, CACHED)
    expect(seller.seen).toHaveLength(4)
  })

  it('does not survive the client', async () => {
    const { client } = market.payer()
    const { client: later } = market.payer()
    const seller = await market.seller(honest)
    await client.call(seller.url, {}, CACHED)
    await later.call(seller.url, {}, CACHED)
    expect(seller.seen).toHaveLength(4)
  })

  it('takes no other word for the option', async () => {
    const { client } = market.payer()
    const call = client.call('http://127.0.0.1:1', {}, { quote: 'old' as 'cached' })
    await expect(call).rejects.toMatchObject({ code: 'invalid_options' })
  })
})

describe('a server of ours whose price changes', () => {
  let close = async () => {}
  afterEach(() => close())

  it('refuses the kept quote and is paid its new price, once, for one run', async () => {
    let price = '$0.01'
    let runs = 0
    const endpoint = defineEndpoint({ name: 'work', price: () => price, handler: () => ({ run: ++runs }) })
    const seller = await openSeller([endpoint], { sandbox: market.sandbox, idempotency: {} })
    close = () => seller.close()
    const { client, spent } = market.payer({ maxPrice: '$0.05' })
    const call = () => client.call(`${seller.url}/work`, {}, CACHED)
    await call()
    for (const [next, warned] of [
      ['$0.04', true],
      ['$0.02', false],
    ] as const) {
      price = next
      const { data, payment, warnings = [] } = await call()
      expect(data).toEqual({ run: runs })
      expect(payment?.usd).toBe(Number(next.slice(1)))
      expect(warnings.map(({ code }) => code)).toEqual(warned ? ['quote_changed'] : [])
    }
    expect(runs).toBe(3)
    expect(spent()).toBe(70_000n)
  })
})

describe('quotes', () => {
  const accepted = { maxTimeoutSeconds: 60 } as PaymentRequirements
  const quote = { method: 'POST', challenge: {} } as KeptQuote
  const at = (path: string) => ({ url: new URL(path, 'https://agent.example'), method: 'POST' })

  it('are kept for their time, at most 5 minutes', () => {
    let now = 0
    const quotes = keptQuotes(() => now)
    quotes.keep(at('/minute'), quote, accepted)
    quotes.keep(at('/year'), quote, { ...accepted, maxTimeoutSeconds: 31_536_000 })
    now = 59_999
    // Another fresh quote of the same endpoint does not make the first one younger.
    quotes.keep(at('/minute'), quote, accepted)
    expect(quotes.of(at('/minute'))).toBe(quote)
    now = 60_000
    expect(quotes.of(at('/minute'))).toBeUndefined()
    now = 299_999
    expect(quotes.of(at('/year'))).toBe(quote)
    now = 300_000
    expect(quotes.of(at('/year'))).toBeUndefined()
  })

  it('of an endpoint that refused one are not kept for 5 minutes; of one that failed otherwise they are', () => {
    let now = 0
    const quotes = keptQuotes(() => now)
    quotes.distrust(at('/refused'))
    quotes.forget(at('/refused'))
    quotes.keep(at('/refused'), quote, accepted)
    expect(quotes.of(at('/refused'))).toBeUndefined()
    quotes.keep(at('/failed'), quote, accepted)
    quotes.forget(at('/failed'))
    expect(quotes.of(at('/failed'))).toBeUndefined()
    quotes.keep(at('/failed'), quote, accepted)
    expect(quotes.of(at('/failed'))).toBe(quote)
    now = 300_000
    quotes.keep(at('/refused'), quote, accepted)
    expect(quotes.of(at('/refused'))).toBe(quote)
  })

  it('are at most 256: the one that was not used for longest goes first', () => {
    const quotes = keptQuotes(() => 0)
    for (let index = 0; index < 256; index++) quotes.keep(at(`/${index}`), quote, accepted)
    quotes.of(at('/0'))
    quotes.keep(at('/256'), quote, accepted)
    expect([0, 1, 2, 256].map(index => quotes.of(at(`/${index}`)) === quote)).toEqual([
      true,
      false,
      true,
      true,
    ])
  })
})
