/** Routes of apps that exist, with a price before them: what is paid, what is not, and what the app finds. */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createGate, type Gate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { ask, challengeIn, pay, receiptIn, type Seller, signFor } from '../../support/seller.js'
import { APPS, type App, type Route, type Work } from './apps.js'

const BIG = Buffer.alloc(17_000_000)
const KEY = 'k'.repeat(36)

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const open = (options: object = {}, handle = 'gated') =>
  createGate(
    { name: 'Gated', handle, description: 'Has routes.', payTo: sandbox.seller.address, network: 'testnet' },
    {
      facilitatorUrl: sandbox.facilitatorUrl,
      algodUrl: sandbox.algodUrl,
      shutdownTimeoutMs: 100,
      idempotency: { onLostResponse: 'replay' },
      ...options,
    },
  )
const earned = () => sandbox.balance(sandbox.seller.address).usdc!

describe.each(Object.entries(APPS))('a gate in %s', (name, openApp) => {
  let gate: Gate
  let app: App
  let seller: Pick<Seller, 'sandbox'> & Seller
  let runs = 0
  let release = () => {}
  let broke = () => {}
  const counted =
    (work: Work): Work =>
    seen => {
      runs++
      return work(seen)
    }
  const routes: readonly Route[] = [
    {
      method: 'GET',
      path: '/items/:id',
      terms: { path: '/items/:id', methods: 'GET', price: '$0.01', description: 'One item' },
      work: counted(({ params, svc }) => ({
        answers: { id: params.id, paid: svc.payment.amount, at: svc.params },
        headers: {
          'x-own': 'yes',
          'set-cookie': ['a=1', 'b=2'],
          link: ['</a>; rel=a', '</b>; rel=b'],
          'payment-response': 'forged',
          etag: '"7"',
        },
      })),
    },
    {
      method: 'POST',
      path: '/echo',
      terms: { price: '$0.02' },
      work: counted(({ body }) => ({ answers: { body }, status: 201 })),
    },
    {
      method: 'POST',
      path: '/status/:status',
      terms: { price: '$0.01' },
      work: counted(({ params }) => ({
        answers: { mine: params.status },
        status: Number(params.status),
        headers: { 'x-own': 'failed' },
      })),
    },
    {
      method: 'POST',
      path: '/throws',
      terms: { price: '$0.01' },
      work: counted(() => ({ throws: new Error('the database is at 10.0.0.7') })),
    },
    {
      method: 'POST',
      path: '/never',
      terms: { price: '$0.01', timeout: 1_000 },
      work: counted(() => ({ never: true })),
    },
    { method: 'GET', path: '/big', terms: { price: '$0.01' }, work: counted(() => ({ answers: BIG })) },
    {
      method: 'POST',
      path: '/window',
      terms: { subscription: { price: '$0.05', period: '1h', calls: 2 } },
      work: counted(({ params }) => ({ answers: { params } })),
    },
    {
      method: 'GET',
      path: '/events',
      terms: { price: '$0.03', stream: true },
      work: counted(() => ({
        streams: (async function* () {
          yield 'data: 1\n\n'
          await new Promise<void>(resolve => {
            release = resolve
          })
          yield 'data: 2\n\n'
        })(),
      })),
    },
    {
      method: 'GET',
      path: '/part/:status',
      terms: { price: '$0.03', stream: true },
      work: counted(({ params }) => ({ answers: 'part', status: Number(params.status) })),
    },
    {
      method: 'GET',
      path: '/breaks',
      terms: { price: '$0.03', stream: true },
      work: counted(() => ({
        streams: (async function* () {
          try {
            for (;;) {
              yield 'data: more\n\n'
              await sleep(5)
            }
          } finally {
            broke()
          }
        })(),
      })),
    },
    {
      method: 'PUT',
      path: '/small',
      terms: { price: '$0.01', maxBodyBytes: 10 },
      work: counted(() => ({ answers: 1 })),
    },
    {
      method: 'PUT',
      path: '/sized/:size',
      terms: {
        input: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
        price: ({ body, params }) => `$0.0${(body as { n?: number }).n ?? params.size}`,
      },
      work: counted(({ body }) => ({ answers: JSON.parse(body) })),
    },
  ]

  beforeAll(async () => {
    gate = open()
    app = await openApp(gate, routes)
    seller = { sandbox } as never
  })
  afterAll(async () => {
    await app.close()
    await gate.shutdown()
  })
  beforeEach(() => {
    runs = 0
  })

  it('quotes its own URL, and runs nothing', async () => {
    const url = `${app.url}/items/7`
    const quoted = await ask(url, { method: 'GET' })
    expect(quoted.status).toBe(402)
    expect(await quoted.text()).toBe('{}')
    expect(challengeIn(quoted)).toMatchObject({ resource: { url, description: 'One item' } })
    expect(quoted.headers.get('x-own')).toBeNull()
    expect(runs).toBe(0)
  })

  it('sells the route’s own answer once, with its receipt', async () => {
    const before = earned()
    const paid = await pay(seller, `${app.url}/items/a%20b`, { method: 'GET' })
    expect([paid.status, await paid.json()]).toEqual([200, { id: 'a b', paid: '10000', at: { id: 'a b' } }])
    expect(receiptIn(paid)).toMatchObject({ success: true, amount: '10000' })
    expect(paid.headers.get('x-own')).toBe('yes')
    expect(paid.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(paid.headers.get('link')).toBe('</a>; rel=a, </b>; rel=b')
    expect(paid.headers.get('cache-control')).toBe('no-store')
    expect([runs, earned() - before]).toEqual([1, 10_000n])
  })

  it.each([
    ['application/json', '{"a": 1,\n "b": [2]}'],
    ['text/plain', 'some text'],
    ['application/octet-stream', 'bytes'],
  ])('lets the app read a body of %s', async (type, body) => {
    const before = earned()
    const typed = { 'content-type': type }
    const headers = { ...typed, ...(await signFor(seller, `${app.url}/echo`, { body, headers: typed })) }
    const paid = await ask(`${app.url}/echo`, { body, headers })
    expect(paid.status).toBe(201)
    const read = ((await paid.json()) as { body: string }).body
    expect(type === 'application/json' ? JSON.parse(read) : read).toEqual(
      type === 'application/json' ? JSON.parse(body) : body,
    )
    expect([runs, earned() - before]).toEqual([1, 20_000n])
  })

  it('answers again by its key without the route, and refuses the key for another body', async () => {
    const before = earned()
    const url = `${app.url}/echo`
    const headers = { ...(await signFor(seller, url, { body: { a: 1 } })), 'idempotency-key': KEY }
    const first = await ask(url, { body: { a: 1 }, headers })
    const second = await ask(url, { body: { a: 1 }, headers })
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(await second.text()).toBe(await first.text())
    const other = { ...(await signFor(seller, url, { body: { a: 2 } })), 'idempotency-key': KEY }
    expect((await ask(url, { body: { a: 2 }, headers: other })).status).toBe(409)
    expect([runs, earned() - before]).toEqual([1, 20_000n])
  })

  it('sells one payment once, however many requests bring it', async () => {
    const before = earned()
    const url = `${app.url}/items/1`
    const headers = await signFor(seller, url, { method: 'GET' })
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, at) => ask(`${app.url}/items/${at}`, { method: 'GET', headers })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect([runs, earned() - before]).toEqual([1, 10_000n])
  })

  it.each([400, 404, 422, 500, 503])(
    'charges nothing for the app’s own %i, and passes it on',
    async status => {
      const before = earned()
      const failed = await pay(seller, `${app.url}/status/${status}`, { body: {} })
      expect([failed.status, await failed.json()]).toEqual([status, { mine: String(status) }])
      expect(failed.headers.get('x-own')).toBe('failed')
      expect(failed.headers.get('payment-response')).toBeNull()
      expect([runs, earned() - before]).toEqual([1, 0n])
    },
  )

  it('hides a 402 of the app, which would be read as ours', async () => {
    const before = earned()
    const failed = await pay(seller, `${app.url}/status/402`, { body: {} })
    expect(failed.status).toBe(500)
    expect([runs, earned() - before]).toEqual([1, 0n])
  })

  it('charges nothing where the route throws', async () => {
    const before = earned()
    const failed = await pay(seller, `${app.url}/throws`, { body: {} })
    expect(failed.status).toBe(500)
    expect([runs, earned() - before]).toEqual([1, 0n])
  })

  // The others answer by themselves what their route leaves open.
  if (name === 'Koa' || name === 'Express')
    it('charges nothing where the route never answers', async () => {
      const before = earned()
      const late = await pay(seller, `${app.url}/never`, { body: {} })
      expect([late.status, ((await late.json()) as { error: { code: string } }).error.code]).toEqual([
        504,
        'handler_timeout',
      ])
      expect([runs, earned() - before]).toEqual([1, 0n])
    })

  it('charges nothing for more than it holds', async () => {
    const before = earned()
    expect((await pay(seller, `${app.url}/big`, { method: 'GET' })).status).toBe(500)
    expect([runs, earned() - before]).toEqual([1, 0n])
  })

  it('reads no body above its bound', async () => {
    const large = await ask(`${app.url}/small`, {
      method: 'PUT',
      body: 'x'.repeat(100),
      headers: { 'content-type': 'text/plain' },
    })
    expect([large.status, runs]).toEqual([413, 0])
  })

  it('sells a window of calls', async () => {
    const before = earned()
    const bought = await pay(seller, `${app.url}/window`, { body: {} })
    const key = bought.headers.get('x-svc-subscription')!
    expect(key).toBeTruthy()
    const covered = await ask(`${app.url}/window`, { body: {}, headers: { 'x-svc-subscription': key } })
    expect([covered.status, covered.headers.get('x-svc-subscription-remaining')]).toEqual([200, '0'])
    const over = await ask(`${app.url}/window`, { body: {}, headers: { 'x-svc-subscription': key } })
    expect(over.status).toBe(402)
    expect([runs, earned() - before]).toEqual([2, 50_000n])
  })

  it('sends a stream as it comes, after it is paid for', async () => {
    const before = earned()
    const streamed = await pay(seller, `${app.url}/events`, { method: 'GET' })
    expect(streamed.headers.get('content-type')).toContain('text/event-stream')
    expect(receiptIn(streamed)).toMatchObject({ success: true })
    const reader = streamed.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toBe('data: 1\n\n')
    expect(earned() - before).toBe(30_000n)
    release()
    expect((await reader.read()).value).toBe('data: 2\n\n')
    expect((await reader.read()).done).toBe(true)
  })

  it.each([206, 302, 304])('charges nothing for a %i of a route that streams', async status => {
    const before = earned()
    const unsold = await pay(seller, `${app.url}/part/${status}`, { method: 'GET' })
    expect([unsold.status, runs, earned() - before]).toEqual([500, 1, 0n])
  })

  it('ends the route’s stream where its caller hangs up', async () => {
    const ended = new Promise<void>(resolve => {
      broke = resolve
    })
    const hangUp = new AbortController()
    const headers = await signFor(seller, `${app.url}/breaks`, { method: 'GET' })
    const streamed = await ask(`${app.url}/breaks`, { method: 'GET', headers, signal: hangUp.signal })
    await streamed.body!.getReader().read()
    hangUp.abort()
    // An app that writes to a response itself is told by the response alone.
    if (!name.startsWith('Express')) await ended
    expect(runs).toBe(1)
  })

  it('checks an input before it is paid for, and prices by it', async () => {
    const url = `${app.url}/sized/3`
    expect((await ask(url, { method: 'PUT', body: { n: 'x' } })).status).toBe(400)
    expect(challengeIn(await ask(url, { method: 'PUT' })).accepts[0]!.amount).toBe('30000')
    const before = earned()
    expect(await (await pay(seller, url, { method: 'PUT', body: { n: 4 } })).json()).toEqual({ n: 4 })
    expect([runs, earned() - before]).toEqual([1, 40_000n])
  })

  it('runs nothing unpaid, whatever the method and the spelling', async () => {
    for (const [method, path] of [
      ['HEAD', '/items/1'],
      ['OPTIONS', '/items/1'],
      ['GET', '/ITEMS/1'],
      ['GET', '/items/1/'],
      ['GET', '/items/a%2fb'],
      ['GET', '/items/%2e%2e%2f'],
      ['GET', '//items/1'],
    ] as const) {
      const { status } = await raw(app.url, method, path)
      if (method !== 'OPTIONS') expect([path, status >= 400]).toEqual([path, true])
    }
    expect(runs).toBe(0)
  })

  it('asks nothing of the cache of a caller', async () => {
    const before = earned()
    const headers = {
      ...(await signFor(seller, `${app.url}/items/1`, { method: 'GET' })),
      'if-none-match': '"7"',
    }
    expect((await ask(`${app.url}/items/1`, { method: 'GET', headers })).status).toBe(200)
    expect(earned() - before).toBe(10_000n)
  })

  it('lists its routes in the documents, and the app answers the rest', async () => {
    await ask(`${app.url}/echo`, { body: {} })
    const manifest = (await (await fetch(`${app.url}/.well-known/svc.json`)).json()) as {
      endpoints: { name: string; path: string; url: string; method: string; price: string }[]
    }
    expect(manifest.endpoints.find(({ name: own }) => own === 'get/items/id')).toMatchObject({
      path: '/items/:id',
      url: `${app.url}/items/:id`,
      method: 'GET',
      price: '$0.01',
    })
    expect(manifest.endpoints.find(({ name: own }) => own === 'post/echo')).toMatchObject({
      path: '/echo',
      method: 'POST',
    })
    const openapi = (await (await fetch(`${app.url}/openapi.json`)).json()) as { paths: object }
    expect(Object.keys(openapi.paths)).toContain('/items/{id}')
    expect((await fetch(`${app.url}/health`)).status).toBe(200)
    expect((await fetch(`${app.url}/elsewhere`)).status).toBe(404)
    expect((await fetch(`${app.url}/a2a`, { method: 'POST' })).status).toBe(404)
  })
})

function raw(url: string, method: string, path: string): Promise<{ status: number }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method }, response => {
      response.resume()
      response.on('end', () => resolve({ status: response.statusCode! }))
    })
      .on('error', reject)
      .end()
  })
}
