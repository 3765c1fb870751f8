/** Middleware around a gate, or another gate: what is charged arrives whole, and pages may read it. */
import type { RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { createGzip, type Gzip } from 'node:zlib'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import Koa from 'koa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGate, createHandler, defineAgent, defineEndpoint } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'
import { ask, pay, receiptIn } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const TERMS = { price: '$0.01', path: '/x', methods: 'GET' } as const
let gates = 0

function gateOf(more: object = {}, rules: object = {}) {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const about = { name: 'Gated', handle: `around-${gates++}`, description: 'Has routes.' }
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const options = { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100, logger, ...rules }
  const gate = createGate({ ...about, ...more, network: 'testnet', payTo: seller.address }, options)
  closing({ close: () => gate.shutdown() })
  return gate
}

async function sold(app: express.Express) {
  const before = sandbox.balance(sandbox.seller.address).usdc!
  const paid = await pay({ sandbox } as never, `${await listen(app)}/x`, { method: 'GET' })
  const body = await paid.text()
  return { paid, body, cost: sandbox.balance(sandbox.seller.address).usdc! - before }
}

/** As the package `compression` does: it calls no callbacks, and keeps who waits for `drain` until there is a head. */
const compressing: express.RequestHandler = (_, res, next) => {
  const { writeHead, write, end, on } = res
  let zipped: Gzip | undefined
  const kept: (() => void)[] = []
  Object.assign(res, {
    writeHead(status: number) {
      res.removeHeader('content-length')
      res.setHeader('content-encoding', 'gzip')
      zipped = createGzip()
      for (const listener of kept) zipped.on('drain', listener)
      zipped.on('data', chunk => write.call(res, chunk, 'utf8') || zipped!.pause())
      on.call(res, 'drain', () => zipped!.resume())
      zipped.on('end', () => end.call(res, undefined, 'utf8'))
      return Reflect.apply(writeHead, res, [status])
    },
    write(chunk: Buffer) {
      if (!res.headersSent) res.writeHead(res.statusCode)
      return zipped!.write(chunk)
    },
    end(chunk?: Buffer) {
      if (!res.headersSent) res.writeHead(res.statusCode)
      return chunk ? zipped!.end(chunk) : zipped!.end()
    },
    on(name: string, listener: () => void) {
      if (name !== 'drain') return on.call(res, name, listener)
      return zipped ? zipped.on(name, listener) : kept.push(listener)
    },
  })
  next()
}

const LARGE = Array.from({ length: 20 }, (_, at) => String(at % 10).repeat(50_000))
it.each([
  ['held, in pieces', false, 'around'],
  ['streamed', true, 'around'],
  ['held, in pieces', false, 'behind'],
  ['streamed', true, 'behind'],
] as const)('what is %s (%s) arrives whole, with what compresses %s the gate', async (_, stream, where) => {
  const gate = gateOf().express({ ...TERMS, stream })
  const app = express()
  for (const each of where === 'around' ? [compressing, gate] : [gate, compressing]) app.get('/x', each)
  app.get('/x', (_, res) => void Readable.from(LARGE).pipe(res))
  const { paid, body, cost } = await sold(app)
  expect([paid.status, paid.headers.get('content-encoding'), cost]).toEqual([200, 'gzip', 10_000n])
  expect(paid.headers.has('payment-response')).toBe(true)
  expect(body).toBe(LARGE.join(''))
})

it('a stream leaves whole through middleware whose `write` returns nothing, such as what logs bodies', async () => {
  const app = express()
  app.use((_, res, next) => {
    const { write } = res
    Object.assign(res, { write: (...given: []) => void Reflect.apply(write, res, given) })
    next()
  })
  const route: express.RequestHandler = (_, res) => void Readable.from(['one ', 'two']).pipe(res)
  app.get('/x', gateOf().express({ ...TERMS, stream: true }), route)
  const { body, cost } = await sold(app)
  expect([body, cost]).toEqual(['one two', 10_000n])
})

it.each([
  ['a text', 'naïve'],
  ['JSON', { text: 'naïve' }],
  ['bytes', Buffer.from('naïve')],
  ['a stream', undefined],
])(
  '%s is no other text to middleware around that reads what is written, such as express-minify',
  async (_, answer) => {
    const app = express()
    app.use((_, res, next) => {
      const { write, end } = res
      const read = (chunk?: string | Buffer, encoding?: BufferEncoding) =>
        Buffer.from(chunk?.toString(encoding) ?? '')
      Object.assign(res, {
        write: (...given: []) => Reflect.apply(write, res, [read(...given)]),
        end: (...given: []) => Reflect.apply(end, res, [read(...given)]),
      })
      next()
    })
    app.get('/x', gateOf().express({ ...TERMS, stream: answer === undefined }), (_, res) => {
      if (answer === undefined) Readable.from([Buffer.from('naïve')]).pipe(res)
      else res.send(answer)
    })
    expect((await sold(app)).body).toContain('naïve')
  },
)

it('a gate whose route another gate refuses answers in words, and charges nothing', async () => {
  const app = express()
  app.use((_, res, next) => {
    res.set('x-app', '1')
    next()
  })
  app.get('/x', gateOf().express(TERMS), gateOf().express(TERMS), (_, res) => void res.json('free'))
  const { paid, body, cost } = await sold(app)
  expect([JSON.parse(body).error.code, paid.headers.get('x-app'), cost]).toEqual(['handler_error', '1', 0n])
})

it.each([
  ['at once', (res: express.Response) => res.json(1) && thrown()],
  ['as a promise', async (res: express.Response) => res.json(1) && thrown()],
])('a route that throws %s after its whole answer is not charged', async (_, route) => {
  const app = express().get('/x', gateOf().express(TERMS), (_, res) => route(res) as never)
  const { paid, cost } = await sold(app)
  expect([paid.status, cost]).toEqual([500, 0n])
})

const PAGES = { 'access-control-allow-origin': 'https://page.example', 'access-control-expose-headers': '*' }

/** Apps whose pages of another origin may read what they answer. The route fails where a header says so. */
const APPS_WITH_CORS: Readonly<Record<string, () => RequestListener | Promise<RequestListener>>> = {
  Express() {
    const app = express().use((_, res, next) => void next(void res.set(PAGES)))
    return app.get('/x', gateOf().express(TERMS), (req, res) => {
      if (req.get('fails')) throw new Error('as it was asked')
      res.json(1)
    })
  },
  Koa() {
    const gate = gateOf().koa(TERMS)
    const app = new Koa()
    app.silent = true
    app.use((ctx, next) => {
      ctx.set(PAGES)
      return next()
    })
    app.use((ctx, next) => gate(ctx, next))
    app.use(ctx => {
      if (ctx.get('fails')) throw new Error('as it was asked')
      ctx.body = '1'
    })
    return app.callback()
  },
  Hono() {
    const app = new Hono().use(cors({ origin: PAGES['access-control-allow-origin'], exposeHeaders: ['*'] }))
    app.get('/x', gateOf().hono(TERMS), c => {
      if (c.req.header('fails')) throw new Error('as it was asked')
      return c.json(1)
    })
    return getRequestListener(app.fetch)
  },
  async Fastify() {
    const app = fastify()
    app.addHook('onRequest', async (_, reply) => void reply.headers(PAGES))
    const run = async ({ headers }: FastifyRequest) => {
      if (headers.fails) throw new Error('as it was asked')
      return 1
    }
    app.get('/x', gateOf().fastify(TERMS, run))
    await app.ready()
    return app.routing
  },
}

it.each(Object.entries(APPS_WITH_CORS))(
  'the CORS of an app in %s is that of all that a gate answers',
  async (_, open) => {
    const url = `${await listen(await open())}/x`
    const headers = { origin: PAGES['access-control-allow-origin'] }
    const asked = { method: 'GET', headers }
    const answers = [
      await ask(url, asked),
      await pay({ sandbox } as never, url, asked),
      await pay({ sandbox } as never, url, { ...asked, headers: { ...headers, fails: 'yes' } }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([402, 200, 500])
    for (const { headers } of answers) expect(Object.fromEntries(headers)).toMatchObject(PAGES)
  },
)

function thrown(): never {
  throw new Error('after its answer')
}

it.each([
  ['an error', new Error('around')],
  ['an error with headers, as of @koa/cors', Object.assign(new Error('around'), { headers: PAGES })],
  ['what is no error', 'around'],
  ['what nobody may write to', Object.freeze(new Error('around'))],
])(
  'what is sold keeps its receipt and its key where Koa’s middleware around throws later: %s',
  async (_, thrown) => {
    const heard: unknown[] = []
    const app = new Koa().on('error', cause => heard.push(cause))
    app.use(async (_ctx, next) => {
      await next()
      if (_ctx.status === 200) throw thrown
    })
    const terms = { path: '/x', methods: 'GET', subscription: { price: '$0.01', period: '1h' } } as const
    app.use(gateOf().koa(terms)).use(ctx => {
      ctx.set('etag', 'of the answer')
      ctx.body = 'sold'
    })
    const { paid, body, cost } = await sold(app.callback() as never)
    const { headers } = paid
    expect([paid.status, JSON.parse(body).error.code, cost]).toEqual([500, 'answer_not_written', 10_000n])
    expect(receiptIn(paid)).toMatchObject({ success: true, amount: '10000' })
    expect(headers.get('x-svc-subscription')).toMatch(/^svc_/)
    expect([headers.get('etag'), headers.get('access-control-allow-origin')]).toEqual([
      null,
      (thrown as { headers?: typeof PAGES }).headers?.['access-control-allow-origin'] ?? null,
    ])
    expect(heard).toEqual([thrown])
  },
)

it.each(['a gate', 'an agent'])(
  '%s in Koa sends what it sold whole where an app around answers 304',
  async what => {
    const app = new Koa()
    // As koa-conditional-get and koa-etag do.
    app.use(async (ctx, next) => {
      await next()
      ctx.set('etag', '"1"')
      if (ctx.fresh) ctx.status = 304
    })
    if (what === 'a gate') {
      app.use(gateOf().koa(TERMS)).use(ctx => {
        ctx.body = '"sold"'
      })
    } else {
      const { facilitatorUrl, algodUrl, seller } = sandbox
      const endpoint = defineEndpoint({ name: 'x', price: '$0.01', methods: 'GET', handler: () => 'sold' })
      const about = { name: 'Sold', handle: 'sold', description: 'Sells.', payTo: seller.address } as const
      const agent = defineAgent({ ...about, network: 'testnet', endpoints: [endpoint] })
      const handler = createHandler(agent, { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100 })
      closing({ close: () => handler.shutdown() })
      app.use(handler.koa())
    }
    const url = await listen(app.callback())
    // `fetch` would add `no-cache`.
    const headers = { 'if-none-match': '"1"', 'cache-control': 'max-age=0' }
    const paid = await pay({ sandbox } as never, `${url}/x`, { method: 'GET', headers })
    expect([paid.status, await paid.text()]).toEqual([200, '"sold"'])
    if (what === 'an agent')
      expect((await ask(`${url}/.well-known/x402`, { method: 'GET', headers })).status).toBe(304)
  },
)

it('a stream that Koa’s middleware around keeps from leaving takes nothing of a balance', async () => {
  const gate = gateOf({ balance: { amounts: ['$0.02'], period: '1h' } })
  const terms = { price: '$0.01', methods: 'GET' } as const
  const app = new Koa().on('error', () => {})
  app.use(gate.documents.koa)
  app.use(async (ctx, next) => {
    await next()
    if (ctx.path === '/x' && ctx.status === 200) throw new Error('around')
  })
  const gates = [
    gate.koa({ ...terms, path: '/x', stream: true }),
    gate.koa({ ...terms, path: '/dear', price: '$1' }),
  ]
  app
    .use((ctx, next) => gates[ctx.path === '/x' ? 0 : 1]!(ctx, next))
    .use(ctx => {
      ctx.body = Readable.from(['once'])
    })
  const url = await listen(app.callback())
  const sale = await pay({ sandbox } as never, `${url}/balance`, { body: { amount: '$0.02' } })
  const call = (path: string, key: string) =>
    ask(url + path, {
      method: 'GET',
      headers: { 'x-svc-balance-key': sale.headers.get('x-svc-balance-key')!, 'idempotency-key': key },
    })
  expect((await call('/x', 'a-stream-that-is-kept-here')).status).toBe(500)
  await expect.poll(async () => (await call('/dear', 'a-look')).headers.get('x-svc-balance')).toBe('20000')
})

it.each([
  ['without a key, costs none', undefined, undefined, '3'],
  ['with a key that a lost answer frees, costs none', 'release', 'a-key-that-is-free-again-after-it', '3'],
  [
    'with a key that keeps it, costs one, and the next request gets it',
    'replay',
    'a-key-under-which-it-is-kept',
    '2',
  ],
] as const)(
  'an answer of a window with a count that Koa’s middleware around keeps from leaving, %s',
  async (_, onLostResponse, key, ran) => {
    let isBroken = false
    let runs = 0
    const gate = gateOf({}, onLostResponse && { idempotency: { onLostResponse } })
    const subscription = { price: '$0.01', period: '1h', calls: 3 } as const
    const app = new Koa().on('error', () => {})
    app.use(async (_ctx, next) => {
      await next()
      if (isBroken) throw new Error('around')
    })
    app.use(gate.koa({ subscription, path: '/x', methods: 'GET' })).use(ctx => {
      ctx.body = String(++runs)
    })
    const url = await listen(app.callback())
    const sale = await pay({ sandbox } as never, `${url}/x`, { method: 'GET' })
    const window = { 'x-svc-subscription': sale.headers.get('x-svc-subscription')! }
    const call = () =>
      ask(`${url}/x`, { method: 'GET', headers: { ...window, ...(key && { 'idempotency-key': key }) } })
    isBroken = true
    expect((await call()).status).toBe(500)
    isBroken = false
    const again = await call()
    expect([await again.text(), again.headers.get('x-svc-subscription-remaining')]).toEqual([ran, '1'])
  },
)
