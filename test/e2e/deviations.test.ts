/**
 * Where this product differs from the specification on purpose. `proof/specification.md` lists each with its reason; the last test
 * here holds that table to the tests that it names.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { CAIP2, defineEndpoint } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { messageIn, messageOf, post, rpc } from '../support/doors.js'
import { gated } from '../support/gate.js'
import { ask, challengeIn, open, pay, type Seller, signFor } from '../support/seller.js'

const ROOT = new URL('../../', import.meta.url)
const KEY = { 'idempotency-key': 'a-key-that-two-callers-share' }
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const input = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } as const

describe('1.8: the package', () => {
  it('asks for the Node that undici asks for', () => {
    const nodeOf = (folder: string) =>
      JSON.parse(readFileSync(new URL(`${folder}/package.json`, ROOT), 'utf8')).engines.node
    expect(nodeOf('.')).toBe('>=20.18.1')
    expect(nodeOf('.')).toBe(nodeOf('node_modules/undici'))
  })
})

describe('2.5: names', () => {
  it('that no path could reach are refused', () => {
    for (const name of ['/a', 'a/', 'a//b', 'health', 'ready', 'metrics', 'a2a', 'mcp']) {
      const define = () => defineEndpoint({ name, price: '$0.01', handler: () => 1 })
      expect(define, name).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^invalid_(name|endpoint)$/) }),
      )
    }
  })
})

describe('2.7: the log of a call', () => {
  it('rides on what the handler throws and on time-outs, not on an answer that the handler made', async () => {
    const failing = (name: string, fail: () => unknown) =>
      defineEndpoint({
        name,
        price: '$0.01',
        timeout: 1_000,
        handler({ log }) {
          log('began')
          return fail()
        },
      })
    const seller = await open([
      failing('throws', () => Promise.reject(new Error('no'))),
      failing('hangs', () => new Promise(() => {})),
      failing('answers', () => Response.json({ error: { code: 'mine' } }, { status: 422 })),
    ])
    const logsOf = async (name: string) =>
      ((await (await pay(seller, `${seller.url}/${name}`)).json()) as { error: { logs?: unknown } }).error
        .logs
    expect(await logsOf('throws')).toMatchObject([{ message: 'began' }])
    expect(await logsOf('hangs')).toMatchObject([{ message: 'began' }])
    expect(await logsOf('answers')).toBeUndefined()
  })
})

describe('2.9: health', () => {
  it('names the network by its CAIP-2 id', async () => {
    const seller = await open([gated().endpoint])
    const health = await fetch(`${seller.url}/health`)
    expect(await health.json()).toMatchObject({ ok: true, network: CAIP2.testnet })
  })
})

describe('3: an Idempotency-Key', () => {
  it('is its payer’s: the same key of another payer is another call', async () => {
    const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ payment }) => payment.payer })
    const seller = await open([echo], { idempotency: {} })
    const buy = async (account: string) =>
      (await pay(seller, `${seller.url}/echo`, { headers: KEY, account })).json()
    expect(await buy('one')).toBe(seller.sandbox.accounts('one').address)
    expect(await buy('two')).toBe(seller.sandbox.accounts('two').address)
    expect(await buy('one')).toBe(seller.sandbox.accounts('one').address)
    expect(received(seller)).toBe(20_000n)
  })

  it('is held by nothing that is unpaid: requests with one key are all quoted', async () => {
    const slow = defineEndpoint({
      name: 'slow-price',
      price: async () => {
        await new Promise(setImmediate)
        return '$0.01'
      },
      handler: () => 1,
    })
    const seller = await open([slow], { idempotency: {} })
    const asked = [1, 2, 3].map(n => ask(`${seller.url}/slow-price`, { headers: KEY, body: { n } }))
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([402, 402, 402])
  })
})

describe('3: a window', () => {
  it('ends a period after the last moment at which its payment can land', async () => {
    const pass = defineEndpoint({
      name: 'pass',
      subscription: { price: '$1', period: '1h' },
      handler: () => 1,
    })
    const seller = await open([pass])
    const response = await pay(seller, `${seller.url}/pass`)
    const settledMs = Date.now()
    const expiresMs = Date.parse(response.headers.get('x-svc-subscription-expires')!)
    expect(expiresMs - 3_600_000).toBeGreaterThan(settledMs)
    expect(expiresMs - 3_600_000).toBeLessThanOrEqual(settledMs + 300_000)
  })
})

describe('3: draining', () => {
  it('answers 503 on paid routes and doors, while free routes go on answering', async () => {
    const inside = gated()
    const seller = await open([inside.endpoint], { shutdownTimeoutMs: 10_000 })
    const headers = await signFor(seller, `${seller.url}/slow`)
    const working = ask(`${seller.url}/slow`, { headers })
    await inside.entered()
    const stopped = seller.server.shutdown('test')
    expect((await ask(`${seller.url}/slow`)).status).toBe(503)
    const call = rpc('message/send', messageOf('slow', [{ kind: 'data', data: {} }]))
    const told = await messageIn(await post(`${seller.url}/a2a`, call))
    expect(told.error?.data?.code).toBe('shutting_down')
    for (const path of ['/.well-known/svc.json', '/.well-known/agent.json', '/health'])
      expect((await fetch(seller.url + path)).status, path).toBe(200)
    inside.open()
    expect((await working).status).toBe(200)
    await stopped
  })
})

describe('4.2: the order of refusals', () => {
  it('tells a payment that is spent together with the key, before the input is looked at', async () => {
    const work = defineEndpoint({ name: 'work', price: '$0.01', input, handler: () => 1 })
    const seller = await open([work])
    const headers = await signFor(seller, `${seller.url}/work`, { body: { n: 1 } })
    const send = (body: object) => ask(`${seller.url}/work`, { body, headers })
    expect((await send({ n: 1 })).status).toBe(200)
    const again = await send({ n: 'x' })
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ error: { code: 'payment_spent' } })
  })

  it('begins once HTTP could read the request: 405, 413, 415 and a key that is none come before the rate limit', async () => {
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => 1, maxBodyBytes: 10 })
    const limits = { rateLimit: { perMinute: 1, per: 'ip' }, idempotency: {} } as const
    const seller = await open([work], limits)
    const send = async (request: Parameters<typeof ask>[1]) =>
      (await ask(`${seller.url}/work`, request)).status
    expect([await send({}), await send({})]).toEqual([402, 429])
    expect(await send({ method: 'PUT' })).toBe(405)
    expect(await send({ body: { text: 'longer than ten' } })).toBe(413)
    expect(await send({ body: {}, headers: { 'content-encoding': 'gzip' } })).toBe(415)
    expect(await send({ headers: { 'idempotency-key': 'two words' } })).toBe(400)
  })
})

describe('4.3: A2A', () => {
  it('answers SendMessage, which is what message/send is called since 1.0', async () => {
    const seller = await open([gated().endpoint])
    for (const [method, code] of [
      ['message/send', -32010],
      ['SendMessage', -32010],
      ['message/stream', -32601],
    ] as const) {
      const told = await messageIn(
        await post(`${seller.url}/a2a`, rpc(method, messageOf('slow', [{ data: {}, kind: 'data' }]))),
      )
      expect(told.error?.code, method).toBe(code)
    }
  })
})

describe('4.5: facilitatorUrl', () => {
  it('on plain http at a public host needs allowHttp', async () => {
    const facilitatorUrl = 'http://facilitator.example'
    const start = (allowHttp?: boolean) =>
      open([gated().endpoint], { facilitatorUrl, advanced: { allowHttp } })
    await expect(start()).rejects.toMatchObject({ code: 'invalid_facilitator' })
    expect((await ask(`${(await start(true)).url}/slow`, { method: 'PUT' })).status).toBe(405)
  })
})

describe('4.8: the client', () => {
  it('without any cap pays nothing but USDC on its own network', async () => {
    const seller = await open([gated().endpoint])
    const [entry] = challengeIn(await ask(`${seller.url}/slow`)).accepts
    const offers = [
      { ...entry, asset: '1' },
      { ...entry, network: CAIP2.mainnet },
      { ...entry, asset: '0' },
    ]
    const { mnemonic } = seller.sandbox.wallet
    const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: seller.sandbox.algodUrl })
    for (const offer of offers) {
      let payments = 0
      const stranger = createServer((request, response) => {
        if (request.headers['payment-signature']) payments++
        response
          .writeHead(402, { 'payment-required': encodeHeader({ x402Version: 2, accepts: [offer] }) })
          .end('{}')
      }).listen(0, '127.0.0.1')
      closing({ close: () => void stranger.close() })
      await new Promise(resolve => stranger.once('listening', resolve))
      const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`
      await expect(client.call(url, {})).rejects.toMatchObject({ code: 'unreadable_quote' })
      expect(payments).toBe(0)
    }
  })
})

it('proof/specification.md lists them, and every test that it names is there', () => {
  const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')
  const [, table = ''] = read('proof/specification.md').split('## Deviations\n')
  const rows = table
    .split('\n## ')[0]!
    .split('\n')
    .filter(line => line.startsWith('| '))
    .slice(2)
  expect(rows.length).toBeGreaterThan(10)
  for (const row of rows) {
    const cell = row.split('|').at(-2)!.trim()
    const [, path, title] = /^\[`(test\/[^`]+)`\]\([^)]+\): (.+)$/.exec(cell) ?? []
    expect(path, row).toBeDefined()
    expect(read(path!)).toContain(title!)
  }
  const own = [...read('test/e2e/deviations.test.ts').matchAll(/^ {2}it\(\n? *'([^']+)'/gm)].map(
    ([, title]) => title!,
  )
  for (const title of own) expect(table, title).toContain(title)
})
