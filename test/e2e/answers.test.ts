/** How answers leave: the same alone and mounted in a Koa app, which sees them; whole, and in the bytes that were meant. */
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import Koa from 'koa'
import mount from 'koa-mount'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServer, defineAgent, defineEndpoint, type HandlerContext } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { gate } from '../support/gate.js'
import { rawRequest, sendRaw } from '../support/raw-http.js'
import { ask, openSeller, pay, type Seller } from '../support/seller.js'

const TEXTS = ['plain', 'ÿ', 'naïve ä', '10 €', '😀', '\ud800 alone', '\u0000\u2028', '"\\']

const late = gate()
let seen: { late: boolean; spread: unknown; twice: boolean } | undefined

const endpoints = [
  defineEndpoint({
    name: 'echo',
    price: '$0.01',
    deprecated: '2030-01-01T00:00:00Z',
    handler: ({ body }) => body,
  }),
  defineEndpoint({
    name: 'page',
    price: '$0.01',
    method: 'GET',
    handler: () =>
      new Response('<p>ä €</p>', {
        status: 201,
        headers: [
          ['content-type', 'text/html'],
          ['cache-control', 'public'],
          ['vary', 'accept'],
          ['x-own', 'yes'],
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2; Path=/'],
        ],
      }),
  }),
  defineEndpoint({ name: 'nothing', price: '$0.01', handler: () => new Response(null, { status: 204 }) }),
  defineEndpoint({
    name: 'late',
    price: '$0.01',
    timeout: 1_000,
    async handler(ctx: HandlerContext) {
      await late.opened
      const { signal } = ctx
      seen = { late: signal.aborted, spread: { ...ctx }.signal, twice: ctx.signal === signal }
      late.enter()
    },
  }),
]

let sandbox: Sandbox
let seller: Seller
/** What the outer app saw of the last answer, when its turn came again. */
let passed: { status: number; headers: Record<string, unknown>; body: unknown }
let koa: { readonly url: string; readonly server: Server }
beforeAll(async () => {
  sandbox = await startSandbox()
  seller = await openSeller(endpoints, { sandbox })
  koa = await koaOf()
})
afterAll(async () => {
  koa.server.closeAllConnections()
  koa.server.close()
  await seller.close()
  await sandbox.close()
})

function agentOf() {
  return defineAgent({
    name: 'Test agent',
    handle: 'test-agent',
    description: 'Serves the tests.',
    payTo: sandbox.seller.address,
    network: 'testnet',
    endpoints,
  })
}

async function koaOf() {
  const { facilitatorUrl, algodUrl } = sandbox
  const outer = new Koa()
  outer.use(async (ctx, next) => {
    await next()
    const { status, body } = ctx
    passed = { status, headers: { ...ctx.response.headers }, body }
    ctx.set('x-outer', 'seen')
  })
  outer.use(mount(createServer(agentOf(), { facilitatorUrl, algodUrl })))
  outer.use(ctx => {
    ctx.body = `outer answers ${ctx.path}`
  })
  const server = createHttpServer(outer.callback()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Everything that an answer says, but for what is of its moment and its port. */
async function said(response: Response, url: string) {
  const headers = Object.fromEntries(
    [...response.headers].filter(([name]) => !/^(date|traceparent|x-outer)$/.test(name)),
  )
  const challenge = headers['payment-required']
  if (challenge) {
    const text = Buffer.from(challenge, 'base64').toString()
    headers['payment-required'] = text.replaceAll(url, '').replaceAll(new URL(url).host, '')
  }
  if (headers['payment-response']) headers['payment-response'] = 'a receipt'
  const cookies = response.headers.getSetCookie()
  return { status: response.status, headers, cookies, body: (await response.text()).replaceAll(url, '') }
}

describe('alone and mounted in a Koa app the same is said', () => {
  const requests: readonly (readonly [string, string, string, object?])[] = [
    ['a quote', 'POST', '/echo', { body: {} }],
    ['a quote of a GET', 'GET', '/page'],
    ['the manifest', 'GET', '/.well-known/svc.json'],
    ['the list', 'GET', '/.well-known/x402'],
    ['a probe', 'GET', '/echo'],
    ['a probe of a person', 'GET', '/echo', { headers: { accept: 'text/html' } }],
    ['a quote of a person', 'GET', '/page', { headers: { accept: 'text/html' } }],
    ['the manifest’s head', 'HEAD', '/.well-known/svc.json'],
    ['the card', 'GET', '/.well-known/agent.json'],
    ['openapi', 'GET', '/openapi.json'],
    ['another method', 'DELETE', '/echo'],
    ['a head of what is paid', 'HEAD', '/page'],
    ['a preflight', 'OPTIONS', '/echo'],
    ['no JSON', 'POST', '/echo', { body: '{', headers: { 'x-payment': 'e30=' } }],
    ['a body that is too large', 'POST', '/echo', { body: `"${'x'.repeat(1_100_000)}"` }],
    ['an encoding', 'POST', '/echo', { body: '{}', headers: { 'content-encoding': 'br' } }],
    ['a key that is none', 'POST', '/echo', { body: {}, headers: { 'idempotency-key': 'a b' } }],
    ['A2A without a message', 'POST', '/a2a', { body: {} }],
    ['MCP without a body', 'POST', '/mcp'],
    ['runs', 'POST', '/_svc/runs'],
  ]
  for (const [name, method, path, options] of requests) {
    it(name, async () => {
      const answers = await Promise.all(
        [seller.url, koa.url].map(async url => said(await ask(url + path, { method, ...options }), url)),
      )
      expect(answers[0]).toEqual(answers[1])
    })
  }

  for (const path of ['/page', '/nothing', '/echo']) {
    it(`${path}, paid`, async () => {
      const method = path === '/page' ? 'GET' : 'POST'
      const body = method === 'GET' ? undefined : { text: 'ä' }
      const answers = []
      for (const url of [seller.url, koa.url]) {
        const paid = await pay({ ...seller, url }, url + path, { method, body, account: `for ${url}` })
        answers.push(await said(paid, url))
      }
      expect(answers[0]).toEqual(answers[1])
      expect(answers[0]!.status).toBe(path === '/page' ? 201 : path === '/nothing' ? 204 : 200)
      expect(answers[0]!.headers['cache-control']).toBe('no-store')
      if (path === '/page') expect(answers[0]!.cookies).toEqual(['a=1', 'b=2; Path=/'])
    })
  }
})

describe('the mounting app', () => {
  it('sees status, headers and body, and may add its own', async () => {
    const quote = await ask(`${koa.url}/echo`, { method: 'POST', body: {} })
    expect(quote.headers.get('x-outer')).toBe('seen')
    expect(passed).toMatchObject({ status: 402, body: '{}' })
    expect(passed.headers['payment-required']).toBe(quote.headers.get('payment-required'))
    const answer = await pay({ ...seller, url: koa.url }, `${koa.url}/echo`, { body: { text: 'ä' } })
    expect(passed).toMatchObject({ status: 200, body: await answer.text() })
  })

  it('answers the paths that are not ours; alone, we say that there is none', async () => {
    const mounted = await ask(`${koa.url}/none`)
    expect([mounted.status, await mounted.text()]).toEqual([200, 'outer answers /none'])
    const alone = await ask(`${seller.url}/none`)
    expect([alone.status, await alone.json()]).toMatchObject([404, { error: { code: 'not_found' } }])
  })

  it('is passed by with what it had set before: cookies are all there', async () => {
    const { facilitatorUrl, algodUrl } = sandbox
    const app = createServer(agentOf(), { facilitatorUrl, algodUrl })
    const server = createHttpServer((req, res) => {
      res.setHeader('Set-Cookie', ['before=1', 'too=2'])
      app.callback()(req, res)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const paid = await pay({ ...seller, url }, `${url}/page`, { method: 'GET' })
    expect(paid.headers.getSetCookie()).toEqual(['before=1', 'too=2', 'a=1', 'b=2; Path=/'])
    server.close()
  })
})

describe('what stands in front of the app on Node', () => {
  async function behind(front: (req: IncomingMessage, res: ServerResponse) => void, after?: Koa.Middleware) {
    const { facilitatorUrl, algodUrl } = sandbox
    const app = createServer(agentOf(), { facilitatorUrl, algodUrl })
    if (after) app.use(after)
    const server = createHttpServer((req, res) => {
      front(req, res)
      app.callback()(req, res)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing({ close: () => server.close() })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  it('may set headers when the body ends: a paid answer arrives with them', async () => {
    const url = await behind((_, res) => {
      const { end } = res
      res.end = function (this: ServerResponse, ...args: unknown[]) {
        res.setHeader('x-time', '1')
        return (end as (...all: unknown[]) => ServerResponse).apply(this, args)
      } as typeof end
    })
    const paid = await pay({ ...seller, url }, `${url}/echo`, { body: { text: 'a' } })
    expect([paid.status, paid.headers.get('x-time'), await paid.text()]).toEqual([200, '1', '{"text":"a"}'])
  })

  it('may have answered itself: that answer is left alone', async () => {
    const url = await behind((_, res) => res.writeHead(503).end('busy'))
    const answer = await ask(`${url}/echo`, { method: 'POST', body: {} })
    expect([answer.status, await answer.text()]).toEqual([503, 'busy'])
  })

  it('and what comes after it may answer later, by itself', async () => {
    const url = await behind(
      () => {},
      ctx => {
        ctx.respond = false
        setImmediate(() => ctx.res.writeHead(200).end('late'))
      },
    )
    expect(await (await ask(`${url}/late-path`)).text()).toBe('late')
  })
})

describe('a path matches as it was sent', () => {
  for (const target of [
    '/health#f',
    '/\\health',
    'http://[/',
    'http://a:b:c/',
    '/_svc\\runs',
    '/_svc\\runs#',
  ]) {
    it(target, async () => {
      const warned: string[] = []
      const logger = {
        debug() {},
        info() {},
        warn: (_: object, m: string) => void warned.push(m),
        error() {},
      }
      const own = await openSeller(endpoints, { sandbox, logger })
      const { head, body } = await sendRaw(
        own.url,
        `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      )
      expect(head).toMatch(/^HTTP\/1\.1 404/)
      expect(JSON.parse(body)).toMatchObject({ error: { code: 'not_found' } })
      expect(warned).toEqual([])
      await own.close()
    })
  }
})

it('connections that callers reset are no warning: they would fill the log', async () => {
  const logged: string[] = []
  const says = (level: string) => (_: object, message: string) => void logged.push(`${level} ${message}`)
  const logger = { debug: says('debug'), info: () => {}, warn: says('warn'), error: says('error') }
  const own = await openSeller(endpoints, { sandbox, logger })
  const { port } = new URL(own.url)
  const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{"a'
  for (let at = 0; at < 3; at++) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(head)
    await once(own.server, 'request')
    socket.resetAndDestroy()
  }
  await expect.poll(() => logged).toEqual(Array(3).fill('debug a response could not be written'))
  await own.close()
})

it('says each header once', async () => {
  const quote = await sendRaw(seller.url, rawRequest('POST', '/echo'))
  const names = quote.head
    .split('\r\n')
    .slice(1)
    .map(line => line.split(':', 1)[0]!.toLowerCase())
  expect(names).toEqual([...new Set(names)])
  expect(names).toContain('deprecation')
})

describe('text arrives as it was meant', () => {
  for (const text of TEXTS) {
    it(JSON.stringify(text), async () => {
      const answer = await pay(seller, `${seller.url}/echo`, { body: { text } })
      const bytes = Buffer.from(await answer.arrayBuffer())
      expect(bytes.toString('utf8')).toBe(JSON.stringify({ text }))
      expect(Number(answer.headers.get('content-length'))).toBe(bytes.length)
    })
  }
})

it('answers one pipelined request after the other, and none for a body that it did not read', async () => {
  const first = rawRequest('POST', '/none', ['Content-Type: application/json'], '{"a":1}').replace(
    'close',
    'keep-alive',
  )
  const answers = await sendRaw(seller.url, first + rawRequest('GET', '/.well-known/svc.json'))
  expect(answers.head).toMatch(/^HTTP\/1\.1 404/)
  expect(answers.body).toMatch(/not_found.*HTTP\/1\.1 200 OK/s)
})

it('a signal that is first looked at after the end is aborted, and goes along where the context is spread', async () => {
  const answer = await pay(seller, `${seller.url}/late`, { body: {} })
  expect(answer.status).toBe(504)
  late.open()
  await late.entered()
  expect(seen).toEqual({ late: true, spread: expect.any(AbortSignal), twice: true })
  expect((seen!.spread as AbortSignal).aborted).toBe(true)
})
