/** Balances as a buyer has them, at a real seller: what moved on the chain, what calls took, what processes share. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { memorySpendLedger } from '../../src/adapters/memory/spend-ledger.js'
import { type ClientOptions, SvcClient } from '../../src/client.js'
import { decodeHeader, encodeHeader } from '../../src/domain/x402.js'
import { defineEndpoint, type EndpointDef, type HandlerContext } from '../../src/index.js'
import { gate } from '../support/gate.js'
import { ask, challengeIn, open, type Seller } from '../support/seller.js'

const BALANCE = { amounts: ['$1', '$0.02', '$0.05'], period: '1h' }

const priced = (name: string, price: string, more: object = {}) =>
  defineEndpoint({
    name,
    price,
    handler: ({ body, charge }: HandlerContext) => {
      const { costs } = (body ?? {}) as { costs?: string }
      if (costs !== undefined) charge(costs)
      return { name, costs }
    },
    ...more,
  })

interface Challenge {
  readonly extensions: { readonly 'svc-balance': { readonly info: { price: unknown } } }
}

const work = priced('work', '$0.01')

const shop = (endpoints: readonly EndpointDef[] = [work], options = {}) =>
  open(endpoints, { ...options, about: { balance: BALANCE } })

let payers = 0
function buyer({ sandbox, url }: Seller, options: ClientOptions = {}) {
  const { address, mnemonic } = sandbox.accounts(`balance buyer ${++payers}`)
  const before = sandbox.balance(address).usdc!
  const make = (own: ClientOptions = options) =>
    new SvcClient({
      mnemonic,
      network: 'testnet',
      algodUrl: sandbox.algodUrl,
      maxPerDay: '$10',
      retry: { attempts: 3, baseMs: 1, maxMs: 4 },
      ...own,
    })
  const client = make()
  const call = (body: object = {}, at = 'work', more = {}) => client.call(`${url}/${at}`, body, more)
  return { client, make, call, spent: () => before - sandbox.balance(address).usdc! }
}

describe('a balance that is held', () => {
  it('pays for the calls of its agent, each for what it cost; money moves and counts once, where it is bought', async () => {
    const seller = await shop([work, priced('other', '$0.002')])
    const { client, call, spent } = buyer(seller, { maxPrice: '$0.01' })
    // Its amount is its own limit.
    const bought = await client.topUp(seller.url, '$0.02')
    expect(bought).toMatchObject({ agent: seller.url, left: '20000', usd: 0.02, status: 200 })
    expect(bought.expiresAt! - Date.now()).toBeGreaterThan(3_500_000)
    expect(bought.payment).toMatchObject({ amount: '20000' })
    expect(spent()).toBe(20_000n)
    const first = await call({ costs: '$0.0031' })
    expect(first).toMatchObject({ status: 200, charged: '3100', left: '16900' })
    expect(first.payment).toBeUndefined()
    expect(first.warnings).toBeUndefined()
    expect(first.receipt).toEqual({
      balance: expect.stringMatching(/^[\w-]{43}$/),
      call: seller.ended.at(-1)!.traceId,
      charged: '3100',
      left: '16900',
    })
    expect(await call({}, 'other')).toMatchObject({ charged: '2000', left: '14900' })
    expect(await call()).toMatchObject({ charged: '10000', left: '4900' })
    // Too small now: the call pays for itself.
    expect((await call()).payment).toMatchObject({ amount: '10000' })
    expect(spent()).toBe(30_000n)
    expect(client.spentToday).toBe(0.03)
    expect(await client.balances()).toEqual([
      { agent: seller.url, left: '4900', usd: 0.0049, expiresAt: bought.expiresAt },
    ])
  })

  it('is asked for its price once an endpoint, and sent without a quote afterwards', async () => {
    const seller = await shop()
    const { client, call } = buyer(seller)
    await client.topUp(seller.url, '$1')
    const before = seller.ended.length
    await call()
    await call()
    expect(seller.ended.slice(before).map(({ final }) => final)).toEqual(['quoted', 'counted', 'counted'])
  })

  it('is in no inspection, text or result', async () => {
    const seller = await shop()
    const { client, call } = buyer(seller)
    const shown = [await client.topUp(seller.url, '$1'), await call(), client, await client.balances()]
    for (const each of shown) {
      const text = inspect(each, { depth: 20, showHidden: true }) + JSON.stringify(each)
      expect(text).not.toMatch(/svc_\w/)
    }
  })

  it('takes no more than maxPrice: a dearer call is refused and nothing is taken', async () => {
    const seller = await shop([priced('dear', '$0.015')])
    const { client, call, spent } = buyer(seller, { maxPrice: '$0.01' })
    await client.topUp(seller.url, '$0.02')
    await expect(call({}, 'dear')).rejects.toMatchObject({ code: 'price_above_max' })
    await expect(call({}, 'dear', { maxPrice: '$0.5' })).rejects.toMatchObject({ code: 'price_above_max' })
    expect(spent()).toBe(20_000n)
    expect((await client.balances())[0]!.left).toBe('20000')
  })

  it('follows a price that rises with the body, up to the quote', async () => {
    const price = ({ body }: { body: { n?: number } }) => `$0.00${body.n ?? 1}`
    const seller = await shop([priced('grow', price as never)])
    const { client, call, spent } = buyer(seller)
    await client.topUp(seller.url, '$0.05')
    expect(await call({ n: 2 }, 'grow')).toMatchObject({ charged: '2000' })
    expect(await call({ n: 7 }, 'grow')).toMatchObject({ charged: '7000' })
    expect(await call({ n: 1 }, 'grow')).toMatchObject({ charged: '1000' })
    expect(spent()).toBe(50_000n)
  })

  it('is not for endpoints that refuse it, and the only way to pay for those that take nothing else', async () => {
    const seller = await shop([
      priced('refuses', '$0.01', { balance: false }),
      priced('insists', '$0.01', { only: 'balance' }),
    ])
    const { client, call, spent } = buyer(seller)
    await expect(call({}, 'insists')).rejects.toMatchObject({ code: 'balance_required' })
    expect(spent()).toBe(0n)
    await client.topUp(seller.url, '$0.05')
    expect((await call({}, 'refuses')).payment).toMatchObject({ amount: '10000' })
    expect(await call({}, 'insists', { maxPrice: '$0.01' })).toMatchObject({
      charged: '10000',
      left: '40000',
    })
    expect(await call({}, 'insists')).toMatchObject({ charged: '10000' })
  })

  describe('of an endpoint that takes nothing else', () => {
    const insists = priced(
      'insists',
      (({ body }: { body: { n?: number } }) => `$0.0${body.n ?? 1}`) as never,
      { only: 'balance' },
    )

    it('takes at most the price of the call, and not of the balance that is quoted', async () => {
      const seller = await shop([insists])
      const { client, call } = buyer(seller)
      await client.topUp(seller.url, '$1')
      const greedy = call({ costs: '$0.011' }, 'insists')
      await expect(greedy).rejects.toMatchObject({ code: 'call_failed', status: 500 })
      expect(await call({ n: 3 }, 'insists')).toMatchObject({ charged: '30000', left: '970000' })
    })

    it('is refused above maxPrice, also where the balance would be below it', async () => {
      const seller = await shop([insists])
      const { client, call, spent } = buyer(seller, { maxPrice: '$0.025' })
      for (let held = 0; held < 2; held++) {
        await expect(call({ n: 3 }, 'insists')).rejects.toMatchObject({
          code: 'price_above_max',
          message: expect.stringContaining('costs $0.03, the limit is $0.025'),
        })
        await client.topUp(seller.url, '$0.05')
      }
      expect(await call({ n: 2 }, 'insists')).toMatchObject({ charged: '20000' })
      expect(spent()).toBe(100_000n)
    })

    it('is never bought by a call alone; the refusal says the price and what to do', async () => {
      const seller = await shop([insists])
      const topUp = { below: '$0.01', amount: '$1' }
      for (const options of [{}, { topUp }]) {
        const { call, spent } = buyer(seller, options)
        await expect(call({ n: 3 }, 'insists')).rejects.toMatchObject({
          code: 'balance_required',
          status: 402,
          message: expect.stringMatching(
            /costs \$0\.03: .*topUp\('http.*', …\), from \$0\.02; nothing was paid/,
          ),
        })
        expect(spent()).toBe(0n)
      }
    })

    it('is not called where the quote has no price of the call', async () => {
      const seller = await shop([insists])
      const { client, make } = buyer(seller)
      await client.topUp(seller.url, '$1')
      const answered = await fetch(`${seller.url}/insists`, { method: 'POST' })
      const quote = decodeHeader(answered.headers.get('payment-required')!) as never as Challenge
      for (const price of [undefined, '0', '-1', '1e3', 7]) {
        quote.extensions['svc-balance'].info.price = price
        const headers = { 'payment-required': encodeHeader(quote) }
        const fetchImpl = async () => new Response('{}', { status: 402, headers })
        const refused = await make({ fetchImpl })
          .call(`${seller.url}/insists`, {})
          .catch(error => error)
        expect(refused).toMatchObject({ code: 'unreadable_quote' })
      }
    })
  })

  it('is what an estimate says: the most that the call may take, or what is missing', async () => {
    const only = priced('only', '$0.015', { only: 'balance' })
    const seller = await shop([work, only])
    const { client, make } = buyer(seller, { maxPrice: '$0.01' })
    const free = make({})
    expect(await client.estimate(`${seller.url}/work`, {})).toMatchObject({ usd: 0.01 })
    expect(await free.estimate(`${seller.url}/only`, {})).toMatchObject({
      usd: 0.015,
      refusal: { code: 'balance_required' },
    })
    await client.topUp(seller.url, '$0.02')
    await free.topUp(seller.url, '$0.02')
    const held = await client.estimate(`${seller.url}/work`, {})
    expect(held).toMatchObject({ usd: 0.01, onBalance: true })
    expect(held.refusal).toBeUndefined()
    expect(await client.estimate(`${seller.url}/only`, {})).toMatchObject({
      usd: 0.015,
      refusal: { code: 'price_above_max' },
    })
    expect(await free.estimate(`${seller.url}/only`, {})).toMatchObject({ usd: 0.015, onBalance: true })
    await free.call(`${seller.url}/only`, {})
    const short = await free.estimate(`${seller.url}/only`, {})
    expect(short).toMatchObject({ usd: 0.015, refusal: { code: 'balance_required' } })
    expect(short.onBalance).toBeUndefined()
    const pays = await free.estimate(`${seller.url}/work`, {})
    expect([pays.usd, pays.onBalance]).toEqual([0.01, undefined])
  })

  it('is used by fetch and stream, too', async () => {
    const seller = await shop()
    const { client, spent } = buyer(seller)
    await client.topUp(seller.url, '$0.05')
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    const response = await client.fetch(`${seller.url}/work`, init)
    expect(await response.json()).toMatchObject({ name: 'work' })
    expect(response).toMatchObject({ charged: '10000', left: '40000' })
    const stream = await client.stream(`${seller.url}/work`, {})
    expect(stream).toMatchObject({ charged: '10000', left: '30000' })
    await stream.body.cancel()
    expect(spent()).toBe(50_000n)
  })

  describe('by a stream', () => {
    const told = defineEndpoint({
      name: 'told',
      price: '$0.01',
      stream: true,
      async *handler({ body, charge }: HandlerContext) {
        const { words = 3, breaks, lies } = body as { words?: number; breaks?: boolean; lies?: boolean }
        for (let word = 1; word <= words; word++) {
          charge(`$0.00${word}`)
          yield { word }
        }
        if (breaks) throw new Error('the model went away')
        try {
          if (lies) charge('$9')
        } catch {
          // The stream ends well, and costs nothing.
        }
      },
    })
    const held = async () => {
      const seller = await shop([told])
      const { client } = buyer(seller)
      await client.topUp(seller.url, '$0.02')
      const stream = (body: object) => client.stream(`${seller.url}/told`, body)
      const ended = () => seller.ended.filter(({ path }) => path.includes('serving.measured'))
      return { seller, client, stream, ended }
    }
    const read = async (events: AsyncIterable<{ data: unknown }>) => {
      const all = []
      for await (const { data } of events) all.push(data)
      return all
    }

    it('costs what its handler said last, which its buyer has at its end', async () => {
      const { seller, client, stream, ended } = await held()
      const { events, charged, cost } = await stream({ words: 4 })
      expect(charged).toBeUndefined()
      expect(await read(events())).toHaveLength(4)
      expect(await cost()).toEqual({ charged: '4000', left: '16000' })
      expect((await cost()).charged).toBe('4000')
      // Read whole by `call`, its cost is there at once.
      const whole = await client.call<string>(`${seller.url}/told`, { words: 2 })
      expect(whole).toMatchObject({ charged: '2000', left: '14000' })
      expect(whole.data.match(/data:/g)).toHaveLength(2)
      expect(ended()).toHaveLength(2)
      const key = { idempotencyKey: 'one-stream-and-its-two-readers-of-32' }
      const first = await client.call(`${seller.url}/told`, { words: 1 }, key)
      const again = await client.stream(`${seller.url}/told`, { words: 1 }, key)
      expect([first.charged, again.charged, (await again.cost()).charged]).toEqual(['1000', '1000', '1000'])
      expect((await client.balances())[0]!.left).toBe('13000')
    })

    it('tells the ledger what it cost, for the processes that come after', async () => {
      const { seller } = await held()
      const ledger = memorySpendLedger()
      const { client, make } = buyer(seller, { ledger })
      await client.topUp(seller.url, '$0.02')
      const { events, cost } = await client.stream(`${seller.url}/told`, { words: 4 })
      await read(events())
      await cost()
      await expect.poll(async () => (await make({ ledger }).balances())[0]?.left).toBe('16000')
    })

    it('costs what was said by then where its buyer leaves it, and nothing where it breaks or its seller lies', async () => {
      const { stream, ended } = await held()
      const left = await stream({ words: 9 })
      for await (const _ of left.events()) break
      expect(Number((await left.cost()).charged)).toBeGreaterThan(0)
      const broken = await stream({ breaks: true })
      await expect(read(broken.events())).rejects.toMatchObject({ code: 'stream_broken' })
      expect(await broken.cost()).toMatchObject({ charged: '0', left: expect.any(String) })
      const lied = await stream({ lies: true })
      expect(await read(lied.events())).toHaveLength(3)
      expect((await lied.cost()).charged).toBe('0')
      // No question ran a handler.
      expect(ended()).toHaveLength(3)
    })
  })

  it('does not pay for what another process with its ledger paid for by itself; for what failed there it does', async () => {
    let runs = 0
    const count = priced('count', '$0.01', {
      handler: ({ body }: HandlerContext) => {
        runs++
        if ((body as { fails?: boolean }).fails && runs < 3)
          throw Object.assign(new Error('no'), { expose: true, status: 422 })
        return { runs }
      },
    })
    const seller = await shop([count], { idempotency: {} })
    const ledger = memorySpendLedger()
    const { make, spent } = buyer(seller, { ledger })
    const paid = { idempotencyKey: 'order-17' }
    const failed = { idempotencyKey: 'order-18' }
    const ask = (client: SvcClient, body: object, options: object) =>
      client.call(`${seller.url}/count`, body, options)
    expect((await ask(make(), {}, paid)).payment).toMatchObject({ amount: '10000' })
    await expect(ask(make(), { fails: true }, failed)).rejects.toMatchObject({ detail: { charged: 'no' } })
    await make().topUp(seller.url, '$0.02')
    const again = await ask(make(), {}, paid)
    expect([again.data, again.replayed, again.charged]).toEqual([{ runs: 1 }, true, undefined])
    expect(await ask(make(), { fails: true }, failed)).toMatchObject({ data: { runs: 3 }, charged: '10000' })
    expect(spent()).toBe(30_000n)
    expect(await make().balances()).toMatchObject([{ left: '10000' }])
  })

  it('pays for what was refused before it was paid for by itself, under a key of the caller’s own', async () => {
    const seller = await shop()
    const ledger = memorySpendLedger()
    const { make, spent } = buyer(seller, { ledger })
    const order = { idempotencyKey: 'order-19' }
    const poor = make({ ledger, maxPerDay: '$0.005' })
    const refused = expect(poor.call(`${seller.url}/work`, {}, order)).rejects
    await refused.toMatchObject({ code: 'daily_cap_reached' })
    await make().topUp(seller.url, '$0.02')
    expect(await make().call(`${seller.url}/work`, {}, order)).toMatchObject({ charged: '10000' })
    expect(spent()).toBe(20_000n)
  })

  it('costs nothing where the call fails', async () => {
    const seller = await shop([
      priced('fails', '$0.01', {
        handler: () => {
          throw Object.assign(new Error('no'), { expose: true, status: 422 })
        },
      }),
    ])
    const { client, call, spent } = buyer(seller)
    await client.topUp(seller.url, '$0.02')
    const failed = await call({}, 'fails').catch(error => error)
    expect(failed.code).toBe('call_failed')
    expect(failed.detail.charged).toBeUndefined()
    expect(spent()).toBe(20_000n)
  })
})

describe('two balances', () => {
  it('that others used up tells of a call in doubt that it took nothing: the call is paid for in another way', async () => {
    const door = gate()
    const waits = priced('waits', '$0.01', {
      async handler({ signal, body }: HandlerContext) {
        if ((body as { at?: string }).at === undefined) return {}
        door.enter()
        const left = new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error('left'))),
        )
        await Promise.race([door.opened, left])
        return {}
      },
    })
    const seller = await shop([waits])
    const { client, call, spent } = buyer(seller)
    await client.topUp(seller.url, '$0.02')
    await call({}, 'waits')
    const stop = new AbortController()
    const body = { at: 'door' }
    const ended = call(body, 'waits', { signal: stop.signal }).catch(error => error)
    await door.entered()
    const next = seller.nextEnded()
    stop.abort()
    const { detail } = await ended
    expect(detail).toMatchObject({ charged: 'maybe', idempotencyKey: expect.any(String) })
    expect((await next).final).toBe('abandoned')
    expect(await call({}, 'waits')).toMatchObject({ charged: '10000', left: '0' })
    door.open()
    const again = await call(body, 'waits', { idempotencyKey: detail.idempotencyKey })
    expect(again.payment).toMatchObject({ amount: '10000' })
    expect(spent()).toBe(30_000n)
  })

  it('says of an answer that is not kept that it was charged, and is in doubt no more', async () => {
    const told = priced('told', '$0.01', {
      stream: true,
      async *handler({ signal }: HandlerContext) {
        yield { n: 1 }
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('left'))))
      },
    })
    const seller = await shop([told])
    const { client, call, spent } = buyer(seller)
    await client.topUp(seller.url, '$0.02')
    const idempotencyKey = 'of-a-stream-that-its-reader-has-left'
    const { events, cost } = await client.stream(`${seller.url}/told`, {}, { idempotencyKey })
    for await (const _ of events()) break
    expect((await cost()).charged).toBe('10000')
    await expect(call({}, 'told', { idempotencyKey })).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/; it was charged to the balance, says the seller$/),
      detail: { charged: 'yes' },
    })
    expect(spent()).toBe(20_000n)
  })

  it('are taken from in the order in which they end, and a small one that is not enough is passed over', async () => {
    const seller = await shop()
    const { client, call, spent } = buyer(seller)
    await client.topUp(seller.url, '$0.02')
    await client.topUp(seller.url, '$0.05')
    await call({ costs: '$0.015' }).catch(() => {})
    for (let calls = 0; calls < 6; calls++) await call()
    expect((await client.balances()).map(({ left }) => left).sort()).toEqual(['0', '10000'])
    expect(spent()).toBe(70_000n)
  })
})

describe('topUp', () => {
  it('buys again before too little is left, at most what a day allows', async () => {
    const seller = await shop()
    const options = { maxPerDay: '$0.07', topUp: { below: '$0.01', amount: '$0.02' } }
    const { client, call, spent } = buyer(seller, options)
    await expect(call()).resolves.toMatchObject({ payment: { amount: '10000' } })
    await client.topUp(seller.url, '$0.02')
    for (let calls = 0; calls < 6; calls++) expect((await call()).charged).toBe('10000')
    // $0.01 + three balances of $0.02: there is no room for a fourth, and none for a payment.
    expect(spent()).toBe(70_000n)
    await expect(call()).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(spent()).toBe(70_000n)
  })

  it('needs a daily limit', () => {
    const topUp = { below: '$0.01', amount: '$0.02' }
    expect(() => new SvcClient({ topUp })).toThrow(expect.objectContaining({ code: 'invalid_options' }))
  })

  it('is one purchase for all calls and processes that find too little at once', async () => {
    const seller = await shop()
    const ledger = memorySpendLedger()
    const options = { ledger, topUp: { below: '$0.01', amount: '$1' } }
    const { client, make, call, spent } = buyer(seller, options)
    await client.topUp(seller.url, '$0.02')
    await call()
    await call()
    const others = [make(), make(), make()]
    const calls = [client, ...others].flatMap(each =>
      Array.from({ length: 5 }, () => each.call(`${seller.url}/work`, {})),
    )
    const results = await Promise.all(calls)
    expect(results.map(({ charged }) => charged)).toEqual(Array(20).fill('10000'))
    expect(spent()).toBe(1_020_000n)
    expect((await make().balances()).map(({ left }) => left)).toHaveLength(2)
  })

  describe('while calls hold what they may give back', () => {
    const TOP_UP = { below: '$0.01', amount: '$0.05' }
    /** Each call may take $0.02, and takes $0.001; a stream has an event first. All wait at the door. */
    const held = async () => {
      const door = gate()
      const costs = { name: 'metered', price: '$0.02' }
      const metered = priced('metered', '$0.02', {
        async handler({ charge }: HandlerContext) {
          door.enter()
          await door.opened
          charge('$0.001')
          return {}
        },
      })
      const streamed = defineEndpoint({
        ...costs,
        name: 'streamed',
        stream: true,
        async *handler({ charge }: HandlerContext) {
          charge('$0.001')
          yield { n: 1 }
          door.enter()
          await door.opened
          yield { n: 2 }
        },
      })
      const seller = await shop([work, metered, streamed])
      /** Quotes and refusals: each call of a client that has no quote yet asks for one. */
      const quoted = async (count: number) => {
        while (seller.ended.filter(({ final }) => final === 'quoted').length < count) await seller.nextEnded()
      }
      return { seller, door, quoted, at: (name: string) => `${seller.url}/${name}` }
    }
    const read = async ({ events }: { events(): AsyncIterable<unknown> }) => {
      let count = 0
      for await (const _ of events()) count++
      return count
    }

    it('is not done, and nothing is paid beside', async () => {
      const { seller, door, quoted, at } = await held()
      const { client, call, spent } = buyer(seller, { topUp: TOP_UP })
      await client.topUp(seller.url, '$0.05')
      await call()
      const calls = client.callMany(Array.from({ length: 5 }, () => ({ url: at('metered'), body: {} })))
      await door.entered(2)
      await quoted(1 + 5 + 3)
      door.open()
      const charged = (await calls).map(outcome => outcome.ok && outcome.result.charged)
      expect([charged, spent()]).toEqual([Array(5).fill('1000'), 50_000n])
    })

    it('is not done for streams, each of which holds its price until it has been read', async () => {
      const { seller, door, quoted, at } = await held()
      const { client, call, spent } = buyer(seller, { topUp: TOP_UP })
      await client.topUp(seller.url, '$0.05')
      await call()
      const reads = Array.from({ length: 5 }, async () => read(await client.stream(at('streamed'), {})))
      await door.entered(2)
      // Each of the three that wait is refused once more.
      await quoted(1 + 5 + 3 + 3)
      door.open()
      expect([await Promise.all(reads), spent()]).toEqual([Array(5).fill(2), 50_000n])
    })

    it('is not done for what other processes with this ledger hold', async () => {
      const { seller, door, quoted, at } = await held()
      const ledger = memorySpendLedger()
      const { client, make, spent } = buyer(seller, { ledger, topUp: TOP_UP })
      await client.topUp(seller.url, '$0.05')
      const first = [1, 2].map(() => client.call(at('metered'), {}))
      await door.entered(2)
      const others = [1, 2].map(() => make().call(at('metered'), {}))
      await quoted(2 + 2 + 2)
      door.open()
      const results = await Promise.all([...first, ...others])
      expect([results.map(({ charged }) => charged), spent()]).toEqual([Array(4).fill('1000'), 50_000n])
    })

    it.each([
      ['buys', { topUp: TOP_UP }, { charged: '10000' }],
      ['pays by itself', {}, { payment: { amount: '10000' } }],
    ])(
      'a call in the loop of the stream that holds it waits for no end of that, and %s',
      async (_, options, paid) => {
        const { seller, door, at } = await held()
        const { client, call, spent } = buyer(seller, options)
        await client.topUp(seller.url, '$0.02')
        const { events } = await client.stream(at('streamed'), {})
        const results: unknown[] = []
        for await (const _ of events()) {
          results.push(await call())
          door.open()
        }
        expect(results).toMatchObject([paid, paid])
        const before = spent()
        expect([(await call()).charged, spent()]).toEqual(['10000', before])
      },
    )
  })

  it.each(['$0.2', '$0.20'])(
    'knows %s by either spelling, as its seller, its quote and its limits do',
    async spelt => {
      const about = { balance: { amounts: [spelt], period: '1h' } }
      for (const asked of ['$0.2', '$0.20', '0.2']) {
        const seller = await open([work], { about })
        const limits = { maxPerDay: asked, topUp: { below: asked, amount: asked } }
        const { client, spent } = buyer(seller, limits)
        expect(await client.topUp(seller.url, asked)).toMatchObject({ left: '200000', usd: 0.2 })
        expect(spent()).toBe(200_000n)
        const body = { amount: asked }
        const quoted = await ask(`${seller.url}/balance`, { body })
        if (asked.startsWith('$')) expect(challengeIn(quoted).accepts[0]).toMatchObject({ amount: '200000' })
        else expect(quoted.status).toBe(400)
      }
    },
  )

  it('alone buys a balance: a call would lose its key, and pays nothing; by fetch the key is in a header', async () => {
    const seller = await shop()
    const { client, spent } = buyer(seller)
    const [url, body] = [`${seller.url}/balance`, { amount: '$0.02' }]
    const refusal = {
      code: 'invalid_request',
      message: expect.stringContaining(`topUp('${seller.url}', …)`),
    }
    expect((await client.estimate(url, body)).refusal).toMatchObject(refusal)
    await expect(client.call(url, body)).rejects.toMatchObject(refusal)
    await expect(client.stream(url, body)).rejects.toMatchObject(refusal)
    expect(spent()).toBe(0n)
    const headers = { 'content-type': 'application/json' }
    const bought = await client.fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(bought.headers.get('x-svc-balance-key')).toMatch(/^svc_/)
    expect(spent()).toBe(20_000n)
  })

  it('refuses an amount that the agent does not sell; nothing is paid', async () => {
    const seller = await shop()
    const { client, spent } = buyer(seller)
    await expect(client.topUp(seller.url, '$3')).rejects.toMatchObject({
      code: 'call_failed',
      status: 400,
      message: expect.stringContaining("allowed values: '$0.02', '$0.05', '$1.00', '$1'"),
    })
    await expect(client.topUp(seller.url, 'five')).rejects.toMatchObject({ code: 'invalid_price' })
    expect(spent()).toBe(0n)
  })
})

describe('processes that share a ledger', () => {
  it('share balances: one that has no wallet calls, too', async () => {
    const seller = await shop()
    const ledger = memorySpendLedger()
    const { client, spent } = buyer(seller, { ledger })
    await client.topUp(seller.url, '$0.05')
    const algodUrl = seller.sandbox.algodUrl
    const other = new SvcClient({ network: 'testnet', algodUrl, ledger })
    expect(await other.balances()).toMatchObject([{ agent: seller.url, left: '50000' }])
    expect(await other.call(`${seller.url}/work`, {})).toMatchObject({ charged: '10000', left: '40000' })
    expect(spent()).toBe(50_000n)
  })

  it('lose no balance that a newer version wrote, nor any where the text is damaged', async () => {
    const seller = await shop()
    const ledger = memorySpendLedger()
    const { client, call, spent } = buyer(seller, { ledger })
    await client.topUp(seller.url, '$0.05')
    const whole = String(ledger.balances!())
    const change = (after: string) => ledger.balances!({ before: String(ledger.balances!()), after })
    for (const damaged of [`\ufeff${whole}`, whole.slice(0, -1), '[]']) {
      change(damaged)
      const refused = { code: 'reservation_lost', message: expect.stringContaining('no JSON object') }
      await expect(client.topUp(seller.url, '$0.02')).rejects.toMatchObject(refused)
      await expect(client.balances()).rejects.toMatchObject(refused)
      expect([ledger.balances!(), spent()]).toEqual([damaged, 50_000n])
    }
    const newer = whole.replace('"left":"50000"', '"left":{"units":"50000"}').replace('{', '{"newer":1,')
    change(newer)
    await client.topUp(seller.url, '$0.02')
    expect(await call()).toMatchObject({ charged: '10000', left: '10000' })
    expect(ledger.balances!()).toContain('"left":{"units":"50000"}')
    expect(ledger.balances!()).toContain('"newer":1')
  })

  it('pass over what is damaged in it: a time that is none, and a purchase whose payment cannot be sent', async () => {
    const seller = await shop()
    const ledger = memorySpendLedger()
    const { client, spent } = buyer(seller, { ledger })
    const [accepted] = challengeIn(await ask(`${seller.url}/balance`, { body: { amount: '$0.05' } })).accepts
    const payment = {
      key: 'k',
      selected: { accepted },
      begun: {},
      signed: { firstValid: '1', lastValid: '2' },
    }
    const account = {
      balances: [{ key: 'damaged', left: '5', expiresAtMs: 1e300 }],
      buying: [
        { token: 't', begunMs: Date.now(), untilMs: 0, payer: client.address, amount: '50000', payment },
      ],
    }
    ledger.balances!({ before: '', after: JSON.stringify({ [`testnet ${seller.url}/balance`]: account }) })
    expect(await client.balances()).toEqual([])
    expect(await client.topUp(seller.url, '$0.05')).toMatchObject({ left: '50000' })
    expect([await client.balances(), spent()]).toMatchObject([[{ left: '50000' }], 50_000n])
    expect(ledger.balances!()).toContain('damaged')
  })

  it('a purchase whose balance the ledger does not take is finished by the next, and paid once', async () => {
    const seller = await shop()
    const kept = memorySpendLedger()
    let isDown = true
    const ledger = Object.assign(memorySpendLedger(), {
      async balances(change?: { before: string; after: string }) {
        if (isDown && change?.after.includes('"left"')) {
          isDown = false
          throw new Error('Command timed out')
        }
        return kept.balances!(change)
      },
    })
    const { client, spent } = buyer(seller, { ledger })
    await expect(client.topUp(seller.url, '$0.02')).rejects.toMatchObject({
      code: 'reservation_lost',
      detail: { charged: 'yes', amount: '20000', txId: expect.any(String) },
    })
    expect([isDown, spent()]).toEqual([false, 20_000n])
    expect(await client.topUp(seller.url, '$0.02')).toMatchObject({ left: '20000' })
    expect(spent()).toBe(20_000n)
    expect(await client.call(`${seller.url}/work`, {})).toMatchObject({ charged: '10000', left: '10000' })
  })

  it('a purchase whose process died between signing and answer is finished by the next, and paid once', async () => {
    const seller = await shop()
    const ledger = memorySpendLedger()
    const dead = gate()
    // The process dies with the payment on its way: it never learns the answer.
    const fetchImpl: typeof fetch = async (url, init) => {
      const answer = await fetch(url, init)
      if (new Headers(init?.headers).has('payment-signature')) await dead.opened
      return answer
    }
    const { client, make, spent } = buyer(seller, { ledger, fetchImpl })
    const ended = seller.nextEnded()
    void client.topUp(seller.url, '$0.02').catch(() => {})
    while ((await ended) && spent() === 0n) await seller.nextEnded()
    const text = JSON.parse(String(ledger.balances!()))
    const [name, account] = Object.entries<{ buying: object[] }>(text)[0]!
    expect(account.buying).toMatchObject([{ amount: '20000', payment: expect.anything() }])
    // A minute later its time is over.
    const late = { [name]: { ...account, buying: [{ ...account.buying[0], untilMs: 0 }] } }
    ledger.balances!({ before: JSON.stringify(text), after: JSON.stringify(late) })
    const stranger = buyer(seller, { ledger, topUp: { below: '$0.01', amount: '$0.02' } })
    await expect(
      stranger.client.topUp(seller.url, '$0.02', { signal: AbortSignal.timeout(50) }),
    ).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(stranger.spent()).toBe(0n)
    const heir = make({ ledger })
    const bought = await heir.topUp(seller.url, '$0.02')
    expect(bought).toMatchObject({ left: '20000' })
    expect(spent()).toBe(20_000n)
    expect(await heir.call(`${seller.url}/work`, {})).toMatchObject({ charged: '10000' })
    dead.open()
  })
})
