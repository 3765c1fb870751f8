/** Streams that are bought: paid as a call is, read as they come, and never taken for whole where they broke. */
import { describe, expect, it } from 'vitest'
import { type ClientOptions, SvcClient } from '../../src/client.js'
import { defineEndpoint, type HandlerContext, type ServeOptions } from '../../src/index.js'
import { gate } from '../support/gate.js'
import { open, type Seller } from '../support/seller.js'
import { failure, honest, marketForFile, PRICE, PRICE_USD, type Script } from './market.js'

const market = marketForFile()

/** A seller of one stream, and one buyer of it. */
async function buying(
  handler: (context: HandlerContext) => unknown,
  { more = {}, serve, client }: { more?: object; serve?: Partial<ServeOptions>; client?: ClientOptions } = {},
) {
  const { sandbox } = market
  const endpoint = defineEndpoint({ name: 'work', price: '$0.01', stream: true, handler, ...more })
  const seller = await open([endpoint], { sandbox, ...serve })
  const earlier = sandbox.balance(sandbox.seller.address).usdc!
  const earned = () => sandbox.balance(sandbox.seller.address).usdc! - earlier
  return { ...market.payer(client), seller, url: `${seller.url}/work`, earned }
}

async function* words() {
  yield 'one'
  yield { two: 2 }
}

/** One item, and no second one until the test opens the door. */
function paused() {
  const door = gate()
  const seen = { signal: undefined as AbortSignal | undefined }
  async function* source({ signal }: HandlerContext) {
    seen.signal = signal
    yield 'one'
    await Promise.race([door.opened, new Promise(resolve => signal.addEventListener('abort', resolve))])
    yield 'two'
  }
  return { door, seen, source }
}

async function* failing() {
  yield 'one'
  throw new Error('as planned')
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** How the paid call ended, once it has: its quote ended before. */
const endedPaid = (seller: Seller) => expect.poll(() => seller.ended.find(({ charged }) => charged === 'yes'))

const textOf = (body: ReadableStream<Uint8Array>) => new Response(body).text()

describe('a stream', () => {
  it('is paid once, and its events are read as they come', async () => {
    const { door, source } = paused()
    const { client, url, spent, earned } = await buying(source)
    const result = await client.stream(url, { about: 'whales' })
    const events = result.events<string>()
    expect(await events.next()).toEqual({ done: false, value: { data: 'one' } })
    const paid = { txId: market.sandbox.transactions().at(-1)!.txId, amount: '10000', usd: PRICE_USD }
    expect(result).toMatchObject({ status: 200, payment: paid, attempts: 1 })
    expect(result.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(result).not.toHaveProperty('warnings')
    expect([...client.receipts]).toMatchObject([{ txId: paid.txId, status: 200, charged: 'yes' }])
    expect(client.spentToday).toBe(PRICE_USD)
    door.open()
    expect(await all(events)).toEqual([{ data: 'two' }])
    expect([spent(), earned()]).toEqual([PRICE, PRICE])
  })

  it('is read as bytes, too', async () => {
    const { client, url, spent } = await buying(words)
    const { body } = await client.stream(url, {})
    expect(await textOf(body)).toBe('data: one\n\ndata: {"two":2}\n\n')
    expect(spent()).toBe(PRICE)
  })

  it('may be larger than any answer that is read whole', async () => {
    const piece = new Uint8Array(1024 * 1024)
    const { client, url } = await buying(async function* () {
      for (let sent = 0; sent < 17; sent++) yield 'x'.repeat(piece.length)
    })
    let length = 0
    for await (const { data } of (await client.stream(url, {})).events<string>()) length += data.length
    expect(length).toBe(17 * piece.length)
  })

  it('without a price is read without a payment', async () => {
    const script: Script = () => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: 'data: 1\n\n',
    })
    const { client, spent } = market.payer()
    const { events, payment } = await client.stream((await market.seller(script)).url)
    expect([await all(events()), payment, spent()]).toEqual([[{ data: 1 }], undefined, 0n])
  })

  it('in a window is paid by the call that buys it', async () => {
    const window = { price: undefined, subscription: { price: '$0.01', period: '1h', calls: 2 } }
    const { client, url, spent } = await buying(words, { more: window })
    const first = await client.stream(url, {})
    expect(await all(first.events())).toHaveLength(2)
    expect(client.activeSubscriptions).toMatchObject([{ url, remaining: 1 }])
    const second = await client.stream(url, {})
    expect(await all(second.events())).toHaveLength(2)
    expect([first.payment?.usd, second.payment, spent()]).toEqual([PRICE_USD, undefined, PRICE])
  })
})

describe('a stream that is not whole', () => {
  it('says so to its reader, with the payment, and is not bought again', async () => {
    const { client, url, seller, spent, earned } = await buying(failing)
    const { events, payment } = await client.stream(url, {})
    const found = events()
    expect(await found.next()).toMatchObject({ value: { data: 'one' } })
    const { txId } = payment!
    const broken = await found.next().catch(error => error)
    expect(broken).toMatchObject({
      name: 'SvcError',
      code: 'stream_broken',
      status: 200,
      detail: { txId, charged: 'yes', payment, cause: expect.any(String) },
    })
    expect(broken.message).toContain(`it was charged $0.01 (payment ${txId}). A seller on @svc/sdk is told`)
    await endedPaid(seller).toMatchObject({ streamBroken: true })
    expect([spent(), earned(), seller.ended.filter(({ charged }) => charged === 'yes').length]).toEqual([
      PRICE,
      PRICE,
      1,
    ])
  })

  it('that stops short of its announced length says so', async () => {
    const script: Script = async (seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      await shop.settle(seen.payment)
      return 'torn'
    }
    const { client, spent } = market.payer()
    const { body } = await client.stream((await market.seller(script)).url, {})
    await expect(textOf(body)).rejects.toMatchObject({ code: 'stream_broken', detail: { charged: 'yes' } })
    expect(spent()).toBe(PRICE)
  })

  it('because its seller falls silent says so', async () => {
    const { source } = paused()
    const { client, url, seller } = await buying(source)
    const { events } = await client.stream(url, {}, { idleTimeoutMs: 500 })
    await expect(all(events())).rejects.toMatchObject({ code: 'stream_broken' })
    await endedPaid(seller).toMatchObject({ streamBroken: true })
  })

  it('because of the caller’s signal ends at the seller, and stays paid', async () => {
    const { source, seen } = paused()
    const caller = new AbortController()
    const { client, url, seller, spent } = await buying(source)
    const { events, payment } = await client.stream(url, {}, { signal: caller.signal })
    const found = events()
    await found.next()
    caller.abort()
    const { txId } = payment!
    await expect(found.next()).rejects.toMatchObject({
      code: 'aborted',
      detail: { txId, charged: 'yes', payment },
    })
    await endedPaid(seller).toMatchObject({ streamBroken: true })
    expect(seen.signal!.aborted).toBe(true)
    expect(spent()).toBe(PRICE)
  })

  it('because its reader leaves ends at the seller', async () => {
    const { source } = paused()
    const { client, url, seller } = await buying(source)
    for await (const _ of (await client.stream(url, {})).events()) break
    await endedPaid(seller).toMatchObject({ streamBroken: true })
  })
})

describe('a failure is what `call` throws:', () => {
  const cases: [string, Script, object][] = [
    [
      'an error before any payment',
      () => failure(400, 'invalid_input'),
      { code: 'call_failed', status: 400 },
    ],
    [
      'a refused payment',
      (_, shop) => shop.challenge(shop.entry()),
      { code: 'call_failed', status: 402, detail: { charged: 'no' } },
    ],
    [
      'an error after the payment',
      (seen, shop) => (seen.payment ? failure(500, 'internal_error') : shop.challenge(shop.entry())),
      { code: 'call_failed', status: 500, detail: { charged: 'no', reason: 'It is internal_error' } },
    ],
    [
      'no head of an answer',
      (seen, shop) => (seen.payment ? 'cut' : shop.challenge(shop.entry())),
      { code: 'network_error', detail: { charged: 'maybe' } },
    ],
  ]
  it.each(cases)('%s', async (_, script, expected) => {
    const outcomes: unknown[] = []
    for (const way of ['call', 'stream'] as const) {
      const { client, spent } = market.payer()
      const { url } = await market.seller(script)
      const error = await client[way](url, {}).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject(expected)
      // A payment has its own, and the rounds go on meanwhile.
      const own = { txId: '', lastValid: 0 }
      outcomes.push({ ...(error as object), detail: { ...(error as { detail: object }).detail, ...own } })
      expect(spent()).toBe(0n)
    }
    expect(outcomes[1]).toEqual(outcomes[0])
  })

  it('a price above the caps, with nothing paid', async () => {
    const { client, url, spent } = await buying(words, { client: { maxPrice: '$0.001' } })
    await expect(client.stream(url, {})).rejects.toMatchObject({ code: 'price_above_max' })
    const { client: spare, url: other } = await buying(words, { client: { maxPerDay: '$0.015' } })
    await (await spare.stream(other, {})).body.cancel()
    await expect(spare.stream(other, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect([spent(), spare.spentToday]).toEqual([0n, PRICE_USD])
  })

  it('no key, and options that are none', async () => {
    const { url } = await market.seller(honest)
    const client = new SvcClient({ network: 'testnet' })
    await expect(client.stream(url)).rejects.toMatchObject({ code: 'no_signer' })
    for (const idleTimeoutMs of [0, -1, Number.NaN, 2 ** 31]) {
      await expect(client.stream(url, {}, { idleTimeoutMs })).rejects.toMatchObject({
        code: 'invalid_options',
      })
    }
  })
})

describe('a head that is lost', () => {
  it('is asked for again with the same payment', async () => {
    let cuts = 0
    const script: Script = (seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      return cuts++ === 0 ? 'cut' : shop.sell(seen.payment, { 'content-type': 'text/event-stream' })
    }
    const seller = await market.seller(script)
    const { client, spent } = market.payer()
    const { attempts, body } = await client.stream(seller.url, {})
    expect([attempts, new Set(seller.paid().map(({ payment }) => payment)).size]).toEqual([2, 1])
    await textOf(body)
    expect(spent()).toBe(PRICE)
  })
})

describe('a key', () => {
  const idempotencyKey = 'a-random-key-that-no-stranger-guesses'

  it('gets a whole stream again, for nothing', async () => {
    const { client, url, seller, spent } = await buying(words, { serve: { idempotency: {} } })
    const first = await client.stream(url, {}, { idempotencyKey })
    const events = await all(first.events())
    await endedPaid(seller).toBeDefined()
    const again = await client.stream(url, {}, { idempotencyKey })
    expect(again).toMatchObject({ replayed: true, payment: { txId: first.payment!.txId } })
    expect(await all(again.events())).toEqual(events)
    expect(spent()).toBe(PRICE)
  })

  it('gets no part of one that broke', async () => {
    const serve = { idempotency: { onLostResponse: 'replay' as const } }
    const { client, url, seller, spent } = await buying(failing, { serve })
    const { body } = await client.stream(url, {}, { idempotencyKey })
    await expect(textOf(body)).rejects.toMatchObject({ code: 'stream_broken', detail: { idempotencyKey } })
    await endedPaid(seller).toBeDefined()
    await expect(client.stream(url, {}, { idempotencyKey })).rejects.toMatchObject({
      status: 409,
      detail: { body: { error: { code: 'answer_not_kept' } } },
    })
    expect(spent()).toBe(PRICE)
  })
})

describe('an answer that is no stream of events', () => {
  it('is handed over, and is asked for events in vain', async () => {
    const { client, url } = await buying(() => ({ plain: true }))
    const { events, body, payment } = await client.stream(url, {})
    expect(() => events()).toThrow(
      expect.objectContaining({
        code: 'not_an_event_stream',
        detail: { txId: payment!.txId, charged: 'yes', payment },
      }),
    )
    expect(JSON.parse(await textOf(body))).toEqual({ plain: true })
  })

  it('may have no body at all', async () => {
    const { client } = market.payer()
    const { url } = await market.seller(() => ({ status: 204 }))
    const { status, body } = await client.stream(url)
    expect([status, await textOf(body)]).toEqual([204, ''])
  })
})
