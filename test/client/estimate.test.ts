/** What a call would cost, and what the wallet holds: neither moves money. */
import { describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { defineEndpoint } from '../../src/index.js'
import { open } from '../support/seller.js'
import { ANSWER, failure, honest, marketForFile, PRICE, PRICE_USD, type Shop } from './market.js'

const market = marketForFile()

describe('estimate', () => {
  it('says what a call would cost, without a key and without a payment', async () => {
    const seller = await market.seller(honest)
    const estimate = await new SvcClient({ network: 'testnet' }).estimate(seller.url, { text: 'x' })
    expect(estimate).toMatchObject({ usd: PRICE_USD, accepted: { amount: '10000' } })
    expect(estimate.refusal).toBeUndefined()
    expect(seller.seen).toHaveLength(1)
    expect(seller.seen[0]?.body).toBe('{"text":"x"}')
  })

  it('says by which limit the call would be refused, in the words of the refusal', async () => {
    const seller = await market.seller(honest)
    const dear = market.payer({ maxPrice: '$0.009999' }).client
    const spent = market.payer({ maxPerDay: '$0.015' }).client
    await spent.call(seller.url)
    for (const [client, code] of [
      [dear, 'price_above_max'],
      [spent, 'daily_cap_reached'],
    ] as const) {
      const { usd, refusal } = await client.estimate(seller.url)
      expect(usd).toBe(PRICE_USD)
      expect(refusal).toMatchObject({ code, status: 402 })
      await expect(client.call(seller.url)).rejects.toMatchObject({ code, message: refusal?.message })
    }
    const limited = await market.payer().client.estimate(seller.url, undefined, { maxPrice: '$0.009' })
    expect(limited).toMatchObject({ usd: PRICE_USD, refusal: { code: 'price_above_max' } })
  })

  it('says that the request would be refused once it is paid, and the call signs nothing', async () => {
    const input = { type: 'object', required: ['text'] } as const
    const endpoint = defineEndpoint({ name: 'work', price: '$0.01', input, handler: () => ({ done: true }) })
    const { url, ended } = await open([endpoint], { sandbox: market.sandbox })
    const { client, spent } = market.payer()
    for (const method of ['GET', 'POST']) {
      const { usd, refusal } = await client.estimate(`${url}/work`, undefined, { method })
      expect({ usd, refusal }).toMatchObject({ usd: PRICE_USD, refusal: { code: 'invalid_request' } })
      await expect(client.call(`${url}/work`, undefined, { method })).rejects.toMatchObject({
        message: refusal?.message,
      })
    }
    expect(client.receipts.toJSON()).toEqual([])
    expect(ended.map(({ final }) => final)).toEqual(Array(4).fill('quoted'))
    await client.call(`${url}/work`, { text: 'x' })
    expect(spent()).toBe(PRICE)
  })

  it('says where there is no way to pay', async () => {
    const seller = await market.seller((_, shop) => shop.challenge(shop.entry({ asset: '1' })))
    const { client } = market.payer()
    expect(await client.estimate(seller.url)).toMatchObject({
      usd: null,
      refusal: { code: 'unreadable_quote' },
    })
    const elsewhere = await market.seller((_, shop) => ({
      ...(shop.challenge(shop.entry()) as object),
      ...quoteElsewhere(shop.entry()),
    }))
    const strict = market.payer({ strictResource: true }).client
    expect(await strict.estimate(elsewhere.url)).toMatchObject({
      usd: null,
      refusal: { code: 'resource_elsewhere' },
    })
  })

  it('is zero for what is free, and for what a held key covers, which nobody is asked about', async () => {
    const free = await market.seller(() => ANSWER)
    const sold = await market.seller(honest)
    const { client } = market.payer()
    expect(await client.estimate(free.url)).toEqual({ usd: 0 })
    client.useSubscription(sold.url, 'key')
    expect(await client.estimate(sold.url)).toEqual({ usd: 0, covered: true })
    expect(sold.seen).toHaveLength(0)
  })

  it('fails where the call would fail', async () => {
    const seller = await market.seller(() => failure(400, 'invalid_input'))
    await expect(market.payer().client.estimate(seller.url)).rejects.toMatchObject({
      code: 'call_failed',
      status: 400,
    })
  })
})

describe('balance', () => {
  it('is what the node says of the paying account', async () => {
    const { client, address } = market.payer()
    expect(await client.balance()).toEqual({
      address,
      usdc: 100_000_000n,
      usd: 100,
      frozen: false,
      microAlgos: 10_000_000n,
    })
    await client.call((await market.seller(honest)).url)
    expect(await client.balance()).toMatchObject({ usd: 99.99, usdc: 99_990_000n })
  })

  it('tells an account without USDC from one that has none left', async () => {
    const secretKey = new Uint8Array(64)
    secretKey.set(Buffer.from('3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29', 'hex'), 32)
    const client = new SvcClient({ secretKey, network: 'testnet', algodUrl: market.sandbox.algodUrl })
    expect(await client.balance()).toMatchObject({ usdc: null, usd: null, frozen: false, microAlgos: 0n })
  })

  it('needs a key, and a node that answers', async () => {
    await expect(new SvcClient().balance()).rejects.toMatchObject({ code: 'no_signer' })
    const { mnemonic } = market.sandbox.wallet
    const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: 'http://127.0.0.1:1' })
    await expect(client.balance()).rejects.toMatchObject({ code: 'node_unavailable' })
  })
})

describe('a signal', () => {
  it('ends everything that waits', async () => {
    const { client } = market.payer()
    const silent = await market.seller(() => 'silence')
    const waits: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
      quote: signal => client.quote(silent.url, undefined, { signal }),
      estimate: signal => client.estimate(silent.url, undefined, { signal }),
      call: signal => client.call(silent.url, undefined, { signal }),
      subscribe: signal => client.subscribe(silent.url, undefined, { signal }),
      discover: signal => client.discover(silent.url, { signal }),
      callMany: async signal => {
        const [outcome] = await client.callMany([{ url: silent.url }], { signal })
        if (!outcome?.ok) throw outcome?.error
      },
      balance: signal => {
        const { mnemonic } = market.sandbox.wallet
        const algodUrl = new URL('/', silent.url).href
        return new SvcClient({ mnemonic, network: 'testnet', algodUrl }).balance({ signal })
      },
    }
    for (const [name, wait] of Object.entries(waits)) {
      const stop = new AbortController()
      const waited = wait(stop.signal)
      setImmediate(() => stop.abort())
      await expect(waited, name).rejects.toMatchObject({ code: 'aborted' })
      await expect(wait(AbortSignal.abort()), name).rejects.toMatchObject({ code: 'aborted' })
    }
  })

  it('ends the wait for a node before anything is signed, and gives the reservation back', async () => {
    const silent = await market.seller(() => 'silence')
    const seller = await market.seller(honest)
    const { client } = market.payer({ algodUrl: new URL('/', silent.url).href, maxPerDay: '$0.01' })
    const stop = new AbortController()
    const called = client.call(seller.url, undefined, { signal: stop.signal })
    await expect.poll(() => silent.seen.length).toBe(1)
    stop.abort()
    await expect(called).rejects.toMatchObject({ code: 'aborted', message: /nothing was paid/ })
    expect(client.remainingToday).toBe(PRICE_USD)
    expect(seller.paid()).toHaveLength(0)
    expect(client.receipts.length).toBe(0)
  })
})

function quoteElsewhere(entry: Record<string, unknown>) {
  const challenge = { x402Version: 2, resource: { url: 'https://elsewhere.example/work' }, accepts: [entry] }
  const header = Buffer.from(JSON.stringify(challenge)).toString('base64')
  return { status: 402, headers: { 'PAYMENT-REQUIRED': header } }
}

describe('of several entries', () => {
  const both = (shop: Shop) => {
    const extra = { feePayer: market.sandbox.feePayer, subscriptionPeriod: '1h' }
    const [upto, dear, cheap, window, cheapWindow] = [
      shop.entry({ scheme: 'upto', amount: '1' }),
      shop.entry({ amount: '50000' }),
      shop.entry(),
      shop.entry({ amount: '30000', extra }),
      shop.entry({ amount: '1000', extra }),
    ]
    return shop.challenge(upto, dear, window, cheap, cheapWindow)
  }

  it('the cheapest that sells what is asked for is estimated and paid, within the limits', async () => {
    const { client, spent } = market.payer({ maxPrice: '$0.01' })
    const seller = await market.seller((seen, shop) =>
      seen.payment ? shop.sell(seen.payment, { 'x-svc-subscription': 'key' }) : both(shop),
    )
    expect(await client.estimate(seller.url, {})).toMatchObject({ usd: 0.01, accepted: { amount: '10000' } })
    await client.call(seller.url, {})
    expect(spent()).toBe(10_000n)
    client.dropSubscription(seller.url)
    await client.subscribe(seller.url, {})
    expect(spent()).toBe(11_000n)
  })
})
