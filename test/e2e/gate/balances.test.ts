/** Balances before routes of apps that exist: what a route says that it cost, what fails, streams, and who hangs up. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createGate, type Gate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { ask, pay } from '../../support/seller.js'
import { APPS, type App, type Route } from './apps.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const earned = () => sandbox.balance(sandbox.seller.address).usdc!
const FRAMEWORKS = ['Express', 'Koa', 'Hono', 'Fastify', 'fetch'] as const

describe.each(FRAMEWORKS)('a balance before routes in %s', name => {
  let gate: Gate
  let app: App
  let runs = 0
  let asks = 0
  let release = () => {}
  const routes: readonly Route[] = [
    {
      method: 'POST',
      path: '/work',
      terms: { price: '$0.01' },
      work({ body, svc }) {
        runs++
        const { costs, status = 200 } = JSON.parse(body) as { costs?: string; status?: number }
        if (costs !== undefined) svc.charge(costs)
        return { answers: { runs }, status }
      },
    },
    {
      method: 'POST',
      path: '/tokens',
      terms: { price: '$0.01', stream: true },
      work: ({ svc }) => ({
        streams: (async function* () {
          svc.charge('$0.001')
          yield 'data: 1\n\n'
          await new Promise<void>(resolve => {
            release = resolve
          })
          svc.charge('$0.002')
          yield 'data: 2\n\n'
        })(),
      }),
    },
    {
      method: 'POST',
      path: '/breaks',
      terms: { price: '$0.01', stream: true },
      work: () => ({
        streams: (async function* () {
          yield 'data: 1\n\n'
          await new Promise<void>(resolve => {
            release = resolve
          })
          throw new Error('the model is gone')
        })(),
      }),
    },
    {
      method: 'POST',
      path: '/dear',
      terms: { price: '$0.01', balance: false },
      work: () => ({ answers: 'dear' }),
    },
  ]
  let call: (
    path: string,
    body: unknown,
    headers?: Record<string, string>,
    signal?: AbortSignal,
  ) => Promise<Response>

  beforeAll(async () => {
    const { facilitatorUrl, algodUrl } = sandbox
    const about = { name: 'Gated', handle: `gated-${name.toLowerCase()}`, description: 'Has routes.' }
    const balance = { amounts: ['$0.03'], period: '1h' }
    gate = createGate(
      { ...about, payTo: sandbox.seller.address, network: 'testnet', balance },
      { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100 },
    )
    app = await APPS[name]!(gate, routes)
  })
  afterAll(async () => {
    await app.close()
    await gate.shutdown()
  })
  beforeEach(async () => {
    runs = 0
    const sale = await pay({ sandbox } as never, `${app.url}/balance`, { body: { amount: '$0.03' } })
    const key = sale.headers.get('x-svc-balance-key')!
    call = (path, body, headers = {}, signal) =>
      ask(`${app.url}${path}`, {
        body,
        headers: { 'x-svc-balance-key': key, 'idempotency-key': `gate-call-${asks++}`, ...headers },
        ...(signal && { signal }),
      })
  })
  const told = ({ status, headers }: Response) =>
    [status, ...['x-svc-charged', 'x-svc-balance'].map(each => headers.get(each))] as const

  it('pays what the route says, once for each key, and nothing where the route fails', async () => {
    const before = earned()
    const headers = { 'idempotency-key': 'one-call-of-a-route' }
    const first = await call('/work', { costs: '$0.0031' }, headers)
    expect([...told(first), await first.json()]).toEqual([200, '3100', '26900', { runs: 1 }])
    const again = await call('/work', { costs: '$0.0031' }, headers)
    expect([...told(again), await again.json()]).toEqual([200, '3100', null, { runs: 1 }])
    expect(told(await call('/work', {}))).toEqual([200, '10000', '16900'])
    expect((await call('/work', { status: 503 })).status).toBe(503)
    expect((await call('/work', { costs: '$0.02' })).status).toBe(500)
    expect((await call('/dear', {})).status).toBe(402)
    expect(told(await call('/work', { costs: '$0' }))).toEqual([200, '0', '16900'])
    expect(told(await call('/work', {}, { 'x-svc-max-charge': '9999' }))[0]).toBe(402)
    expect([runs, earned() - before]).toEqual([5, 0n])
  })

  it('pays for a stream at its end, and for one that its buyer leaves what was said by then', async () => {
    const headers = { 'idempotency-key': 'one-stream-of-a-route' }
    const stream = await call('/tokens', {}, headers)
    expect([stream.status, stream.headers.get('x-svc-reserved')]).toEqual([200, '10000'])
    const reader = stream.body!.getReader()
    await reader.read()
    release()
    while (!(await reader.read()).done);
    const cost = (of: Record<string, string>) =>
      call('/tokens', {}, { ...of, 'x-svc-max-charge': '0' }).then(told)
    await expect.poll(() => cost(headers)).toEqual([200, '2000', null])
    const left = { 'idempotency-key': 'a-stream-that-is-left' }
    const hangUp = new AbortController()
    const leaving = await call('/tokens', {}, left, hangUp.signal)
    await leaving.body!.getReader().read()
    hangUp.abort()
    await expect.poll(() => cost(left)).toEqual([409, '1000', null])
    expect(told(await call('/work', { costs: '$0' }))).toEqual([200, '0', '27000'])
  })

  it('pays nothing for a stream that its route breaks', async () => {
    const headers = { 'idempotency-key': 'a-stream-that-breaks' }
    const stream = await call('/breaks', {}, headers)
    const reader = stream.body!.getReader()
    await reader.read()
    release()
    await expect(reader.read()).rejects.toThrow()
    const cost = () => call('/breaks', {}, { ...headers, 'x-svc-max-charge': '0' }).then(told)
    await expect.poll(cost).toEqual([402, null, null])
  })
})
