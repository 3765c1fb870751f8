/** `client.fetch`: the standard fetch where nothing is asked for, one purchase where something is. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type ClientOptions, SvcClient } from '../../src/client.js'
import { defineEndpoint } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { gate } from '../support/gate.js'
import { OFFICIAL_SERVERS, type Sold } from '../support/official.js'
import { open } from '../support/seller.js'
import {
  distinctPayments,
  failure,
  honest,
  marketForFile,
  PRICE,
  PRICE_USD,
  type Script,
  txIdIn,
} from './market.js'

const market = marketForFile()
const OK = { status: 200, headers: { 'content-type': 'text/plain' }, body: 'free' }
const once = { retry: false } as const

async function official(routes: Readonly<Record<string, Sold>>) {
  const { facilitatorUrl, seller } = market.sandbox
  return closing(await OFFICIAL_SERVERS.hono({ facilitatorUrl, payTo: seller.address, routes }))
}

/** A client whose first paid answers are lost after they were made. */
function losing(count: number, options: ClientOptions = {}, header = 'payment-signature') {
  let left = count
  const fetchImpl: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    if (!new Headers(init?.headers).has(header) || left-- <= 0) return response
    await response.arrayBuffer()
    throw new TypeError('fetch failed')
  }
  return market.payer({ ...once, ...options, fetchImpl })
}

describe('an endpoint that is paid', () => {
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: ({ body }) => ({ did: body }) })

  it('of ours is bought once, and says what was paid', async () => {
    const { sandbox } = market
    const { url } = await open([work], { sandbox })
    const { client, spent } = market.payer()
    const { fetch: pay } = client
    const init = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }
    const response = await pay(`${url}/work`, init)
    const { txId } = sandbox.transactions().at(-1)!
    expect(response).toBeInstanceOf(Response)
    expect([response.status, response.ok, response.url]).toEqual([200, true, `${url}/work`])
    expect(response.payment).toEqual({ txId, amount: '10000', usd: PRICE_USD, asset: '10458941' })
    expect(response.headers.get('payment-response')).not.toBeNull()
    expect(await response.json()).toEqual({ did: { a: 1 } })
    expect([...client.receipts]).toMatchObject([{ txId, charged: 'yes', status: 200 }])
    expect(spent()).toBe(PRICE)
  })

  it.each(['PAYMENT-SIGNATURE', 'X-PAYMENT'])(
    'is not bought where its caller pays by %s: the answer is the seller’s own',
    async name => {
      const { client, spent } = market.payer()
      const seller = await market.seller((_, shop) => shop.challenge(shop.entry()))
      const response = await client.fetch(seller.url, { method: 'POST', headers: { [name]: 'e30=' } })
      expect(response.status).toBe(402)
      expect(seller.seen).toHaveLength(1)
      expect([...client.receipts]).toEqual([])
      expect(spent()).toBe(0n)
    },
  )

  it('of an official server is bought once by GET, POST, PUT and DELETE', async () => {
    const sold: Sold = { price: '$0.01', work: body => ({ body }) }
    const routes = Object.fromEntries(['GET', 'POST', 'PUT', 'DELETE'].map(method => [`${method} /it`, sold]))
    const { url } = await official(routes)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const { client, spent } = market.payer()
      const body = method === 'GET' ? undefined : '{"a":"1"}'
      const response = await client.fetch(`${url}/it?a=1`, { method, body })
      expect([response.status, await response.json()]).toEqual([200, { a: '1' }])
      expect([response.payment?.usd, spent()]).toEqual([PRICE_USD, PRICE])
    }
  })

  it.each([
    ['GET', 'PUT', 'DELETE'],
    ['DELETE', 'GET', 'PUT'],
  ] as const)('of ours is bought by each of its methods: %s, %s and %s', async (...methods) => {
    const it = defineEndpoint({
      name: 'it',
      path: '/it/:id',
      methods,
      price: '$0.01',
      handler: ({ params, body }) => ({ params, body }),
    })
    const { url } = await open([it], { sandbox: market.sandbox })
    for (const method of methods) {
      const { client, spent } = market.payer()
      const body = method === 'GET' ? undefined : '{"n":3}'
      const response = await client.fetch(`${url}/it/7${body ? '' : '?n=3'}`, { method, body })
      const got = { params: { id: '7' }, body: { n: body ? 3 : '3' } }
      expect([response.status, await response.json(), spent()]).toEqual([200, got, PRICE])
    }
  })

  it.each(['ours', 'official'])('of %s streams', async whose => {
    const door = gate()
    async function* parts() {
      yield 'data: one\n\n'
      await door.opened
      yield 'data: two\n\n'
    }
    const body = () => ReadableStream.from(parts()).pipeThrough(new TextEncoderStream())
    const handler = () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
    const tell = defineEndpoint({ name: 'tell', price: '$0.01', stream: true, handler })
    const sold: Sold = { price: '$0.01', work: () => ({ body: body() }) }
    const { url } =
      whose === 'ours'
        ? await open([tell], { sandbox: market.sandbox })
        : await official({ 'POST /tell': sold })
    const { client, spent } = market.payer()
    if (whose === 'official') door.open()
    const response = await client.fetch(`${url}/tell`, { method: 'POST', body: '{}' })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    // The official server reads a stream whole before it settles; ours sends each part when it is made.
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const first = (await reader.read()).value!
    expect([first.slice(0, 11), spent()]).toEqual(['data: one\n\n', PRICE])
    if (whose === 'ours') expect(first).toHaveLength(11)
    door.open()
    let all = first
    for (let read = await reader.read(); !read.done; read = await reader.read()) all += read.value
    expect(all).toBe('data: one\n\ndata: two\n\n')
  })

  it('whose stream breaks tells its reader that it was charged', async () => {
    const handler = () => ReadableStream.from(failing())
    async function* failing() {
      yield 'one'
      throw new Error('as planned')
    }
    const { url } = await open([defineEndpoint({ name: 'tell', price: '$0.01', stream: true, handler })], {
      sandbox: market.sandbox,
    })
    const { client } = market.payer()
    const response = await client.fetch(`${url}/tell`, { method: 'POST' })
    const { txId } = response.payment!
    await expect(response.text()).rejects.toMatchObject({
      code: 'stream_broken',
      detail: { txId, charged: 'yes' },
    })
  })

  it('in a window is paid by the call that buys it', async () => {
    const subscription = { price: '$0.01', period: '1h', calls: 3 }
    const feed = defineEndpoint({ name: 'feed', subscription, handler: () => 'news' })
    const { url } = await open([feed], { sandbox: market.sandbox })
    const { client, spent } = market.payer()
    const answers = []
    for (let n = 0; n < 3; n++) answers.push(await client.fetch(`${url}/feed`, { method: 'POST' }))
    expect(answers.map(({ status, payment }) => [status, payment?.usd])).toEqual([
      [200, PRICE_USD],
      [200, undefined],
      [200, undefined],
    ])
    expect(await answers[2]!.json()).toBe('news')
    expect(spent()).toBe(PRICE)
  })
})

describe('a request', () => {
  const form = new FormData()
  form.set('name', 'a')
  form.set('file', new Blob(['bytes']), 'b.txt')
  const stream = () => ReadableStream.from([Buffer.from('a '), Buffer.from('stream')])
  const bodies: [string, () => RequestInit, RegExp, RegExp | undefined][] = [
    ['text', () => ({ body: 'text' }), /^text$/, /^text\/plain/],
    ['bytes', () => ({ body: new Uint8Array([97, 98]) }), /^ab$/, undefined],
    ['a query', () => ({ body: new URLSearchParams({ a: '1' }) }), /^a=1$/, /urlencoded/],
    ['a form', () => ({ body: form }), /name="file"; filename="b.txt"[\s\S]*bytes/, /^multipart.*boundary/],
    ['a stream', () => ({ body: stream(), duplex: 'half' }) as RequestInit, /^a stream$/, undefined],
  ]

  it.each(bodies)(
    'of %s is sent twice as it is: for the quote, and with the payment',
    async (_, init, text, type) => {
      const seller = await market.seller(honest)
      const { client } = market.payer()
      const response = await client.fetch(seller.url, { method: 'POST', ...init() })
      expect(await response.json()).toEqual({ done: true })
      expect(seller.seen.map(({ body }) => body)).toEqual([expect.stringMatching(text), seller.seen[0]!.body])
      for (const { headers } of seller.seen) {
        if (type) expect(headers['content-type']).toMatch(type)
        else expect(headers).not.toHaveProperty('content-type')
      }
    },
  )

  it('may be a Request', async () => {
    const seller = await market.seller(honest)
    const request = new Request(seller.url, { method: 'PUT', body: 'text', headers: { 'x-own': 'yes' } })
    const { payment } = await market.payer().client.fetch(request)
    expect(payment?.usd).toBe(PRICE_USD)
    const each = { method: 'PUT', body: 'text', headers: expect.objectContaining({ 'x-own': 'yes' }) }
    expect(seller.seen).toMatchObject([each, each])
  })

  it('that is too large to be sent again is not sent at all', async () => {
    const seller = await market.seller(honest)
    const body = ReadableStream.from(Array.from({ length: 17 }, () => new Uint8Array(1024 * 1024)))
    const sent = market
      .payer()
      .client.fetch(seller.url, { method: 'POST', body, duplex: 'half' } as RequestInit)
    await expect(sent).rejects.toMatchObject({ code: 'body_too_large' })
    expect(seller.seen).toEqual([])
  })

  it('has what else its caller set, each time', async () => {
    const seller = await market.seller(honest)
    const fetchImpl = vi.fn(fetch)
    const { client } = market.payer({ fetchImpl })
    await client.fetch(new Request(seller.url, { keepalive: true }), { referrerPolicy: 'no-referrer' })
    const own = { keepalive: true, referrerPolicy: 'no-referrer' }
    expect(fetchImpl.mock.calls.map(([, init]) => init)).toMatchObject([own, own])
  })
})

describe('an answer that is no quote', () => {
  it.each([200, 404, 409, 500, 503])('of %i is returned as it came, and asked for once', async status => {
    const seller = await market.seller(() => ({
      ...OK,
      status,
      headers: { 'x-own': 'yes', 'retry-after': '0' },
    }))
    const response = await market.payer().client.fetch(seller.url, { method: 'POST', body: 'a' })
    expect([response.status, response.headers.get('x-own'), await response.text()]).toEqual([
      status,
      'yes',
      'free',
    ])
    expect(response).not.toHaveProperty('payment')
    expect(seller.seen).toHaveLength(1)
  })

  it('is that of the caller’s own fetch, also for a client without a key', async () => {
    const answer = new Response('own')
    const client = new SvcClient({ network: 'testnet', fetchImpl: async () => answer, maxPrice: '$1' })
    expect(await client.fetch('https://agent.example/')).toBe(answer)
    const data = new SvcClient({ network: 'testnet', maxPrice: '$1' })
    expect(await (await data.fetch('data:text/plain,free')).text()).toBe('free')
  })

  it('may be none: then it throws as fetch does', async () => {
    const seller = await market.seller(() => 'cut')
    await expect(market.payer().client.fetch(seller.url)).rejects.toBeInstanceOf(TypeError)
    await expect(market.payer().client.fetch('no url')).rejects.toBeInstanceOf(TypeError)
    const aborted = market.payer().client.fetch(seller.url, { signal: AbortSignal.abort(new Error('mine')) })
    await expect(aborted).rejects.toMatchObject({ code: 'aborted' })
  })

  it('may be a redirect, which is followed or not, as its caller says', async () => {
    const script: Script = ({ path }) =>
      path === '/work' ? { status: 302, headers: { location: '/there' } } : OK
    const { url } = await market.seller(script)
    const { client } = market.payer()
    const followed = await client.fetch(url)
    expect([followed.redirected, await followed.text()]).toEqual([true, 'free'])
    expect((await client.fetch(url, { redirect: 'manual' })).status).toBe(302)
    await expect(client.fetch(url, { redirect: 'error' })).rejects.toBeInstanceOf(TypeError)
  })
})

describe('a 402 that is not paid', () => {
  it('behind a redirect is returned: its host is not the one that was asked', async () => {
    const other = await market.seller(honest)
    const seller = await market.seller(() => ({ status: 307, headers: { location: other.url } }))
    const { client, spent } = market.payer()
    const response = await client.fetch(seller.url, { method: 'POST', body: new Uint8Array(2) })
    expect([response.status, response.redirected, response.url]).toEqual([402, true, other.url])
    expect([other.paid(), spent()]).toEqual([[], 0n])
  })

  it.each<[string, Script]>([
    ['no x402 quote', () => ({ status: 402, body: 'no money left' })],
    [
      'version 1',
      (_, shop) => ({ status: 402, body: JSON.stringify({ x402Version: 1, accepts: [shop.entry()] }) }),
    ],
    ['another scheme', (_, shop) => shop.challenge(shop.entry({ scheme: 'upto' }))],
    ['another network', (_, shop) => shop.challenge(shop.entry({ network: 'eip155:8453' }))],
  ])('because it has %s, is returned as it came', async (_, script) => {
    const seller = await market.seller(script)
    const keyless = new SvcClient({ network: 'testnet', maxPrice: '$1' })
    for (const client of [market.payer().client, ...(_ === 'no x402 quote' ? [keyless] : [])]) {
      const response = await client.fetch(seller.url)
      expect([response.status, response.payment]).toEqual([402, undefined])
      expect(await response.text()).toBe(await (await fetch(seller.url)).text())
    }
    expect(seller.paid()).toEqual([])
  })

  it('because its body has no end, throws when the time for one answer is over', async () => {
    const { client } = market.payer({
      timeoutMs: 50,
      fetchImpl: async () => new Response(endless, { status: 402 }),
    })
    const endless = new ReadableStream({})
    await expect(client.fetch('https://agent.example/work')).rejects.toThrow('no answer within 50 ms')
  })

  it('because of a cap, a foreign resource or a missing key, throws as call does', async () => {
    const seller = await market.seller(honest)
    const refused = (options: ClientOptions) => expect(market.payer(options).client.fetch(seller.url)).rejects
    await refused({ maxPrice: '$0.001' }).toMatchObject({ code: 'price_above_max' })
    await refused({ maxPerDay: '$0.001' }).toMatchObject({ code: 'daily_cap_reached' })
    const elsewhere = await market.seller((_, shop) => {
      const { headers } = shop.challenge(shop.entry()) as { headers: Record<string, string> }
      const quoted = JSON.parse(Buffer.from(headers['PAYMENT-REQUIRED']!, 'base64').toString())
      const body = JSON.stringify({ ...quoted, resource: { url: 'https://other.example/' } })
      return { status: 402, body }
    })
    const strict = market.payer({ strictResource: true }).client
    await expect(strict.fetch(elsewhere.url)).rejects.toMatchObject({ code: 'resource_elsewhere' })
    const keyless = new SvcClient({ network: 'testnet', maxPrice: '$1' })
    await expect(keyless.fetch(seller.url)).rejects.toMatchObject({ code: 'no_signer' })
    expect([seller.paid(), elsewhere.paid()]).toEqual([[], []])
  })
})

describe('a failure after the payment was sent', () => {
  it.each([400, 500, 999])('of %i that was not charged is an answer, and says so', async status => {
    const seller = await market.seller((seen, shop) =>
      seen.payment ? failure(status, 'no_luck') : shop.challenge(shop.entry()),
    )
    const { client, spent } = market.payer(once)
    const response = await client.fetch(seller.url)
    const txId = txIdIn(seller.paid()[0]!.payment!)
    expect([response.status, response.ok]).toEqual([status, false])
    expect(response.payment).toEqual({ txId, amount: '10000', charged: 'no', lastValid: expect.any(Number) })
    expect(await response.json()).toMatchObject({ error: { code: 'no_luck' } })
    expect(spent()).toBe(0n)
  })

  it('that is another 402 or a redirect throws, so that nobody pays it again', async () => {
    const end: Record<string, unknown> = {
      txId: expect.any(String),
      amount: '10000',
      lastValid: expect.any(Number),
    }
    const quotes = await market.seller((_, shop) => shop.challenge(shop.entry()))
    const refused = market.payer(once).client.fetch(quotes.url)
    await expect(refused).rejects.toMatchObject({
      code: 'call_failed',
      status: 402,
      detail: { ...end, charged: 'no' },
    })
    const moves = await market.seller((seen, shop) =>
      seen.payment ? { status: 302, headers: { location: '/there' } } : shop.challenge(shop.entry()),
    )
    const moved = market.payer(once).client.fetch(moves.url)
    await expect(moved).rejects.toMatchObject({ code: 'call_failed', detail: { ...end, charged: 'maybe' } })
    expect(moves.seen).toHaveLength(2)
  })

  it('is repeated with the same payment and the same key, within the request', async () => {
    let failures = 2
    const seller = await market.seller((seen, shop) =>
      seen.payment && failures-- > 0 ? 'cut' : honest(seen, shop),
    )
    const { client, spent } = market.payer()
    const response = await client.fetch(seller.url, { method: 'POST', body: 'a' })
    expect([response.status, response.attempts]).toEqual([200, 3])
    expect([distinctPayments(seller).size, spent()]).toEqual([1, PRICE])
    expect(new Set(seller.paid().map(({ headers, body }) => headers['idempotency-key'] + body)).size).toBe(1)
  })
})

describe('a payment in doubt', () => {
  const charging = (script: (n: number) => 'cut' | undefined): Script => {
    let paid = 0
    return async (seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      const answer = await shop.sell(seen.payment)
      return script(++paid) ?? answer
    }
  }

  it('throws as call does, and the same request sends it again: never a second one', async () => {
    const seller = await market.seller(charging(() => 'cut'))
    const { client, spent } = market.payer(once)
    const init = (n: number) => ({
      method: 'POST',
      body: 'a',
      headers: { 'x-stainless-retry-count': `${n}` },
    })
    for (let n = 0; n < 3; n++) {
      const error = await client.fetch(seller.url, init(n)).catch(error => error)
      const txId = txIdIn(seller.paid()[0]!.payment!)
      expect(error).toMatchObject({
        code: 'network_error',
        detail: { txId, amount: '10000', charged: 'yes' },
      })
    }
    expect([seller.paid().length, distinctPayments(seller).size, spent()]).toEqual([3, 1, PRICE])
    expect(new Set(seller.paid().map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(client.spentToday).toBe(PRICE_USD)
  })

  it('that landed is not said to be uncharged by a seller who refuses it now', async () => {
    const seller = await market.seller(async (seen, shop) => {
      if (!seen.payment || seen === shop.seen[3]) return shop.challenge(shop.entry())
      return 'cut'
    })
    const { client } = market.payer(once)
    for (let n = 0; n < 2; n++)
      await expect(client.fetch(seller.url)).rejects.toMatchObject({ detail: { charged: 'maybe' } })
    expect([seller.paid().length, distinctPayments(seller).size]).toEqual([2, 1])
  })

  it('is sent for ten minutes, however often the request is repeated within them', async () => {
    const seller = await market.seller(charging(n => (n < 3 ? 'cut' : undefined)))
    const { client } = market.payer(once)
    const startMs = performance.now()
    const clock = vi.spyOn(performance, 'now')
    onTestFinished(() => clock.mockRestore())
    for (const minutes of [0, 6, 11]) {
      clock.mockReturnValue(startMs + minutes * 60_000)
      await client.fetch(seller.url).catch(() => {})
    }
    expect([seller.paid().length, distinctPayments(seller).size]).toEqual([3, 2])
  })

  it('belongs to its request: another body, method or caller pays for itself', async () => {
    const seller = await market.seller(charging(n => (n === 1 ? 'cut' : undefined)))
    const { client, spent } = market.payer(once)
    const init = { method: 'POST', body: 'a', headers: { authorization: 'of one' } }
    await expect(client.fetch(seller.url, init)).rejects.toThrow()
    await client.fetch(seller.url, { ...init, body: 'b' })
    await client.fetch(seller.url, { ...init, method: 'PUT' })
    await client.fetch(seller.url, { ...init, headers: { authorization: 'of another' } })
    expect([distinctPayments(seller).size, spent()]).toEqual([4, 4n * PRICE])
  })

  it('gets the answer that was lost, from a seller of ours', async () => {
    const handler = vi.fn(() => ({ done: true }))
    const { url } = await open([defineEndpoint({ name: 'work', price: '$0.01', handler })], {
      sandbox: market.sandbox,
    })
    const { client, spent } = losing(1)
    const send = () => client.fetch(`${url}/work`, { method: 'POST', body: '{}' })
    const lost = await send().catch(error => error)
    expect(lost).toMatchObject({ code: 'network_error', detail: { charged: 'yes' } })
    const response = await send()
    expect([await response.json(), response.payment?.txId]).toEqual([{ done: true }, lost.detail.txId])
    expect([handler.mock.calls.length, spent()]).toEqual([1, PRICE])
    await send()
    expect([handler.mock.calls.length, spent()]).toEqual([2, 2n * PRICE])
  })

  it('gets the answer to a form, whose boundary is another one each time that it is sent', async () => {
    const handler = vi.fn(() => ({ done: true }))
    const work = defineEndpoint({ name: 'work', price: '$0.01', bodyType: 'bytes', handler })
    const { url } = await open([work], { sandbox: market.sandbox })
    const { client, spent } = losing(1)
    const send = (text: string) => {
      const body = new FormData()
      body.set('file', new Blob([text, Uint8Array.of(0, 129, 255)]), 'a.bin')
      return client.fetch(`${url}/work`, { method: 'POST', body })
    }
    const lost = await send('one').catch(error => error)
    await send('another')
    expect(await send('one')).toMatchObject({ payment: { txId: lost.detail.txId } })
    expect([handler.mock.calls.length, spent()]).toEqual([2, 2n * PRICE])
  })

  it('is none where a window pays: the call is repeated under its key, and counts once', async () => {
    const handler = vi.fn(() => ({ done: true }))
    const subscription = { price: '$0.01', period: '1h', calls: 10 }
    const { url } = await open([defineEndpoint({ name: 'work', subscription, handler })], {
      sandbox: market.sandbox,
      idempotency: { onLostResponse: 'replay' },
    })
    const { client, spent } = losing(1, {}, 'x-svc-subscription')
    const send = () => client.fetch(`${url}/work`, { method: 'POST', body: '{}' })
    await send()
    await expect(send()).rejects.toMatchObject({ code: 'network_error' })
    expect(await (await send()).json()).toEqual({ done: true })
    expect([handler.mock.calls.length, client.activeSubscriptions[0]?.remaining]).toEqual([2, 8])
    await send()
    expect([handler.mock.calls.length, spent()]).toEqual([3, PRICE])
  })

  it('stays one where the caller’s signal fires', async () => {
    const door = gate()
    const seller = await market.seller(async (seen, shop) => {
      const answer = await honest(seen, shop)
      if (!seen.payment || seller.paid().length !== 1) return answer
      door.open()
      return 'silence'
    })
    const { client, spent } = market.payer(once)
    const caller = new AbortController()
    const sent = client.fetch(seller.url, { signal: caller.signal })
    await door.opened
    caller.abort()
    await expect(sent).rejects.toMatchObject({ code: 'aborted', detail: { charged: 'maybe' } })
    await client.fetch(seller.url).catch(() => {})
    expect([distinctPayments(seller).size, spent()]).toEqual([1, PRICE])
  })
})
