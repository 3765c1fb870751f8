/** An app behind a parser that has read the body: real Express, and Koa with what its parsers leave, by their sources. */
import express, { type RequestHandler } from 'express'
import Koa, { type Middleware } from 'koa'
import mount from 'koa-mount'
import rawBody from 'raw-body'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createServer, defineAgent, defineEndpoint } from '../../src/index.js'
import { startSandbox } from '../../src/sandbox.js'
import { messageOf, rpc } from '../support/doors.js'
import { listen } from '../support/listen.js'
import { ask, challengeIn, openSeller, type Seller, signFor } from '../support/seller.js'

const MAX_BYTES = 2_000
const seen: unknown[] = []
const endpoints = [
  defineEndpoint({
    name: 'shout',
    price: '$0.01',
    input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
    handler({ body }) {
      seen.push(body)
      return { said: body.text.toUpperCase() }
    },
  }),
  defineEndpoint({
    name: 'any',
    price: '$0.01',
    handler({ body }) {
      seen.push(body)
      return { ok: true }
    },
  }),
]

/** It only signs: prices and addresses are those of the apps below. */
let seller: Seller
let app: Koa
beforeAll(async () => {
  const sandbox = await startSandbox()
  seller = await openSeller(endpoints, { sandbox })
  const agent = defineAgent({
    name: 'Mounted',
    handle: 'mounted',
    description: 'Behind a parser.',
    payTo: sandbox.seller.address,
    network: 'testnet',
    endpoints,
  })
  const { facilitatorUrl, algodUrl } = sandbox
  app = createServer(agent, { facilitatorUrl, algodUrl, maxBodyBytes: MAX_BYTES, idempotency: {} })
})
afterAll(async () => {
  await seller.close()
  await seller.sandbox.close()
})
beforeEach(() => {
  seen.length = 0
})

const behindExpress = (...before: RequestHandler[]) =>
  listen(express().use(...(before as [RequestHandler]), app.callback()))

/** Express 4 and its parsers set `req.body` in any case. */
const emptyBody: RequestHandler = (req, _, next) => {
  req.body = req.body ?? {}
  next()
}

/** As koa-bodyparser 4 and @koa/bodyparser leave it: the text, what it says, `{}` where the type is not theirs. */
const koaBodyparser: Middleware = async (ctx, next) => {
  const request = ctx.request as { body?: unknown; rawBody?: string }
  request.body = {}
  if (ctx.is('json')) {
    request.rawBody = await rawBody(ctx.req, { encoding: 'utf8', length: ctx.request.length, limit: '1mb' })
    request.body = request.rawBody === '' ? {} : JSON.parse(request.rawBody)
  } else if (ctx.is('urlencoded')) {
    request.rawBody = await rawBody(ctx.req, { encoding: 'utf8' })
    request.body = Object.fromEntries(new URLSearchParams(request.rawBody))
  }
  await next()
}

/** As koa-body leaves it: what the text says, and nothing else. */
const koaBody: Middleware = async (ctx, next) => {
  if (ctx.is('json')) {
    Object.assign(ctx.request, { body: JSON.parse((await rawBody(ctx.req, 'utf8')) || '{}') })
  }
  await next()
}

function behindKoa(...before: Middleware[]): Promise<string> {
  const outer = new Koa()
  for (const each of before) outer.use(each)
  return listen(outer.use(mount(app)).callback())
}

const hosts: Readonly<Record<string, () => Promise<string>>> = {
  'express.json()': () => behindExpress(express.json({ limit: '1mb' })),
  'express.json() as Express 4 leaves it': () => behindExpress(express.json({ limit: '1mb' }), emptyBody),
  'express.text()': () => behindExpress(express.text({ type: '*/*' })),
  'express.raw()': () => behindExpress(express.raw({ type: '*/*' })),
  'express.json() that keeps rawBody': () =>
    behindExpress(
      express.json({ verify: (req, _, bytes) => Object.assign(req, { rawBody: bytes }), limit: '1mb' }),
    ),
  'koa-bodyparser': () => behindKoa(koaBodyparser),
  'koa-body': () => behindKoa(koaBody),
  'no parser': () => behindExpress((_req, _res, next) => next()),
  'a parser of another type': () => behindExpress(express.json({ type: 'application/other' }), emptyBody),
  'koa-bodyparser in an Express app': async () => {
    const outer = new Koa().use(koaBodyparser).use(mount(app))
    return listen(express().use(outer.callback()))
  },
}

const send = async (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      ...(await signFor(seller, `${seller.url}/any`)),
      ...headers,
    },
  })

const codeOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { error: { code: string } }).error.code,
]

const charged = () => seller.sandbox.balance(seller.sandbox.seller.address).usdc!

describe.each(Object.entries(hosts))('behind %s', (_, host) => {
  it('a paid call is answered, with the body as it was sent', async () => {
    const url = await host()
    const before = charged()
    const response = await send(`${url}/shout`, '{"text": "hällo", "deep": [1, {"a": null}]}')
    expect([response.status, await response.json()]).toEqual([200, { said: 'HÄLLO' }])
    expect(seen).toEqual([{ text: 'hällo', deep: [1, { a: null }] }])
    expect(charged() - before).toBe(10_000n)
  })

  it('a probe stays a probe, and an unpaid call is held against the schema', async () => {
    const url = await host()
    const typed: Record<string, string>[] = [{}, { 'content-type': 'application/json' }]
    for (const headers of typed) {
      const probe = await fetch(`${url}/shout`, { method: 'POST', headers })
      expect(probe.status).toBe(402)
      expect(challengeIn(probe).resource.url).toBe(`${url}/shout`)
    }
    expect(await codeOf(await ask(`${url}/shout`, { body: {} }))).toEqual([400, 'invalid_input'])
    expect((await ask(`${url}/shout`, { body: { text: 'x' } })).status).toBe(402)
  })

  it('the rules for bodies hold, and nothing is charged', async () => {
    const url = await host()
    const before = charged()
    const refused = {
      '{"text": "x", "__proto__": {"admin": true}}': [400, 'invalid_json'],
      '{"text": "x", "constructor": {"prototype": {}}}': [400, 'invalid_json'],
      '{"text": "x", "n": 1e999}': [400, 'invalid_json'],
      '{"text": "x", "n": [-1e999]}': [400, 'invalid_json'],
      [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`]: [400, 'invalid_json'],
      [JSON.stringify({ text: 'x'.repeat(MAX_BYTES) })]: [413, 'body_too_large'],
      [`{"text": "x"${' '.repeat(MAX_BYTES)}}`]: [413, 'body_too_large'],
    }
    for (const [body, answer] of Object.entries(refused)) {
      expect(await codeOf(await send(`${url}/shout`, body)), body.slice(0, 60)).toEqual(answer)
    }
    expect(seen).toEqual([])
    expect(charged()).toBe(before)
  })

  it('the doors for agents read it, too', async () => {
    const url = await host()
    const payment = await signFor(seller, `${seller.url}/any`)
    const a2a = await ask(`${url}/a2a`, {
      body: rpc('message/send', messageOf('shout', [{ kind: 'data', data: { text: 'a' } }])),
      headers: payment,
    })
    expect(await a2a.json()).toMatchObject({ result: { status: { state: 'completed' } } })
    const mcp = await ask(`${url}/mcp`, { body: rpc('tools/list', {}) })
    expect(await mcp.text()).toContain('shout')
    expect(seen).toEqual([{ text: 'a' }])
  })
})

describe('where nothing usable is left', () => {
  const drain: RequestHandler = async (req, _, next) => {
    for await (const _chunk of req);
    next()
  }
  const left: Readonly<Record<string, unknown>> = {
    nothing: undefined,
    'a function': () => 1,
    'a cycle': Object.assign(
      {},
      {
        get self() {
          return this
        },
      },
    ),
    'a bigint': { n: 1n },
  }
  for (const [name, body] of Object.entries(left)) {
    it(`${name}: 500 at once that says what the seller does, uncharged`, async () => {
      const put: RequestHandler = (req, _, next) => {
        if (body !== undefined) req.body = body
        next()
      }
      const url = await behindExpress(drain, put)
      const before = charged()
      const response = await send(`${url}/any`, '{"text":"x"}')
      expect(response.status).toBe(500)
      const { error } = (await response.json()) as { error: { code: string; message: string } }
      expect(error.code).toBe('body_already_read')
      expect(error.message).toMatch(/req\.body or ctx\.request\.body\. You were not charged/)
      for (const path of ['a2a', 'mcp']) {
        const rpcError = await ask(`${url}/${path}`, { body: rpc('tools/list', {}) })
        expect(rpcError.status).toBe(500)
        expect(await rpcError.json()).toMatchObject({ error: { data: { code: 'body_already_read' } } })
      }
      expect(seen).toEqual([])
      expect(charged()).toBe(before)
      expect((await fetch(`${url}/any`, { method: 'POST' })).status, 'a probe has no body').toBe(402)
    })
  }
})

describe('a body that is ambiguous', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }

  it('a form is 400 invalid_json, whoever read it', async () => {
    const urls = await Promise.all([
      behindExpress(express.urlencoded({ extended: true })),
      behindKoa(koaBodyparser),
      behindExpress((_req, _res, next) => next()),
    ])
    for (const url of urls) {
      expect(await codeOf(await send(`${url}/any`, 'text=x&n=1', form))).toEqual([400, 'invalid_json'])
    }
    expect(seen).toEqual([])
  })

  it('JSON that says it is a form is read as JSON where its text is left', async () => {
    for (const url of [await behindKoa(koaBodyparser), await behindExpress((_req, _res, next) => next())]) {
      expect((await send(`${url}/any`, '{"text":"x"}', form)).status).toBe(200)
    }
    expect(seen).toEqual([{ text: 'x' }, { text: 'x' }])
  })

  it('a JSON string is a string, and the text of one is not read twice', async () => {
    const strings = await behindExpress(express.json({ strict: false }))
    const texts = await behindExpress(express.text({ type: '*/*' }))
    for (const url of [strings, texts]) {
      for (const value of ['hello', '{"text":"x"}', '5', 'ünï "q" \\ \n', '']) {
        expect((await send(`${url}/any`, JSON.stringify(value))).status).toBe(200)
      }
    }
    const expected = ['hello', '{"text":"x"}', '5', 'ünï "q" \\ \n', '']
    expect(seen).toEqual([...expected, ...expected])
  })

  it('an empty body without a length is none, and `{}` with one is a body', async () => {
    const url = await behindExpress(express.json())
    const chunked = await fetch(`${url}/shout`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new ReadableStream({ start: controller => controller.close() }),
      duplex: 'half',
    } as RequestInit)
    expect(chunked.status).toBe(402)
    expect(await codeOf(await ask(`${url}/shout`, { body: {} }))).toEqual([400, 'invalid_input'])
  })

  it('a stream that something in front has paused is read all the same', async () => {
    const url = await behindExpress((req, _res, next) => {
      req.pause()
      setImmediate(next)
    })
    expect((await send(`${url}/any`, '{"text":"x"}')).status).toBe(200)
    expect(seen).toEqual([{ text: 'x' }])
  })

  it('Infinity from a parser that makes one is refused, not read as null', async () => {
    const url = await behindExpress(express.json(), (req, _res, next) => {
      req.body = { n: Number.POSITIVE_INFINITY }
      next()
    })
    expect(await codeOf(await send(`${url}/any`, '{"n":1}'))).toEqual([400, 'invalid_json'])
  })
})

it('in Express, quotes and manifest name the path that it is mounted at', async () => {
  const url = await listen(express().use('/api/v1', express.json(), app.callback()))
  const quoted = await ask(`${url}/api/v1/shout`, { body: { text: 'x' } })
  expect(challengeIn(quoted).resource.url).toBe(`${url}/api/v1/shout`)
  const manifest = (await (await fetch(`${url}/api/v1/.well-known/svc.json`)).json()) as {
    endpoints: { url: string }[]
  }
  expect(manifest.endpoints[0]!.url).toBe(`${url}/api/v1/shout`)
})
