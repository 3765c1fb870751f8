/** Balances before a server that runs already: what its answers say that they cost, what fails, and what reaches it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import type { Sandbox } from '../../src/sandbox.js'
import type { Sold, Terms } from '../../src/sell.js'
import { gate } from '../support/gate.js'
import { http, type RawUpstream } from '../support/raw-upstream.js'
import { ask, challengeIn, pay } from '../support/seller.js'
import { soldUpstream } from '../support/sold-upstream.js'

let sandbox: Sandbox
let upstream: RawUpstream
let url: string
let server: Sold
let terms: Terms
let close: () => Promise<void>
beforeAll(async () => {
  const routes = [
    { route: 'POST /v1/*', price: '$0.01' },
    { route: 'POST /only', price: '$0.01', only: 'balance' as const },
    { route: 'GET /health', free: true },
  ]
  const sold = await soldUpstream({ balance: { amounts: ['$0.05'], period: '1h' }, routes })
  ;({ sandbox, upstream, url, server, terms, close } = sold)
})
afterAll(() => close())

let asks = 0
async function held() {
  const sale = await pay({ sandbox } as never, `${url}/balance`, { body: { amount: '$0.05' } })
  const key = sale.headers.get('x-svc-balance-key')!
  const call = (path: string, headers: Record<string, string> = {}) =>
    ask(url + path, {
      body: {},
      headers: { 'x-svc-balance-key': key, 'idempotency-key': `sold-call-${asks++}`, ...headers },
    })
  return { key, call }
}
const answers = (status: string, headers: readonly string[] = [], body = 'done') => {
  upstream.answer = socket => void socket.write(http(status, headers, body))
}
const told = async (response: Response) => [
  response.status,
  ...['x-svc-charged', 'x-svc-balance'].map(name => response.headers.get(name)),
]

it('pays what an answer says that it cost, else the price, and nothing for a failure', async () => {
  const { key, call } = await held()
  const before = sandbox.balance(sandbox.seller.address).usdc!
  upstream.received.length = 0
  answers('200 OK', ['X-Svc-Charge: $0.0031'])
  const headers = { 'idempotency-key': 'one-call-of-a-server' }
  const first = await call('/v1/a', headers)
  expect([...(await told(first)), await first.text()]).toEqual([200, '3100', '46900', 'done'])
  expect(first.headers.get('x-svc-charge')).toBeNull()
  expect(await told(await call('/v1/a', headers))).toEqual([200, '3100', null])
  expect(upstream.received).toHaveLength(1)
  expect(JSON.stringify(upstream.received)).not.toContain(key)
  expect(upstream.received[0]!.headers).toContain('x-svc-idempotency-key: one-call-of-a-server')
  answers('200 OK')
  expect(await told(await call('/v1/b'))).toEqual([200, '10000', '36900'])
  for (const lie of ['$0.02', '-$1', 'NaN', '$0.001, $0.001', '']) {
    answers('200 OK', [`x-svc-charge: ${lie}`])
    expect((await call('/v1/c')).status).toBe(500)
  }
  for (const status of ['404 Not Found', '503 Service Unavailable', '402 Payment Required', '302 Found']) {
    answers(status, ['x-svc-charge: $0.001'])
    expect((await call('/v1/d')).status).toBeGreaterThanOrEqual(400)
  }
  upstream.answer = socket => socket.destroy()
  expect((await call('/v1/e')).status).toBe(502)
  answers('200 OK', ['x-svc-charge: $0'])
  expect(await told(await call('/v1/f'))).toEqual([200, '0', '36900'])
  expect(sandbox.balance(sandbox.seller.address).usdc).toBe(before)
})

it('is all that a route takes which says so; what a paid call costs is its price, whatever the answer says', async () => {
  const { call } = await held()
  answers('200 OK', ['x-svc-charge: $0.002'])
  const quote = challengeIn(await ask(`${url}/only`, { body: {} }))
  expect(quote.accepts[0]!.amount).toBe('50000')
  expect(quote.extensions?.['svc-balance']).toMatchObject({ info: { only: true, price: '10000' } })
  expect(await told(await call('/only'))).toEqual([200, '2000', '48000'])
  const before = sandbox.balance(sandbox.seller.address).usdc!
  expect((await pay({ sandbox } as never, `${url}/v1/x`, { body: {} })).status).toBe(200)
  expect(sandbox.balance(sandbox.seller.address).usdc! - before).toBe(10_000n)
})

it('pays for an event stream at its end: what its head said, and nothing where the server breaks it', async () => {
  const { call } = await held()
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n'
  const piece = 'X-Svc-Charge: $0.004\r\n\r\n9\r\ndata: 1\n\n\r\n'
  upstream.answer = socket => void socket.write(`${head}${piece}0\r\n\r\n`)
  const headers = { 'idempotency-key': 'one-stream-of-a-server' }
  const stream = await call('/v1/tokens', headers)
  expect([stream.headers.get('x-svc-reserved'), await stream.text()]).toEqual(['10000', 'data: 1\n\n'])
  const cost = async (of: Record<string, string>) =>
    told(await call('/v1/tokens', { ...of, 'x-svc-max-charge': '0' }))
  await expect.poll(() => cost(headers)).toEqual([200, '4000', null])
  upstream.answer = socket => void socket.write(head + piece, () => socket.destroy())
  const broken = { 'idempotency-key': 'a-stream-that-breaks' }
  await expect(call('/v1/tokens', broken).then(each => each.text())).rejects.toThrow()
  await expect.poll(async () => (await cost(broken))[0]).toBe(402)
  answers('200 OK', ['x-svc-charge: $0'])
  expect(await told(await call('/v1/f'))).toEqual([200, '0', '46000'])
})

it('stays its buyer’s where the terms are read again: those of another seller, or without it, are refused', async () => {
  const { call } = await held()
  answers('200 OK')
  const payTo = sandbox.accounts('another seller').address
  for (const other of [{ payTo }, { network: 'mainnet' as const }, { handle: 'another' }])
    expect(() => server.reload({ ...terms, ...other })).toThrow(/another seller/)
  const { balance: _, ...others } = { ...terms, routes: terms.routes.slice(0, 1) }
  expect(() => server.reload(others)).toThrow(/would pay for nothing/)
  expect(await told(await call('/v1/a'))).toEqual([200, '10000', '40000'])
  server.reload({ ...terms, handle: 'another', formerly: [terms.handle] })
  expect(await told(await call('/v1/b'))).toEqual([200, '10000', '30000'])
  server.reload(terms)
  expect(await told(await call('/v1/c'))).toEqual([200, '10000', '20000'])
})

it('is charged for a stream that began before the terms were read again, also where its store is down at the end', async () => {
  const charges = memoryChargeStore()
  const refused = gate()
  let isDown = false
  const count: typeof charges.count = move => {
    if (!isDown) return charges.count(move)
    refused.open()
    return Promise.reject(new Error('the store is down'))
  }
  const balance = { amounts: ['$0.05'], period: '1h' }
  const routes = [{ route: 'POST /v1/*', price: '$0.01' }]
  const sold = await soldUpstream({ balance, routes }, { stores: { charges: { ...charges, count } } })
  try {
    const ended = gate()
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
    sold.upstream.answer = async socket => {
      socket.write(`${head}9\r\ndata: 1\n\n\r\n`)
      await ended.opened
      socket.write('0\r\n\r\n')
    }
    const sale = await pay(sold as never, `${sold.url}/balance`, { body: { amount: '$0.05' } })
    const headers = {
      'x-svc-balance-key': sale.headers.get('x-svc-balance-key')!,
      'idempotency-key': 'a-stream-across-terms',
    }
    const stream = await ask(`${sold.url}/v1/a`, { body: {}, headers })
    sold.server.reload(sold.terms)
    isDown = true
    ended.open()
    await stream.text()
    await refused.opened
    isDown = false
    const asked = { body: {}, headers: { ...headers, 'x-svc-max-charge': '0' } }
    const cost = async () => told(await ask(`${sold.url}/v1/a`, asked))
    await expect.poll(cost).toEqual([200, '10000', null])
  } finally {
    await sold.close()
  }
})
