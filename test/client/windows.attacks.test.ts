/** Windows are what their quotes said was sold: no answer shortens them, moves them, or makes the client buy again. */
import { describe, expect, it } from 'vitest'
import type { SvcClient } from '../../src/client.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { defineEndpoint } from '../../src/index.js'
import { gate } from '../support/gate.js'
import { open } from '../support/seller.js'
import {
  ANSWER,
  type Answer,
  failure,
  marketForFile,
  PRICE,
  PRICE_USD,
  quote,
  type Script,
  type Seen,
  type Shop,
} from './market.js'

const market = marketForFile()
const KEY = 'window-1'
const REMAINING = 'x-svc-subscription-remaining'

const sells = (shop: Shop, extra: object, resource?: string): Answer => {
  const entry = shop.entry({ extra: { feePayer: market.sandbox.feePayer, ...extra } })
  return resource === undefined
    ? shop.challenge(entry)
    : quote({ resource: { url: resource }, accepts: [entry] })
}

/** Sells windows of these terms, and says what it likes to calls with their keys. */
function windowSeller(extra: object, covered: (calls: number, shop: Shop) => Answer, left?: string): Script {
  let sold = 0
  let calls = 0
  return (seen, shop) => {
    if (seen.payment)
      return shop.sell(seen.payment, {
        'x-svc-subscription': `${KEY}-${++sold}`,
        ...(left !== undefined && { [REMAINING]: left }),
      })
    return seen.headers['x-svc-subscription'] ? covered(++calls, shop) : sells(shop, extra)
  }
}

const told = (remaining: number): Answer => ({
  ...ANSWER,
  headers: { ...ANSWER.headers, [REMAINING]: `${remaining}` },
})
const codes = (result: { warnings?: readonly { code: string }[] }) =>
  result.warnings?.map(({ code }) => code) ?? []

describe('“no calls are left” of a window', () => {
  it('that was sold without a count is a warning, and the window stays open', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(windowSeller({ subscriptionPeriod: '1h' }, () => told(0), '0'))
    expect(codes(await client.call(seller.url, {}))).toEqual(['fewer_calls_than_sold'])
    for (let call = 0; call < 3; call++)
      expect(codes(await client.call(seller.url, {}))).toEqual(['fewer_calls_than_sold'])
    expect(client.activeSubscriptions).toMatchObject([{ key: `${KEY}-1` }])
    expect(await client.estimate(seller.url, {})).toEqual({ usd: 0, covered: true })
    expect(spent()).toBe(PRICE)
  })

  it('with 100 is a warning, and where the seller then asks for money, a refusal of the key', async () => {
    const { client, spent } = market.payer()
    const terms = { subscriptionPeriod: '1h', subscriptionCalls: 100 }
    const asks = (calls: number, shop: Shop): Answer => {
      if (calls === 1) return told(0)
      const asked = sells(shop, terms) as Exclude<Answer, string>
      return { ...asked, headers: { ...asked.headers, [REMAINING]: '0' } }
    }
    const seller = await market.seller(windowSeller(terms, asks, '0'))
    const bought = await client.subscribe(seller.url, {})
    expect(codes(bought)).toEqual(['fewer_calls_than_sold'])
    expect(bought.remaining).toBe(99)
    expect(codes(await client.call(seller.url, {}))).toEqual(['fewer_calls_than_sold'])
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 98 }])
    for (let call = 0; call < 2; call++)
      await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'subscription_refused' })
    expect(spent()).toBe(PRICE)
  })

  it('with two, after both, is the end of it: the next call buys another', async () => {
    const { client, spent } = market.payer()
    const terms = { subscriptionPeriod: '1h', subscriptionCalls: 2 }
    const seller = await market.seller(windowSeller(terms, () => told(0), '1'))
    for (const warned of [[], [], []]) expect(codes(await client.call(seller.url, {}))).toEqual(warned)
    expect(client.activeSubscriptions).toMatchObject([{ key: `${KEY}-2`, remaining: 1 }])
    expect(spent()).toBe(2n * PRICE)
  })

  it('that a call which got no answer may have used is no fewer than sold', async () => {
    const { client } = market.payer({ retry: false })
    const terms = { subscriptionPeriod: '1h', subscriptionCalls: 4 }
    const seller = await market.seller(windowSeller(terms, calls => (calls === 1 ? 'cut' : told(1)), '3'))
    await client.call(seller.url, {})
    const lost = await client.call(seller.url, {}).catch(error => error)
    expect(lost).toMatchObject({ code: 'network_error', detail: { idempotencyKey: expect.any(String) } })
    expect(codes(await client.call(seller.url, {}))).toEqual([])
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 1 }])
  })
})

it('a stray key beside the sale of one call covers nothing, and locks nobody out', async () => {
  const { client, spent } = market.payer()
  const stray = { 'x-svc-subscription': KEY, 'x-svc-subscription-expires': '2999-01-01T00:00:00Z' }
  const seller = await market.seller((seen, shop) =>
    seen.payment ? shop.sell(seen.payment, stray) : sells(shop, {}),
  )
  await client.call(seller.url, {})
  expect(await client.estimate(seller.url, {})).toMatchObject({ usd: PRICE_USD })
  await client.call(seller.url, {})
  expect(spent()).toBe(2n * PRICE)
})

describe('the key of a window', () => {
  const terms = { subscriptionPeriod: '1h' }
  const sold = { 'x-svc-subscription': KEY }
  const covered: Script = (seen, shop) =>
    seen.headers['x-svc-subscription'] === KEY ? ANSWER : sells(shop, terms)

  const BODIES: [string, (receipt: string) => Answer, string][] = [
    [
      'of more than 16 MiB',
      receipt => ({
        status: 200,
        headers: { ...sold, 'PAYMENT-RESPONSE': receipt },
        body: new Uint8Array(16 * 1024 * 1024 + 1),
      }),
      'call_failed',
    ],
    [
      'that is an error',
      receipt => failure(500, 'handler_error', { ...sold, 'PAYMENT-RESPONSE': receipt }),
      'call_failed',
    ],
    ['that is an error, without a receipt', () => failure(500, 'handler_error', sold), 'call_failed'],
  ]
  it.each(BODIES)('is read from the head of an answer %s', async (_, answer, code) => {
    const { client, spent } = market.payer({ retry: false })
    const seller = await market.seller(async (seen, shop) =>
      seen.payment ? answer(encodeHeader(await shop.settle(seen.payment))) : covered(seen, shop),
    )
    const failed: unknown = await client.call(seller.url, {}).catch(error => error)
    expect(failed).toMatchObject({
      code,
      detail: { charged: 'yes', amount: `${PRICE}`, subscription: { url: seller.url } },
    })
    expect(JSON.stringify(failed)).not.toContain(KEY)
    expect(client.activeSubscriptions).toMatchObject([{ key: KEY }])
    expect((await client.call(seller.url, {})).data).toEqual({ done: true })
    expect(spent()).toBe(PRICE)
  })

  it('is not kept where the seller took nothing', async () => {
    const { client } = market.payer({ retry: false })
    const seller = await market.seller((seen, shop) =>
      seen.payment ? failure(400, 'invalid_input', sold) : covered(seen, shop),
    )
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ detail: { charged: 'no' } })
    expect(client.activeSubscriptions).toEqual([])
  })
})

describe('an address that sells many things, as A2A’s does,', () => {
  const skillIn = (body: string): string => JSON.parse(body).skill
  const PRICES: Record<string, [bigint, object]> = {
    news: [2n * PRICE, { subscriptionPeriod: '1h' }],
    legal: [3n * PRICE, { subscriptionPeriod: '1h' }],
    echo: [PRICE, {}],
  }
  const agent: Script = async ({ payment, headers, body }, shop) => {
    const skill = skillIn(body)
    const [amount, extra] = PRICES[skill]!
    const isWindow = 'subscriptionPeriod' in extra
    if (payment) return shop.sell(payment, isWindow ? { 'x-svc-subscription': `key-of-${skill}` } : {})
    if (headers['x-svc-subscription'] === `key-of-${skill}`) return ANSWER
    const entry = shop.entry({ amount: `${amount}`, extra: { feePayer: market.sandbox.feePayer, ...extra } })
    return quote({ resource: { url: `http://${headers.host}/${skill}` }, accepts: [entry] })
  }
  const ask = (client: SvcClient, url: string, skill: string) => client.call(url, { skill })

  it('keeps the windows of its skills apart, and asks the price of the others', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(agent)
    await client.subscribe(seller.url, { skill: 'news' })
    await client.subscribe(seller.url, { skill: 'legal' })
    await ask(client, seller.url, 'echo')
    expect(spent()).toBe(6n * PRICE)
    for (const skill of ['legal', 'news', 'legal', 'news', 'news']) await ask(client, seller.url, skill)
    expect(spent()).toBe(6n * PRICE)
    expect(await client.estimate(seller.url, { skill: 'news' })).toEqual({ usd: 0, covered: true })
    expect(await client.estimate(seller.url, { skill: 'echo' })).toMatchObject({ usd: PRICE_USD })
    const origin = new URL(seller.url).origin
    expect(client.activeSubscriptions.map(({ url, key }) => [url, key])).toEqual([
      [`${origin}/news`, 'key-of-news'],
      [`${origin}/legal`, 'key-of-legal'],
    ])
  })

  it('takes a key that another process bought, by the address of the skill', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(agent)
    client.useSubscription(`${new URL(seller.url).origin}/legal`, 'key-of-legal', Date.now() + 60_000)
    await ask(client, seller.url, 'legal')
    expect(spent()).toBe(0n)
  })

  it('refuses the key of a skill by a quote for that skill alone', async () => {
    const { client, spent } = market.payer()
    let forgets = false
    const seller = await market.seller((seen, shop) =>
      agent(forgets ? { ...seen, headers: { ...seen.headers, 'x-svc-subscription': '' } } : seen, shop),
    )
    await client.subscribe(seller.url, { skill: 'news' })
    forgets = true
    await ask(client, seller.url, 'echo')
    await expect(ask(client, seller.url, 'news')).rejects.toMatchObject({ code: 'subscription_refused' })
    expect(spent()).toBe(3n * PRICE)
  })
})

it('the same key of two sellers is two keys: what one answers says nothing of the other', async () => {
  const { client, spent } = market.payer()
  const sellers = [0, 1].map(at => {
    const script = windowSeller({ subscriptionPeriod: '1h' }, (_, shop) =>
      at === 0 ? ANSWER : sells(shop, { subscriptionPeriod: '1h' }),
    )
    return market.seller(script)
  })
  const [honest, forgetful] = await Promise.all(sellers)
  for (const seller of [honest!, forgetful!]) await client.subscribe(seller.url, {})
  await expect(client.call(forgetful!.url, {})).rejects.toMatchObject({
    code: 'subscription_refused',
    detail: { url: forgetful!.url },
  })
  expect(await client.estimate(honest!.url, {})).toEqual({ usd: 0, covered: true })
  await client.call(honest!.url, {})
  expect(spent()).toBe(2n * PRICE)
})

it('the key of a window is sent to no other agent of its host, whatever that names as its resource', async () => {
  const { client, spent } = market.payer()
  const seller = await market.seller((seen, shop) => {
    if (seen.payment) return shop.sell(seen.payment, { 'x-svc-subscription': 'key-of-the-good' })
    if (seen.headers['x-svc-subscription']) return ANSWER
    return sells(shop, { subscriptionPeriod: '1h' }, `http://${seen.headers.host}/good/feed`)
  })
  const { origin } = new URL(seller.url)
  await client.subscribe(`${origin}/good/feed`, {})
  await client.call(`${origin}/good/a2a`, {})
  await client.call(`${origin}/evil/a2a`, {})
  const keys = (path: string) =>
    seller.seen.filter(each => each.path === path).map(({ headers }) => headers['x-svc-subscription'])
  expect([keys('/good/a2a'), keys('/evil/a2a')]).toEqual([
    [undefined, 'key-of-the-good'],
    [undefined, undefined],
  ])
  expect(spent()).toBe(2n * PRICE)
})

it('stray keys of many calls at once delay no later call by more than one question', async () => {
  const { client } = market.payer()
  let sold = 0
  const seller = await market.seller((seen, shop) =>
    seen.payment ? shop.sell(seen.payment, { 'x-svc-subscription': `stray-${++sold}` }) : sells(shop, {}),
  )
  await client.callMany(Array.from({ length: 6 }, () => ({ url: seller.url, body: {} })))
  const before = seller.seen.length
  await client.call(seller.url, {})
  expect(seller.seen.length - before).toBe(2)
})

describe('one window is bought by calls at once', () => {
  const answered = (seen: Seen) => seen.payment === undefined && 'x-svc-subscription' in seen.headers
  const four = (url: string) => Array.from({ length: 4 }, () => ({ url, body: {} }))

  it('whose quotes come in one moment', async () => {
    const door = gate()
    const fetchImpl: typeof fetch = async (to, init) => {
      const response = await fetch(to, init)
      if (response.status !== 402) return response
      const text = await response.text()
      door.enter()
      await door.entered(4)
      return new Response(text, response)
    }
    const { client, spent } = market.payer({ fetchImpl })
    const seller = await market.seller(windowSeller({ subscriptionPeriod: '1h' }, () => ANSWER))
    const outcomes = await client.callMany(four(seller.url))
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect([spent(), seller.seen.filter(answered).length]).toEqual([PRICE, 3])
  })

  it('of a seller whose balance they have tried before', async () => {
    const door = gate()
    const script = windowSeller({ subscriptionPeriod: '1h' }, () => ANSWER)
    const seller = await market.seller(async (seen, shop) => {
      const endpoint = `http://${seen.headers.host}/balance`
      if (seen.path === '/balance' && seen.payment)
        return shop.sell(seen.payment, { 'x-svc-balance-key': 'balance-1' })
      if (seen.path === '/balance')
        return quote({ resource: { url: endpoint }, accepts: [shop.entry({ amount: '100000' })] })
      const answer = (await script(seen, shop)) as Extract<Answer, object>
      if (answer.status !== 402) return answer
      if ('x-svc-balance-key' in seen.headers) {
        door.enter()
        await door.entered(4)
      }
      const entry = shop.entry({ extra: { feePayer: market.sandbox.feePayer, subscriptionPeriod: '1h' } })
      return quote({ accepts: [entry], extensions: { 'svc-balance': { info: { endpoint } } } })
    })
    const { client, spent } = market.payer()
    await client.topUp(new URL(seller.url).origin, '$0.1')
    const outcomes = await client.callMany(four(seller.url))
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect([spent(), seller.seen.filter(answered).length]).toEqual([100_000n + PRICE, 3])
  })
})

it('an open window is not overwritten: its calls are used before those of a later one', async () => {
  const { client, spent } = market.payer()
  const seen: (string | undefined)[] = []
  const terms = { subscriptionPeriod: '1h', subscriptionCalls: 2 }
  const script = windowSeller(terms, () => told(0), '1')
  const seller = await market.seller((request, shop) => {
    seen.push(request.headers['x-svc-subscription'])
    return script(request, shop)
  })
  for (let bought = 0; bought < 2; bought++) await client.subscribe(seller.url, {})
  expect(client.activeSubscriptions.map(({ key }) => key)).toEqual([`${KEY}-1`, `${KEY}-2`])
  for (let call = 0; call < 2; call++) await client.call(seller.url, {})
  expect(seen.slice(-2)).toEqual([`${KEY}-1`, `${KEY}-2`])
  expect(spent()).toBe(2n * PRICE)
})

describe('subscribe, at a quote of the specification’s own fields,', () => {
  const silent =
    (headers: Record<string, string>): Script =>
    (seen, shop) => {
      if (seen.headers['x-svc-subscription'] === KEY) return ANSWER
      return seen.payment ? shop.sell(seen.payment, headers) : sells(shop, {})
    }

  it('buys the window, whose end and calls the seller tells', async () => {
    const { client, spent } = market.payer()
    const expires = new Date(Date.now() + 60_000).toISOString()
    const seller = await market.seller(
      silent({ 'x-svc-subscription': KEY, 'x-svc-subscription-expires': expires }),
    )
    const { key, expiresAt } = await client.subscribe(seller.url, {})
    expect([key, expiresAt]).toEqual([KEY, Date.parse(expires)])
    expect(await client.estimate(seller.url, {})).toEqual({ usd: 0, covered: true })
    await client.call(seller.url, {})
    expect(spent()).toBe(PRICE)
  })

  it('says that it was charged where no key came', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(silent({}))
    await expect(client.subscribe(seller.url, {})).rejects.toMatchObject({
      code: 'not_a_subscription',
      detail: { charged: 'yes', amount: `${PRICE}` },
    })
    expect(spent()).toBe(PRICE)
  })

  it('pays nothing where the manifest says that calls are sold one by one', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller((seen, shop) => {
      if (seen.path !== '/.well-known/svc.json') return silent({})(seen, shop)
      const work = { name: 'work', url: `http://${seen.headers.host}/work`, method: 'POST', price: '$0.01' }
      const texts = { name: 'Agent', handle: 'agent', network: 'testnet', payTo: 'A' }
      return { ...ANSWER, body: JSON.stringify({ ...texts, endpoints: [{ ...work, pricing: 'fixed' }] }) }
    })
    await expect(client.subscribe(seller.url, {})).rejects.toMatchObject({
      code: 'not_a_subscription',
      status: 402,
    })
    expect(spent()).toBe(0n)
  })
})

describe('an answer that was lost is asked for with its key, while another window is open:', () => {
  /** A seller of windows of two calls, whose answers are lost while `isLost` says so. */
  async function feed() {
    const endpoint = defineEndpoint({
      name: 'feed',
      subscription: { price: '$0.01', period: '1h', calls: 2 },
      handler: ({ body }) => body,
    })
    const { url, ended } = await open([endpoint], { sandbox: market.sandbox, idempotency: {} })
    const lost = { isLost: false }
    const fetchImpl: typeof fetch = async (to, init) => {
      const response = await fetch(to, init)
      if (lost.isLost && response.ok) throw new Error('cut')
      return response
    }
    const { client, spent } = market.payer({ fetchImpl, retry: false })
    const call = (n: number, idempotencyKey?: string) => client.call(`${url}/feed`, { n }, { idempotencyKey })
    const losing = async (n: number): Promise<string> => {
      lost.isLost = true
      const { detail } = await call(n).catch(error => error)
      lost.isLost = false
      return detail.idempotencyKey
    }
    return {
      call,
      losing,
      client,
      spent,
      ends: () => ended.map(({ final }) => final).filter(final => final !== 'quoted'),
    }
  }

  it('that of the purchase of a window, whose key it brings', async () => {
    const { call, losing, client, spent, ends } = await feed()
    const key = await losing(1)
    await call(2)
    expect(await call(1, key)).toMatchObject({ data: { n: 1 }, replayed: true })
    expect(ends()).toEqual(['settled', 'settled', 'replayed'])
    expect(client.activeSubscriptions).toHaveLength(2)
    expect(spent()).toBe(2n * PRICE)
  })

  it('that of the last call of a window', async () => {
    const { call, losing, client, spent, ends } = await feed()
    await call(1)
    const key = await losing(2)
    await call(3)
    expect(await call(2, key)).toMatchObject({ data: { n: 2 } })
    expect(ends()).toEqual(['settled', 'served', 'settled', 'replayed'])
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 1 }])
    expect(spent()).toBe(2n * PRICE)
  })
})
