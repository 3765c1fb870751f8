/** What an app and its callers may do to a gate: nothing leaves unpaid, and nothing is charged that did not leave. */
import { once } from 'node:events'
import { createServer, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createGate, defineAgent, type HandlerContext } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { ask, challengeIn, pay, type Seller, signFor } from '../../support/seller.js'

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

async function listening(listener: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closing({
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
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
      res.json({})
    },
  }
  it.each(Object.entries(PAST))('that writes past its gate %s is not charged', async (_, route) => {
    const app = express().get('/x', gateOf().express(TERMS), route)
    const url = `${await listening(app)}/x`
    const before = earned()
    await pay(seller, url, { method: 'GET' }).then(
      answer => answer.text().catch(() => ''),
      () => {},
    )
    await vi.waitFor(() => expect(said()).toContain('past its gate'))
    expect(earned() - before).toBe(0n)
  })

  it('that flushes is not charged, and its seller reads why', async () => {
    const app = express().get('/x', gateOf().express(TERMS), (_, res) => {
      res.flushHeaders()
      res.write('data: 1\n\n')
    })
    const before = earned()
    expect((await pay(seller, `${await listening(app)}/x`, { method: 'GET' })).status).toBe(500)
    expect(said()).toContain('stream: true')
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
    const url = await listening(app)
    const headers = await signFor(seller, `${url}/late`, { method: 'GET' })
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let heard = ''
    socket.setEncoding('utf8').on('data', data => {
      heard += data
    })
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET /late HTTP/1.1\r\nhost: a\r\n${head.join('')}\r\n`)
    await vi.waitFor(() => expect(heard).toContain(' 504 '), 5_000)
    late.resolve()
    await answered.promise
    socket.write('GET /free HTTP/1.1\r\nhost: a\r\n\r\n')
    await vi.waitFor(() => expect(heard).toMatch(/here$/))
    expect(heard).not.toContain('late')
    socket.destroy()
  })

  it('is told that its caller has hung up, and is not charged', async () => {
    const begun = deferred<HandlerContext>()
    const app = express().get('/x', gateOf().express(TERMS), req => {
      begun.resolve((req as never as { svc: HandlerContext }).svc)
    })
    const url = `${await listening(app)}/x`
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

  it('leaves no header of an answer that was not paid for', async () => {
    const app = express()
    app.use((_, res, next) => {
      res.cookie('before', '1')
      next()
    })
    app.get('/x', gateOf().express(TERMS), (_, res) => {
      res.cookie('paid', '1').set('x-secret', 'paid').json({ secret: true })
    })
    const url = `${await listening(app)}/x`
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
    const url = await listening(express().use('/u/:user', router))
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
    expect((await ask(`${await listening(app)}/a/1`, { method: 'GET' })).status).toBe(500)
  })

  it('with one gate for two routes is sold at each', async () => {
    const priced = gateOf().express(TERMS)
    const app = express()
    app.get('/a', priced, (_, res) => void res.json('a'))
    app.get('/b', priced, (_, res) => void res.json('b'))
    const url = await listening(app)
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
    const url = await listening(app)
    const key = (await pay(seller, `${url}/a`, { method: 'GET' })).headers.get('x-svc-subscription')!
    const headers = { 'x-svc-subscription': key }
    expect((await ask(`${url}/a`, { method: 'GET', headers })).status).toBe(200)
    expect((await ask(`${url}/b`, { method: 'GET', headers })).status).toBe(402)
  })
})

describe('a route of Koa', () => {
  it.each([
    ['ctx.respond', (ctx: Koa.Context) => void Object.assign(ctx, { respond: false })],
    ['its response', (ctx: Koa.Context) => void ctx.res.end('free')],
  ])('that takes %s for itself is not charged', async (_, route) => {
    const terms = { ...TERMS, path: '/x', methods: 'GET' } as const
    const app = new Koa().use(gateOf().koa(terms)).use(route)
    app.silent = true
    const before = earned()
    await pay(seller, `${await listening(app.callback())}/x`, { method: 'GET' }).then(
      answer => answer.text().catch(() => ''),
      () => {},
    )
    expect(earned() - before).toBe(0n)
    expect(said()).toMatch(/past its gate|^$/)
  })

  it('that throws is heard by the app, and its caller reads what it may', async () => {
    const terms = { ...TERMS, path: '/x', methods: 'GET' } as const
    const app = new Koa().use(gateOf().koa(terms)).use(ctx => ctx.throw(418, 'no tea'))
    const heard = vi.fn()
    app.on('error', heard)
    const failed = await pay(seller, `${await listening(app.callback())}/x`, { method: 'GET' })
    expect([failed.status, await failed.text()]).toEqual([418, expect.stringContaining('no tea')])
    expect(heard).toHaveBeenCalledOnce()
  })
})

describe('a route of Fastify', () => {
  it('that hijacks its reply is sold as it wrote, or not at all', async () => {
    const app = fastify({ forceCloseConnections: true })
    const gate = gateOf()
    app.get('/whole', gate.fastify(TERMS), (_, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'x-own': '1' }).end('whole')
    })
    app.get('/socket', gate.fastify(TERMS), (request, reply) => {
      reply.hijack()
      request.raw.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfree')
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing({ close: () => app.close() })
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    const before = earned()
    const whole = await pay(seller, `${url}/whole`, { method: 'GET' })
    expect([await whole.text(), whole.headers.get('x-own'), earned() - before]).toEqual([
      'whole',
      '1',
      10_000n,
    ])
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
