/** Rate limits, body limits and the order of refusals, over HTTP. */
import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import mount from 'koa-mount'
import { describe, expect, it } from 'vitest'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { createServer, defineAgent, defineEndpoint, type ServeOptions } from '../../src/index.js'
import { perMinute } from '../../src/ports/counters.js'
import { fakeFacilitator, json, type Reply } from '../support/fake-facilitator.js'
import { gate, gated } from '../support/gate.js'
import { heapBytes } from '../support/heap-bytes.js'
import { ask, challengeIn, open, pay, type Seller, signFor } from '../support/seller.js'

const sell = (name: string, options: object = {}) =>
  defineEndpoint({ name, price: '$0.01', handler: () => ({ name }), ...options })

const statuses = async (calls: number, call: () => Promise<Response>) => {
  const seen: number[] = []
  for (let count = 0; count < calls; count++) seen.push((await call()).status)
  return seen
}

describe('rate limits', () => {
  it('an endpoint may have a limit of its own, counted apart, or none', async () => {
    const endpoints = [
      sell('usual'),
      sell('tight', { rateLimit: { perMinute: 1, per: 'ip' } }),
      sell('open', { rateLimit: false }),
    ]
    const seller = await open(endpoints, { rateLimit: { perMinute: 2, per: 'ip' } })
    expect(await statuses(2, () => ask(`${seller.url}/tight`))).toEqual([402, 429])
    expect(await statuses(3, () => ask(`${seller.url}/usual`))).toEqual([402, 402, 429])
    expect(await statuses(4, () => ask(`${seller.url}/open`))).toEqual([402, 402, 402, 402])
  })

  it('counts each payer by itself', async () => {
    const seller = await open([sell('work')], { rateLimit: { perMinute: 1 } })
    const call = (account: string) => () => pay(seller, `${seller.url}/work`, { account })
    expect(await statuses(2, call('one'))).toEqual([200, 429])
    expect(await statuses(2, call('two'))).toEqual([200, 429])
  })

  it('believes as many proxies about an address as it is told to', async () => {
    const seller = await open([sell('work')], { rateLimit: { perMinute: 1, per: 'ip' }, trustProxy: 1 })
    const from = (forwarded: string) => () =>
      ask(`${seller.url}/work`, { headers: { 'x-forwarded-for': forwarded } })
    expect(await statuses(2, from('203.0.113.1'))).toEqual([402, 429])
    expect(await statuses(1, from('203.0.113.2'))).toEqual([402])
    // What the caller wrote stands left of what our own proxy added.
    expect(await statuses(1, from('198.51.100.9, 203.0.113.2'))).toEqual([429])
  })

  describe('of an endpoint that sells windows', () => {
    const pass = defineEndpoint({
      name: 'pass',
      subscription: { price: '$0.01', period: '1h' },
      handler: () => ({ open: true }),
    })
    /** Sold by an account whose own calls are counted apart. */
    async function bought() {
      const windows = memorySubscriptions()
      let looks = 0
      const get = (id: string) => {
        looks++
        return windows.get(id)
      }
      const seller = await open([pass], {
        rateLimit: { perMinute: 3 },
        stores: { subscriptions: { ...windows, get } },
      })
      const url = `${seller.url}/pass`
      const sale = await pay(seller, url, { account: 'buyer' })
      const key = { 'x-svc-subscription': sale.headers.get('x-svc-subscription')! }
      const looked = async (call: () => Promise<unknown>) => {
        const before = looks
        await call()
        return looks - before
      }
      return { seller, url, key, looked }
    }
    const JUNK = { 'payment-signature': Buffer.from('{}').toString('base64') }

    it.each([
      ['nothing else', async () => ({})],
      ['a payment that is none', async () => ({ 'payment-signature': 'junk' })],
      ['a payment that cannot be read', async () => JUNK],
      ['a good payment', (seller: Seller) => signFor(seller, `${seller.url}/pass`, { account: 'other' })],
    ])('counts a call in a window by the window, with %s beside its key', async (_, beside) => {
      const { seller, url, key } = await bought()
      const also = await beside(seller)
      const call = (headers: object) => () => ask(url, { headers: { ...key, ...headers } })
      expect(await statuses(2, call(also))).toEqual([200, 200])
      expect(await statuses(2, call({}))).toEqual([200, 429])
      expect(await statuses(4, call(also))).toEqual([429, 429, 429, 429])
      expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(10_000n)
    })

    it('counts a payment by its payer, and junk by its address, with a key beside it that opens nothing', async () => {
      const { seller, url } = await bought()
      const lie = (at: number) => ({ 'x-svc-subscription': `svc_${at}` })
      let lies = 0
      const paying = () => pay(seller, url, { account: 'other', headers: lie(lies++) })
      expect(await statuses(4, paying)).toEqual([200, 200, 200, 429])
      const junk = () => ask(url, { headers: { ...JUNK, ...lie(lies++) } })
      expect(await statuses(4, junk)).toEqual([402, 402, 402, 429])
    })

    it('looks a window up once, and twice only where a payment lies beside its key', async () => {
      const { seller, url, key, looked } = await bought()
      const payment = await signFor(seller, url, { account: 'other' })
      expect(await looked(() => ask(url, { headers: key }))).toBe(1)
      expect(await looked(() => ask(url, { headers: { ...payment, ...key } }))).toBe(2)
      expect(await looked(() => ask(url, { headers: payment }))).toBe(0)
    })
  })

  it('where a store is down, admits if told to', async () => {
    const down = async () => {
      throw new Error('down')
    }
    const seller = await open([sell('work')], {
      rateLimit: { perMinute: 1, onStoreDown: 'admit' },
      stores: { rateLimit: { take: down, peek: down, giveBack: down } },
    })
    expect(await statuses(2, () => pay(seller, `${seller.url}/work`))).toEqual([200, 200])
  })

  it('a million identities take bounded memory', () => {
    const limit = memoryCounters({ max: 10_000 })
    const before = heapBytes()
    for (let identity = 0; identity < 1_000_000; identity++) limit.take(`ip:${identity}`, perMinute(1))
    expect(heapBytes() - before).toBeLessThan(20_000_000)
    expect(limit.take('ip:999999', perMinute(1))).toMatchObject({ admitted: false })
  })
})

describe('body limits', () => {
  it('are the server’s, but for an endpoint that has its own', async () => {
    const seller = await open([sell('small'), sell('large', { maxBodyBytes: 5_000 })], { maxBodyBytes: 100 })
    const body = { text: 'x'.repeat(1_000) }
    expect((await ask(`${seller.url}/small`, { body })).status).toBe(413)
    expect((await ask(`${seller.url}/large`, { body })).status).toBe(402)
  })
})

describe('order before the handler', () => {
  it('rate limit, then idempotency, then input, then payment', async () => {
    const input = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
    const door = gated({ input })
    const seller = await open([door.endpoint], { idempotency: {}, rateLimit: { perMinute: 3 } })
    const url = `${seller.url}/slow`
    const key = { 'idempotency-key': 'k' }
    const body = { n: 1 }
    const first = pay(seller, url, { body, headers: key })
    await door.entered()
    const refused = await signFor(seller, url, { body })
    seller.sandbox.faults.set('verify', 'refuse')
    const send = async (headers: Record<string, string>, sent: unknown) =>
      (await ask(url, { body: sent, headers: { ...refused, ...headers } })).status
    expect(await send(key, { n: 'x' }), 'the key is looked at before the input').toBe(409)
    expect(await send({}, { n: 'x' }), 'the input before the payment').toBe(400)
    expect(await send({}, body), 'the payment last').toBe(402)
    expect(await send(key, { n: 'x' }), 'the limit before everything').toBe(429)
    door.open()
    expect((await first).status).toBe(200)
  })

  it('an input that is wrong is refused before a payment that cannot be read, or is for other terms', async () => {
    const input = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } as const
    const seller = await open([sell('work', { input }), sell('dearer', { input, price: '$0.02' })])
    const otherTerms = await signFor(seller, `${seller.url}/dearer`)
    for (const headers of [{ 'payment-signature': '***' }, otherTerms]) {
      expect((await ask(`${seller.url}/work`, { body: { n: 'x' }, headers })).status).toBe(400)
      expect((await ask(`${seller.url}/work`, { body: { n: 1 }, headers })).status).toBe(402)
    }
  })
})

describe('specification 3: an Idempotency-Key', () => {
  const malformed = ['two words', 'k'.repeat(256), 'schlüssel', '']
  let keys: (string | undefined)[] = []
  const keyed = defineEndpoint({
    name: 'keyed',
    price: '$0.01',
    handler: ({ idempotencyKey }) => keys.push(idempotencyKey),
  })

  it('that is none is not looked at where idempotency is off', async () => {
    keys = []
    const seller = await open([keyed])
    for (const key of malformed) {
      const headers = { 'idempotency-key': key }
      expect((await ask(`${seller.url}/keyed`, { headers })).status).toBe(402)
      expect((await pay(seller, `${seller.url}/keyed`, { headers })).status).toBe(200)
    }
    expect(keys).toEqual(malformed.map(() => undefined))
    await pay(seller, `${seller.url}/keyed`, { headers: { 'idempotency-key': 'k' } })
    expect(keys.at(-1)).toBe('k')
  })

  it('that is none is refused where idempotency is on, and not charged', async () => {
    keys = []
    const seller = await open([keyed], { idempotency: {} })
    for (const key of malformed) {
      const response = await pay(seller, `${seller.url}/keyed`, { headers: { 'idempotency-key': key } })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_idempotency_key' } })
    }
    expect(keys).toEqual([])
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(0n)
  })
})

describe('tracing', () => {
  it('takes the caller’s trace id on, hands it to the handler, and answers with it', async () => {
    const endpoint = defineEndpoint({ name: 'work', price: '$0.01', handler: ({ traceId }) => ({ traceId }) })
    const seller = await open([endpoint])
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const response = await pay(seller, `${seller.url}/work`, {
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    })
    expect(await response.json()).toEqual({ traceId })
    expect(response.headers.get('traceparent')).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
  })

  it('starts a trace of its own where the caller’s is missing or malformed', async () => {
    const seller = await open([sell('work')])
    for (const traceparent of ['', 'x', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
      const response = await pay(seller, `${seller.url}/work`, { headers: { traceparent } })
      expect(response.headers.get('traceparent')).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    }
  })
})

describe('the end of a server', () => {
  it('cuts what outlasts the deadline: the handler is aborted, answered 503, and not charged', async () => {
    const door = gate()
    let reason: unknown
    const endpoint = defineEndpoint({
      name: 'work',
      price: '$0.01',
      handler: ({ signal }) =>
        new Promise(resolve => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            resolve('too late')
          })
          door.enter()
        }),
    })
    const seller = await open([endpoint], { shutdownTimeoutMs: 50 })
    const call = pay(seller, `${seller.url}/work`)
    await door.entered()
    const report = seller.server.shutdown('deploy')
    const response = await call
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'shutting_down' } })
    expect(await report).toMatchObject({ reason: 'deploy', outcome: 'timedOut', abandoned: 1 })
    expect(String(reason)).toMatch(/stopped/)
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(0n)
  })

  it('one that is longer than a timer can be cuts nothing', async () => {
    const { endpoint, ...inside } = gated()
    const seller = await open([endpoint], { shutdownTimeoutMs: 2 ** 31 })
    const call = pay(seller, `${seller.url}/slow`)
    await inside.entered()
    const report = seller.server.shutdown('deploy')
    // Node makes such a timer one of a millisecond.
    expect((await ask(`${seller.url}/slow`)).status).toBe(503)
    inside.open()
    expect((await call).status).toBe(200)
    expect(await report).toMatchObject({ outcome: 'drained', abandoned: 0 })
  })

  it('a second call to shut down does not wait for the deadline', async () => {
    const door = gate()
    const endpoint = defineEndpoint({
      name: 'work',
      price: '$0.01',
      handler: ({ signal }) =>
        new Promise(resolve => {
          signal.addEventListener('abort', resolve)
          door.enter()
        }),
    })
    const seller = await open([endpoint], { shutdownTimeoutMs: 60_000 })
    const call = pay(seller, `${seller.url}/work`)
    await door.entered()
    const first = seller.server.shutdown('one')
    const second = seller.server.shutdown('two')
    expect(await second).toEqual(await first)
    expect((await call).status).toBe(503)
  })
})

describe('what is refused at start', () => {
  const refused: Record<string, Partial<ServeOptions>> = {
    'a misspelt confirm': { confirm: 'Chain' as never },
    'a misspelt onLostResponse': { idempotency: { onLostResponse: 'Replay' as never } },
    'a misspelt per': { rateLimit: { perMinute: 1, per: 'IP' as never } },
    'a misspelt onStoreDown': { rateLimit: { perMinute: 1, onStoreDown: 'allow' as never } },
    'a negative timeout': { advanced: { maxTimeoutSeconds: -5 } },
    'a negative count of proxies': { trustProxy: -1 },
    'a budget that is none': { advanced: { timeouts: { verifyMs: 0 } } },
    'an endless shutdown': { shutdownTimeoutMs: Number.POSITIVE_INFINITY },
  }
  for (const [name, options] of Object.entries(refused)) {
    it(name, async () => {
      await expect(open([sell('work')], options)).rejects.toMatchObject({ code: 'invalid_options' })
    })
  }

  it('an endpoint where a free route is', async () => {
    const endpoint = defineEndpoint({ name: 'runs', price: '$0.01', method: 'GET', handler: () => 1 })
    await expect(open([endpoint], { basePath: '/_svc' })).rejects.toMatchObject({ code: 'invalid_options' })
  })

  it('a budget that is left out keeps its default', async () => {
    const seller = await open([sell('work')], { advanced: { timeouts: { verifyMs: undefined } } })
    expect((await pay(seller, `${seller.url}/work`)).status).toBe(200)
  })
})

describe('createServer', () => {
  const agentOf = (seller: Seller) =>
    defineAgent({
      name: 'Mounted',
      handle: 'mounted',
      description: 'Lives in another app.',
      payTo: seller.sandbox.seller.address,
      network: 'testnet',
      endpoints: [sell('work')],
    })

  it('gives a Koa app that another mounts under a prefix, and names its URLs under it', async () => {
    const seller = await open([sell('other')])
    const { facilitatorUrl, algodUrl } = seller.sandbox
    const outer = new Koa()
    outer.use(mount('/agents/one', createServer(agentOf(seller), { facilitatorUrl, algodUrl })))
    outer.use(ctx => {
      ctx.body = 'the rest of the site'
    })
    const server = createHttpServer(outer.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const quoted = await ask(`${url}/agents/one/work`)
    expect(challengeIn(quoted).resource.url).toBe(`${url}/agents/one/work`)
    const manifest = await (await ask(`${url}/agents/one/.well-known/svc.json`, { method: 'GET' })).json()
    expect(manifest).toMatchObject({ endpoints: [{ url: `${url}/agents/one/work` }] })
    expect((await pay(seller, `${url}/agents/one/work`)).status).toBe(200)
    expect(await (await ask(`${url}/`, { method: 'GET' })).text()).toBe('the rest of the site')
    server.closeAllConnections()
    server.close()
  })
})

describe('maxFacilitatorConnections', () => {
  it('is how many payments are asked about at the same time; the others wait', async () => {
    const waiting: ServerResponse[] = []
    const inPairs: Reply = response => {
      if (waiting.push(response) < 2) return
      for (const one of waiting.splice(0)) json({ isValid: false, invalidReason: 'no' })(one)
    }
    const facilitator = await fakeFacilitator({ '/verify': inPairs })
    const seller = await open([sell('work')], {
      facilitatorUrl: facilitator.url,
      advanced: { maxFacilitatorConnections: 2 },
    })
    const calls = Array.from({ length: 6 }, () => pay(seller, `${seller.url}/work`))
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(6).fill(402))
    expect([facilitator.count('/verify'), facilitator.atOnceMax]).toEqual([6, 2])
  })

  it('is a whole number of at least 1', async () => {
    await expect(open([sell('work')], { advanced: { maxFacilitatorConnections: 0 } })).rejects.toMatchObject({
      code: 'invalid_options',
    })
  })
})
