/** What an app and its callers may do to a gate: nothing leaves unpaid, and nothing is charged that did not leave. */
import { once } from 'node:events'
import { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import express from 'express'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createGate, defineAgent, type HandlerContext } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { eventually } from '../../support/eventually.js'
import { listen } from '../../support/listen.js'
import { rawRequest, sendRaw } from '../../support/raw-http.js'
import { ask, challengeIn, pay, presenting, type Seller, signFor, signQuote } from '../../support/seller.js'

let sandbox: Sandbox
let seller: Seller
beforeAll(async () => {
  sandbox = await startSandbox()
  seller = { sandbox } as Seller
})
afterAll(() => sandbox.close())

const earned = () => sandbox.balance(sandbox.seller.address).usdc!
const error = vi.fn()
const DEFINITION = { name: 'Gated', handle: 'gated', description: 'Has routes.', network: 'testnet' as const }

function gateOf(options: object = {}) {
  error.mockClear()
  const { facilitatorUrl, algodUrl } = sandbox
  const logger = { debug() {}, info() {}, warn() {}, error }
  const definition = { ...DEFINITION, payTo: sandbox.seller.address }
  const gate = createGate(definition, {
    facilitatorUrl,
    algodUrl,
    logger,
    shutdownTimeoutMs: 100,
    ...options,
  })
  closing({ close: () => gate.shutdown() })
  return gate
}

/** A promise, and what resolves it. */
function deferred<T = void>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>(done => {
    resolve = done
  })
  return { promise, resolve }
}

const said = () => error.mock.calls.map(([{ err }, message]) => `${message}: ${err}`).join('\n')
const TERMS = { price: '$0.01' }

describe('a route of Express', () => {
  const PAST: Readonly<Record<string, express.RequestHandler>> = {
    'to the socket': (req, res) => {
      req.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfree')
      res.json({})
    },
    'by the prototype': (_, res) => {
      ServerResponse.prototype.writeHead.call(res, 200)
      ServerResponse.prototype.write.call(res, 'free', 'utf8')
      res.end()
    },
  }
  it.each(Object.entries(PAST))('that writes past its gate %s is not charged', async (_, route) => {
    const app = express().get('/x', gateOf().express(TERMS), route)
    const url = `${await listen(app)}/x`
    const before = earned()
    await pay(seller, url, { method: 'GET' }).then(
      answer => answer.text().catch(() => ''),
      () => {},
    )
    await eventually(() => expect(said()).toContain('past its gate'))
    expect(earned() - before).toBe(0n)
  })

  it('that writes past its gate is the last that its connection says', async () => {
    const app = express().get('/x', gateOf().express(TERMS), PAST['to the socket']!)
    const url = `${await listen(app)}/x`
    const { 'payment-signature': payment } = await signFor(seller, url, { method: 'GET' })
    const kept = [`PAYMENT-SIGNATURE: ${payment}`, 'Connection: keep-alive']
    const request = rawRequest('GET', '/x', kept).replace('Connection: close\r\n', '')
    expect((await sendRaw(url, request)).body).toBe('free')
  })

  it('that flushes is not charged, and its seller reads why', async () => {
    const app = express().get('/x', gateOf().express(TERMS), (_, res) => {
      res.flushHeaders()
      res.write('data: 1\n\n')
    })
    const before = earned()
    expect((await pay(seller, `${await listen(app)}/x`, { method: 'GET' })).status).toBe(500)
    expect(said()).toContain('stream: true')
    expect(earned() - before).toBe(0n)
  })

  it.each([
    ['at once', async () => {}],
    ['a little later', () => new Promise(setImmediate)],
  ])('that writes, throws %s, and is answered 500 by its app is not charged', async (_, later) => {
    const app = express().get('/x', gateOf().express(TERMS), async (_, res) => {
      res.write('half')
      await later()
      throw new Error('not whole')
    })
    app.use(((_cause, _req, res, _next) => {
      res.status(500).json({ app: 'failed' })
    }) satisfies express.ErrorRequestHandler)
    const before = earned()
    expect((await pay(seller, `${await listen(app)}/x`, { method: 'GET' })).status).toBe(500)
    expect(said()).toContain('after it had begun its answer')
    expect(earned() - before).toBe(0n)
  })

  it('that answers too late harms neither the connection nor the process', async () => {
    const late = deferred()
    const answered = deferred()
    const app = express()
    app.get('/late', gateOf().express({ ...TERMS, timeout: 1_000 }), async (_, res) => {
      await late.promise
      res.set('x-late', '1').json({ late: true })
      answered.resolve()
    })
    app.get('/free', (_, res) => void res.send('here'))
    const url = await listen(app)
    const headers = await signFor(seller, `${url}/late`, { method: 'GET' })
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let heard = ''
    socket.setEncoding('utf8').on('data', data => {
      heard += data
    })
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET /late HTTP/1.1\r\nhost: a\r\n${head.join('')}\r\n`)
    await eventually(() => expect(heard).toContain(' 504 '))
    late.resolve()
    await answered.promise
    socket.write('GET /free HTTP/1.1\r\nhost: a\r\n\r\n')
    await eventually(() => expect(heard).toMatch(/here$/))
    expect(heard).not.toContain('late')
    socket.destroy()
  })

  it('is told that its caller has hung up, and is not charged', async () => {
    const begun = deferred<HandlerContext>()
    const app = express().get('/x', gateOf().express(TERMS), req => {
      begun.resolve((req as never as { svc: HandlerContext }).svc)
    })
    const url = `${await listen(app)}/x`
    const before = earned()
    const hangUp = new AbortController()
    const headers = await signFor(seller, url, { method: 'GET' })
    const asked = ask(url, { method: 'GET', headers, signal: hangUp.signal }).catch(() => 'gone')
    const { signal } = await begun.promise
    const aborted = once(signal, 'abort')
    hangUp.abort()
    await aborted
    expect(await asked).toBe('gone')
    expect(earned() - before).toBe(0n)
  })

  const SOLD: Readonly<Record<string, express.RequestHandler>> = {
    'with early hints': (_, res) => {
      res.writeEarlyHints({ link: '</paid.css>; rel=preload' })
      res.json({ paid: true })
    },
    'with a reason that would end the head': (_, res) => {
      res.statusMessage = 'OK\r\nx-evil: 1\r\n\r\nfree'
      res.json({ paid: true })
    },
    'with a framing of its own': (_, res) => {
      res.setHeader('transfer-encoding', 'chunked')
      res.writeHead(200, { connection: 'upgrade', upgrade: 'h2c', 'content-length': '3', trailer: 'x' })
      res.end('{"paid":true}')
    },
    'and then calls next': (_, res, next) => {
      res.json({ paid: true })
      next()
      next()
    },
    'and then answers again': (_, res) => {
      res.json({ paid: true })
      res.status(500).end('late')
    },
  }
  it.each(Object.entries(SOLD))('that answers %s is sold once, as one answer', async (_, route) => {
    const app = express().get('/x', gateOf().express(TERMS), route)
    const url = `${await listen(app)}/x`
    const before = earned()
    const headers = Object.entries(await signFor(seller, url, { method: 'GET' }))
    const lines = headers.map(([name, value]) => `${name}: ${value}`)
    const { head, body } = await sendRaw(url, rawRequest('GET', '/x', lines))
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(head).toMatch(/content-length: 13/i)
    expect(head).not.toMatch(/x-evil|transfer-encoding|upgrade|trailer|preload/i)
    expect([body, earned() - before]).toEqual(['{"paid":true}', 10_000n])
  })

  it.each([204, 205])('that answers %i is sold without a body', async status => {
    const app = express().get('/x', gateOf().express(TERMS), (_, res) => void res.status(status).end())
    const before = earned()
    const paid = await pay(seller, `${await listen(app)}/x`, { method: 'GET' })
    expect([paid.status, await paid.text(), earned() - before]).toEqual([status, '', 10_000n])
  })

  it.each([206, 302, 303, 304, 308])(
    'that answers %i, which nobody asked for, is not charged',
    async status => {
      const app = express().get(
        '/x',
        gateOf().express(TERMS),
        (_, res) => void res.status(status).end('part'),
      )
      const before = earned()
      const unsold = await pay(seller, `${await listen(app)}/x`, { method: 'GET' })
      expect([unsold.status, earned() - before]).toEqual([500, 0n])
      expect(said()).toContain(String(status))
    },
  )

  it('that redirects is sold where its terms say so', async () => {
    const terms = { ...TERMS, sellRedirects: true }
    const app = express().get('/x', gateOf().express(terms), (_, res) => res.redirect('/elsewhere'))
    const before = earned()
    const headers = await signFor(seller, `${await listen(app)}/x`, { method: 'GET' })
    const sold = await fetch(`${await listen(app)}/x`, { headers, redirect: 'manual' })
    expect([sold.status, sold.headers.get('location'), earned() - before]).toEqual([
      302,
      '/elsewhere',
      10_000n,
    ])
  })

  it.each(['express', 'koa'] as const)(
    'behind middleware of %s that sent a head is neither run nor charged',
    async name => {
      const run = vi.fn()
      const terms = { ...TERMS, path: '/x', methods: 'GET' } as const
      let isOpen = true
      const flush = (res: ServerResponse) => {
        if (!isOpen) res.flushHeaders()
        return true
      }
      const koa = new Koa()
        .use((ctx, next) => flush(ctx.res) && next())
        .use(gateOf().koa(terms))
        .use(run)
      koa.silent = true
      const app = express().use((_, res, next) => flush(res) && next())
      app.get('/x', gateOf().express(terms), (_, res) => void res.json(run()))
      const url = `${await listen(name === 'koa' ? koa.callback() : app)}/x`
      const headers = await signFor(seller, url, { method: 'GET' })
      const before = earned()
      isOpen = false
      await ask(url, { method: 'GET', headers }).then(
        answer => answer.text().catch(() => ''),
        () => {},
      )
      expect([run.mock.calls.length, earned() - before]).toEqual([0, 0n])
    },
  )

  /** As middleware that compresses does: it replaces what writes, and sets a header with the head. */
  const wrapping: express.RequestHandler = (_, res, next) => {
    const { writeHead, end } = res
    Object.assign(res, {
      writeHead(...given: never[]) {
        res.setHeader('x-wrapped', 'yes')
        res.removeHeader('content-length')
        return Reflect.apply(writeHead, res, given)
      },
      end(chunk: unknown) {
        // Asynchronously, as after a stream or a store.
        if (!res.headersSent) res.writeHead(res.statusCode)
        setImmediate(() => end.call(res, String(chunk).toUpperCase(), 'utf8'))
        return res
      },
    })
    next()
  }
  it.each(['around', 'behind'])(
    'with middleware %s its gate that replaces what writes is sold whole',
    async where => {
      const app = express()
      const gate = gateOf().express({ ...TERMS, path: '/x', methods: 'GET' })
      for (const each of where === 'around' ? [wrapping, gate] : [gate, wrapping]) app.get('/x', each)
      app.get('/x', (_, res) => void res.json({ paid: 1 }))
      const url = `${await listen(app)}/x`
      const quoted = await ask(url, { method: 'GET' })
      expect([quoted.status, quoted.headers.has('x-wrapped')]).toEqual([402, where === 'around'])
      const before = earned()
      const paid = await pay(seller, url, { method: 'GET' })
      expect([paid.status, await paid.text(), earned() - before]).toEqual([200, '{"PAID":1}', 10_000n])
      expect(paid.headers.get('x-wrapped')).toBe('yes')
      expect(paid.headers.has('payment-response')).toBe(true)
    },
  )

  it('sees what protects its resource from being overwritten', async () => {
    const app = express().put('/x', gateOf().express(TERMS), (req, res) => {
      res.status(req.headers['if-none-match'] === '*' && req.headers['if-match'] === '"1"' ? 412 : 200).end()
    })
    const headers = { 'if-none-match': '*', 'if-match': '"1"' }
    const before = earned()
    const kept = await pay(seller, `${await listen(app)}/x`, { method: 'PUT', body: 'new', headers })
    expect([kept.status, earned() - before]).toEqual([412, 0n])
  })

  it('that is pipelined is sold as each of them', async () => {
    const app = express().get('/x/:n', gateOf().express(TERMS), (req, res) => void res.json(req.params))
    const url = await listen(app)
    const before = earned()
    const requests = await Promise.all(
      [1, 2, 3].map(async n => {
        const headers = Object.entries(await signFor(seller, `${url}/x/${n}`, { method: 'GET' }))
        const lines = [...headers.map(([name, value]) => `${name}: ${value}`), 'host: a']
        return `GET /x/${n} HTTP/1.1\r\n${lines.join('\r\n')}\r\n${n === 3 ? 'connection: close\r\n' : ''}\r\n`
      }),
    )
    const { head, body } = await sendRaw(url, requests.join(''))
    expect((head + body).match(/\{"n":"\d"\}/g)).toEqual(['{"n":"1"}', '{"n":"2"}', '{"n":"3"}'])
    expect(earned() - before).toBe(30_000n)
  })

  it('reads a compressed body by the parser behind its gate; what the gate itself checks is not compressed', async () => {
    const gate = gateOf()
    const app = express()
    const echo: express.RequestHandler = (req, res) => void res.json(req.body)
    app.post('/x', gate.express(TERMS), express.json(), echo)
    app.post('/checked', gate.express({ ...TERMS, input: { type: 'object' } }), express.json(), echo)
    const url = await listen(app)
    const typed = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const asking = (path: string, headers: object) =>
      fetch(url + path, { method: 'POST', body: gzipSync('{"a":1}'), headers: { ...typed, ...headers } })
    const quoted = await asking('/x', {})
    const sold = await asking('/x', presenting(await signQuote(seller, challengeIn(quoted))))
    expect([sold.status, await sold.json()]).toEqual([200, { a: 1 }])
    expect((await asking('/checked', {})).status).toBe(415)
  })

  const POLYGLOTS: readonly (readonly [string, string])[] = [
    [
      'application/json; charset=utf-7',
      '{"tokens":1,"x":"+ACIALAAiAHQAbwBrAGUAbgBzACIAOgA5ACwAIgB5ACIAOgAi-"}',
    ],
    ['application/json;charset=utf-8; charset="utf\\-7"', '{"tokens":1}'],
    ['application/x-www-form-urlencoded', '{"tokens":1,"x":"&tokens=9&"}'],
    ['multipart/form-data; boundary=b', '{"tokens":1}'],
  ]
  it.each(POLYGLOTS)(
    'that would read %s in another way than it was priced is not sold',
    async (type, body) => {
      const run = vi.fn((req, res) => void res.json(req.body))
      const terms = {
        price: ({ body }: { body: unknown }) => `$${(body as { tokens: number }).tokens / 1_000}`,
        input: { type: 'object', properties: { tokens: { type: 'integer' } }, required: ['tokens'] },
      } as const
      const gate = gateOf()
      const app = express().use(
        '/front',
        express.json({ verify: (req, _, buf) => Object.assign(req, { rawBody: buf }) }),
      )
      app.post(
        '/behind',
        gate.express({ ...terms, path: '/behind' }),
        express.json(),
        express.urlencoded(),
        run,
      )
      app.post('/front', gate.express({ ...terms, path: '/front' }), run)
      const url = await listen(app)
      for (const path of ['/behind', '/front']) {
        const asked = { method: 'POST', body, headers: { 'content-type': type } }
        expect((await fetch(url + path, asked)).status).toBe(415)
        const plain = {
          ...asked,
          headers: { 'content-type': 'application/json; charset="UTF-8"' },
          body: '{"tokens":1}',
        }
        const payment = presenting(await signQuote(seller, challengeIn(await fetch(url + path, plain))))
        expect(
          (await fetch(url + path, { ...asked, headers: { ...asked.headers, ...payment } })).status,
        ).toBe(415)
        const sold = await fetch(url + path, { ...plain, headers: { ...plain.headers, ...payment } })
        expect([sold.status, await sold.json()]).toEqual([200, { tokens: 1 }])
      }
      expect(run).toHaveBeenCalledTimes(2)
    },
  )

  it('leaves no header of an answer that was not paid for', async () => {
    const app = express()
    app.use((_, res, next) => {
      res.cookie('before', '1')
      next()
    })
    app.get('/x', gateOf().express(TERMS), (_, res) => {
      res.cookie('paid', '1').set('x-secret', 'paid').json({ secret: true })
    })
    const url = `${await listen(app)}/x`
    const paid = await pay(seller, url, { method: 'GET' })
    expect(paid.headers.getSetCookie().map(cookie => cookie.split('=')[0])).toEqual(['before', 'paid'])
    sandbox.faults.set('settle', 'refuse', { times: 1 })
    const unsettled = await pay(seller, url, { method: 'GET' })
    expect(unsettled.status).toBe(402)
    expect(unsettled.headers.get('x-secret')).toBeNull()
    expect(unsettled.headers.getSetCookie()).toHaveLength(1)
    expect(await unsettled.text()).toBe('{}')
  })

  it('behind a router says its whole path, and is sold at it', async () => {
    const gate = gateOf()
    const router = express.Router({ mergeParams: true })
    const terms = { ...TERMS, path: '/u/:user/items/:id', methods: 'GET' } as const
    router.get('/items/:id', gate.express(terms), (req, res) => void res.json(req.params))
    router.get('/unsaid/:id', gate.express(TERMS), (_, res) => void res.json({}))
    const url = await listen(express().use('/u/:user', router))
    const item = `${url}/u/ann/items/7`
    expect(challengeIn(await ask(item, { method: 'GET' })).resource.url).toBe(item)
    expect(await (await pay(seller, item, { method: 'GET' })).json()).toEqual({ user: 'ann', id: '7' })
    expect((await ask(`${url}/u/ann/unsaid/7`, { method: 'GET' })).status).toBe(500)
    expect(said()).toContain('cannot price')
  })

  it('of two gates at one path is refused', async () => {
    const gate = gateOf()
    gate.express({ ...TERMS, path: '/a/:x', methods: ['GET', 'PUT'] })
    expect(() => gate.express({ ...TERMS, path: '/a/:y', methods: 'PUT' })).toThrow('are both at PUT /a/:y')
    const app = express().get('/a/:z', gate.express(TERMS), (_, res) => void res.json({}))
    expect((await ask(`${await listen(app)}/a/1`, { method: 'GET' })).status).toBe(500)
  })

  it('with one gate for two routes is sold at each', async () => {
    const priced = gateOf().express(TERMS)
    const app = express()
    app.get('/a', priced, (_, res) => void res.json('a'))
    app.get('/b', priced, (_, res) => void res.json('b'))
    const url = await listen(app)
    const headers = await signFor(seller, `${url}/a`, { method: 'GET' })
    expect((await ask(`${url}/b`, { method: 'GET', headers })).status).toBe(200)
    expect((await ask(`${url}/a`, { method: 'GET', headers })).status).toBe(409)
  })

  it('has windows of its own', async () => {
    const gate = gateOf()
    const app = express()
    const terms = { subscription: { price: '$0.01', period: '1h' } } as const
    app.get('/a', gate.express(terms), (_, res) => void res.json('a'))
    app.get('/b', gate.express(terms), (_, res) => void res.json('b'))
    const url = await listen(app)
    const key = (await pay(seller, `${url}/a`, { method: 'GET' })).headers.get('x-svc-subscription')!
    const headers = { 'x-svc-subscription': key }
    expect((await ask(`${url}/a`, { method: 'GET', headers })).status).toBe(200)
    expect((await ask(`${url}/b`, { method: 'GET', headers })).status).toBe(402)
  })
})

describe('a route of Koa', () => {
  const terms = { ...TERMS, path: '/x', methods: 'GET', timeout: 1_000 } as const
  async function soldBy(route: Koa.Middleware, more: { stream?: boolean } = {}) {
    const app = new Koa().use(gateOf().koa({ ...terms, ...more })).use(route)
    app.silent = true
    const before = earned()
    const paid = await pay(seller, `${await listen(app.callback())}/x`, { method: 'GET' })
    const body = await paid.text().catch(() => 'broken off')
    return { status: paid.status, body, cost: earned() - before, type: paid.headers.get('content-type') }
  }
  /** As a proxy: it has ended when its answer has left. */
  const past =
    (write: (ctx: Koa.Context) => unknown): Koa.Middleware =>
    async ctx => {
      ctx.respond = false
      const left = once(ctx.res, 'finish')
      ctx.res.writeHead(200, { 'content-type': 'text/x' })
      await write(ctx)
      await left
    }
  const inPieces = past(async ({ res }) => {
    res.write('so')
    await new Promise(setImmediate)
    res.end('ld')
  })
  it.each([
    ['at once', past(({ res }) => res.end('sold')), {}],
    ['in pieces', inPieces, {}],
    ['in pieces, as a stream', inPieces, { stream: true }],
  ] as const)('that writes to its response itself, %s, is sold', async (_, route, more) => {
    expect(await soldBy(route, more)).toEqual({ status: 200, body: 'sold', cost: 10_000n, type: 'text/x' })
  })

  const throwing = (write: (ctx: Koa.Context) => unknown) =>
    past(ctx => {
      write(ctx)
      throw new Error('no')
    })
  it.each<[string, Koa.Middleware, number]>([
    ['says that it failed', past(({ res }) => Object.assign(res, { statusCode: 502 }).end('no')), 502],
    ['says nothing of success', ctx => void ctx.res.end('free'), 404],
    ['takes it and says nothing', ctx => void Object.assign(ctx, { respond: false }), 504],
    ['throws after its whole answer', throwing(({ res }) => res.end('free')), 500],
    ['throws after the first piece', throwing(({ res }) => res.write('free')), 500],
  ])('that writes to its response itself, and %s, is not charged', async (_, route, status) => {
    expect(await soldBy(route)).toMatchObject({ status, cost: 0n })
  })

  it('that throws is heard by the app, and its caller reads what it may', async () => {
    const app = new Koa().use(gateOf().koa(terms)).use(ctx => ctx.throw(418, 'no tea'))
    const heard = vi.fn()
    app.on('error', heard)
    const failed = await pay(seller, `${await listen(app.callback())}/x`, { method: 'GET' })
    expect([failed.status, await failed.text()]).toEqual([418, expect.stringContaining('no tea')])
    expect(heard).toHaveBeenCalledOnce()
  })
})

describe('a route of Fastify', () => {
  it('is not sold for more fields in its query than its price can read', async () => {
    const run = vi.fn(async () => ({}))
    const price = ({ query }: { query: Record<string, unknown> }) => `$${Number(query.n) / 1_000}`
    const app = fastify({ forceCloseConnections: true })
    app.get('/x', gateOf().fastify({ price }, run))
    const url = closing({
      url: await app.listen({ port: 0, host: '127.0.0.1' }),
      close: () => app.close(),
    }).url
    const many = await ask(`${url}/x?n=1&${'a&'.repeat(999)}n=1000000`, { method: 'GET' })
    expect([many.status, run.mock.calls.length]).toEqual([400, 0])
    expect((await pay(seller, `${url}/x?n=1&${'a&'.repeat(998)}`, { method: 'GET' })).status).toBe(200)
  })

  it('that hijacks its reply is sold as it wrote, or not at all', async () => {
    const app = fastify({ forceCloseConnections: true })
    const gate = gateOf()
    const whole = (_: unknown, reply: FastifyReply) => {
      reply.hijack()
      const cookies = ['set-cookie', 'a=1', 'set-cookie', 'b=2']
      reply.raw.setHeader('set-cookie', 'before')
      reply.raw.writeHead(200, ['x-own', '1', ...cookies] as never).end('whole')
    }
    app.get('/whole', gate.fastify(TERMS, whole))
    const past = (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack()
      request.raw.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfree')
    }
    app.get('/socket', gate.fastify(TERMS, past))
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing({ close: () => app.close() })
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    const before = earned()
    const sold = await pay(seller, `${url}/whole`, { method: 'GET' })
    const { headers } = sold
    expect([await sold.text(), headers.get('x-own'), headers.getSetCookie()]).toEqual([
      'whole',
      '1',
      ['a=1', 'b=2'],
    ])
    expect(earned() - before).toBe(10_000n)
    await pay(seller, `${url}/socket`, { method: 'GET' }).catch(() => {})
    await sleep(50)
    expect(earned() - before).toBe(10_000n)
  })
})

describe('the definition of a gate', () => {
  it('has no endpoints, and an agent still needs one', () => {
    const definition = { ...DEFINITION, payTo: sandbox.seller.address }
    expect(() => defineAgent({ ...definition, endpoints: [] })).toThrow('at least one endpoint')
    expect(() => createGate({ ...definition, endpoints: [] } as never)).toThrow('endpoints')
    expect(() => createGate(definition, { basePath: '/x' } as never)).toThrow('no basePath')
  })

  it('refuses terms that are no endpoint’s', () => {
    const gate = gateOf()
    expect(() => gate.express({ path: '/x', methods: 'GET' })).toThrow('exactly one of price')
    expect(() => gate.koa({ ...TERMS, path: '/x y', methods: 'GET' })).toThrow('segment')
    expect(() => gate.hono({ ...TERMS, path: '/x', methods: 'HEAD' as never })).toThrow('HEAD')
  })
})
