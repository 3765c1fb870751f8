/** Endpoints with parameters in their path and with other methods: over both hosts, and through the doors for agents. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHandler, defineAgent, defineEndpoint } from '../../src/index.js'
import { DOORS } from '../support/doors.js'
import { ask, challengeIn, openSeller, pay, type Seller, signFor } from '../support/seller.js'

let runs = 0
const echo = (
  name: string,
  path: string,
  methods: readonly ('GET' | 'POST' | 'PUT' | 'DELETE')[],
  price: string,
) =>
  defineEndpoint({
    name,
    path,
    methods,
    price,
    handler({ params, body }) {
      runs++
      return { name, params, body }
    },
  })
const endpoints = [
  echo('any', '/v1/*rest', ['GET', 'POST'], '$0.01'),
  echo('special', '/v1/special', ['POST'], '$0.50'),
  echo('item', '/items/:id', ['GET', 'PUT', 'DELETE'], '$0.02'),
  echo('part', '/items/:id/parts/:part', ['GET'], '$0.03'),
  defineEndpoint({
    name: 'by-size',
    path: '/sized/:size',
    price: ({ params }) => `$0.0${params.size}`,
    handler: ({ params }) => params,
  }),
]
const KEY = 'k'.repeat(36)

let seller: Seller
let web: (request: Request) => Promise<Response>
let shutdown: () => Promise<unknown>
beforeAll(async () => {
  seller = await openSeller(endpoints, { idempotency: { onLostResponse: 'replay' } })
  const { facilitatorUrl, algodUrl } = seller.sandbox
  const agent = defineAgent({
    name: 'Paths',
    handle: 'test-agent',
    description: 'Has paths.',
    payTo: seller.sandbox.seller.address,
    network: 'testnet',
    endpoints,
  })
  const handler = createHandler(agent, { facilitatorUrl, algodUrl })
  web = handler.fetch
  shutdown = handler.shutdown
})
afterAll(async () => {
  await shutdown()
  await seller.close()
})

const balance = () => seller.sandbox.balance(seller.sandbox.seller.address).usdc!

/** Sends the path as it stands: `fetch` would mend it. */
function raw(path: string, method = 'POST'): Promise<{ status: number; body: string; allow?: string }> {
  const { hostname, port } = new URL(seller.url)
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method }, response => {
      let body = ''
      response.on('data', chunk => {
        body += chunk
      })
      response.on('end', () =>
        resolve({ status: response.statusCode!, body, allow: response.headers.allow! }),
      )
    })
      .on('error', reject)
      .end()
  })
}

describe('an endpoint with a parameter in its path', () => {
  it('is quoted, paid for and served at the path that was asked for', async () => {
    const url = `${seller.url}/items/a%20b`
    const before = balance()
    expect(challengeIn(await ask(url, { method: 'PUT' })).resource.url).toBe(url)
    const paid = await pay(seller, url, { method: 'PUT', body: { x: 1 } })
    expect(await paid.json()).toEqual({ name: 'item', params: { id: 'a b' }, body: { x: 1 } })
    expect(balance() - before).toBe(20_000n)
  })

  it('has its parameters in its price', async () => {
    const url = `${seller.url}/sized/4`
    expect(challengeIn(await ask(url)).accepts[0]!.amount).toBe('40000')
    expect(await (await pay(seller, url, { body: {} })).json()).toEqual({ size: '4' })
  })

  it('names its pattern to indexes', async () => {
    const { extensions } = challengeIn(await ask(`${seller.url}/items/1`, { method: 'PUT' }))
    expect(extensions!.bazaar).toMatchObject({ routeTemplate: '/items/:id' })
  })

  it('has one key for one path and one method', async () => {
    const url = `${seller.url}/items/1`
    const headers = { ...(await signFor(seller, url, { method: 'DELETE' })), 'idempotency-key': KEY }
    const before = balance()
    runs = 0
    const first = await ask(url, { method: 'DELETE', headers })
    expect(await first.json()).toMatchObject({ params: { id: '1' } })
    const again = await ask(url, { method: 'DELETE', headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    const other = { ...(await signFor(seller, url, { method: 'DELETE' })), 'idempotency-key': KEY }
    for (const [path, method] of [
      ['/items/2', 'DELETE'],
      ['/items/1', 'PUT'],
      ['/items/1', 'GET'],
    ] as const) {
      const reused = await ask(seller.url + path, { method, headers: other })
      expect([
        path,
        reused.status,
        ((await reused.json()) as { error: { code: string } }).error.code,
      ]).toEqual([path, 409, 'idempotency_key_reuse'])
    }
    expect(runs).toBe(1)
    expect(balance() - before).toBe(20_000n)
  })

  it('sells one payment once, whatever path it is sent to', async () => {
    const headers = await signFor(seller, `${seller.url}/items/1`, { method: 'GET' })
    runs = 0
    const answers = await Promise.all(
      ['1', '2', '3', '4'].map(id => ask(`${seller.url}/items/${id}`, { method: 'GET', headers })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(3)
    expect(runs).toBe(1)
  })
})

describe('the route of a path', () => {
  const amountAt = async (path: string, method: string) =>
    challengeIn(await ask(seller.url + path, { method })).accepts[0]!.amount

  it('is the most specific one that has the method', async () => {
    expect(await amountAt('/v1/special', 'POST')).toBe('500000')
    expect(await amountAt('/v1/special', 'GET')).toBe('10000')
    expect(await amountAt('/v1/other/more', 'POST')).toBe('10000')
    expect(await amountAt('/items/1/parts/2', 'GET')).toBe('30000')
  })

  it('answers other methods with what the path has', async () => {
    expect(await raw('/items/1', 'PATCH')).toMatchObject({ status: 405, allow: 'GET, PUT, DELETE, OPTIONS' })
    expect(await raw('/items/1', 'OPTIONS')).toMatchObject({
      status: 204,
      allow: 'GET, PUT, DELETE, OPTIONS',
    })
    expect(await raw('/items/1', 'HEAD')).toMatchObject({ status: 405 })
    expect(await raw('/v1/special', 'OPTIONS')).toMatchObject({ allow: 'POST, GET, OPTIONS' })
    // A probe, as at any endpoint without GET.
    expect(await raw('/sized/2', 'GET')).toMatchObject({ status: 402 })
  })

  it.each([
    ['/items/a%2fb', 400],
    ['/items/a%5cb', 400],
    ['/items/%61', 400],
    ['/items/%zz', 400],
    ['/items/%ff', 400],
    ['/items/a%00', 400],
    ['/items/a%252fb', 402],
    ['/v1//special', 400],
    ['/v1/%73pecial', 400],
    ['/v1/SPECIAL', 400],
    ['/v1/special/', 400],
    ['/v1/special;a=1', 400],
    ['/v1/special%3Ba', 400],
    ['/V1/other', 404],
    ['/%76%31/other', 404],
    ['/items/', 404],
    ['/items/1/', 404],
    ['//items/1', 404],
    ['/v1/', 404],
  ])('of %s is the same on both hosts: %i', async (path, status) => {
    const method = path.startsWith('/items') ? 'PUT' : 'POST'
    const overNode = await raw(path, method)
    const overFetch = await web(new Request(`https://agent.example${path}`, { method }))
    expect([overNode.status, overFetch.status]).toEqual([status, status])
    if (status === 400) expect(JSON.parse(overNode.body).error.code).toBe('invalid_path')
  })

  it.each([
    '/items/..',
    '/items/%2e%2e',
    '/v1/%2E/special',
    '/v1/../v1/special',
    '/v1/./special',
    '/v1/a\\b',
    '/v1/a#b',
    '/items/é',
  ])('of %s is refused where the host has not mended it', async path =>
    expect(await raw(encodeNothing(path))).toMatchObject({ status: 400 }),
  )

  it.each(['http://elsewhere.example/v1/x', '*'])('is none for the target %s', async target => {
    expect(await raw(target)).toMatchObject({ status: 404 })
  })

  it('is a free route before it is a pattern', async () => {
    const all = await openSeller([echo('all', '/*rest', ['GET'], '$0.01')], { sandbox: seller.sandbox })
    expect((await fetch(`${all.url}/health`)).status).toBe(200)
    expect((await fetch(`${all.url}/.well-known/svc.json`)).status).toBe(200)
    expect((await fetch(`${all.url}/.well-known/other`)).status).toBe(402)
    await all.close()
  })
})

/** Node refuses to send other characters. */
function encodeNothing(path: string): string {
  return Buffer.from(path, 'utf8').toString('latin1')
}

describe.each(Object.entries(DOORS))('over %s', (_, door) => {
  it('a message names the parameters, and has the price of its path', async () => {
    const asked = { skill: 'item', input: { params: { id: 'x y' }, input: { deep: true } } }
    const quoted = await door(seller.url, asked)
    expect(quoted.code).toBe('payment_required')
    expect(quoted.challenge!.resource.url).toBe(`${seller.url}/items/x%20y`)
    const headers = await signFor(seller, `${seller.url}/items/1`, { method: 'GET' })
    const told = await door(seller.url, { ...asked, headers })
    expect(told.data).toMatchObject({ name: 'item', params: { id: 'x y' } })
  })

  it.each([
    ['item', {}],
    ['item', { params: {} }],
    ['item', { params: { id: 7 } }],
    ['item', { params: { id: '..' } }],
    ['item', { params: { id: 'a/b' } }],
    ['any', { params: { rest: 'a//b' } }],
    ['any', { params: { rest: '../special' } }],
  ])('%s refuses %j', async (skill, input) => {
    const told = await door(seller.url, { skill, input })
    expect(told.code).not.toBe('payment_required')
    expect(told.code).not.toBe('ok')
  })
})
