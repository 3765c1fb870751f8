/** What whoever runs an agent can see of it, over HTTP: runs, metrics, health, readiness, and the log. */

import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { type CheckResult, namedChecks } from '../../src/app/server/health.js'
import { MAINNET } from '../../src/domain/network.js'
import { defineAgent, defineEndpoint, type Logger, type Ready, SvcError, serve } from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import { silentLogger } from '../../src/ports/logger.js'
import { closing } from '../support/closing.js'
import { eventually } from '../support/eventually.js'
import { fakeFacilitator, json, type Reply } from '../support/fake-facilitator.js'
import { fakeNode } from '../support/fake-node.js'
import { gate, gated } from '../support/gate.js'
import { parsePrometheus } from '../support/prometheus-text.js'
import { ask, open, pay, receiptIn, type Seller, signFor } from '../support/seller.js'

const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body })
const fail = defineEndpoint({
  name: 'fail',
  price: '$0.01',
  handler: () => Promise.reject(new SvcError('gone', 'gone', 410)),
})
const window = defineEndpoint({
  name: 'window',
  subscription: { price: '$1', period: '1d' },
  handler: () => 1,
})

async function get(url: string) {
  const response = await fetch(url)
  return { status: response.status, headers: response.headers, body: (await response.json()) as unknown }
}

function collector() {
  const lines: { level: string; fields: Record<string, unknown>; message: string }[] = []
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message })
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { lines, logger }
}

describe('specification 4.5: onReady', () => {
  const free = [
    'GET /',
    'GET /.well-known/svc.json',
    'GET /.well-known/x402',
    'GET /.well-known/x402.json',
    'GET /.well-known/agent.json',
    'GET /.well-known/agent-card.json',
    'GET /openapi.json',
    'GET /health',
    'GET /ready',
    'GET /metrics',
    'GET /_svc/runs',
    'GET /a2a',
    'POST /a2a',
    'POST /mcp',
  ]
  const under = (basePath: string) => free.map(route => route.replace(' ', ` ${basePath}`))

  it.each([
    ['', ['POST /echo', ...free]],
    ['/api', ['POST /api/echo', ...free, ...under('/api')]],
  ])(
    'is told the port, the network and every path that answers, under the base path %o too',
    async (basePath, all) => {
      const told: Ready[] = []
      const seller = await open([echo], { basePath, onReady: ready => told.push(ready) })
      const [{ routes, ...rest }] = told as [Ready]
      expect(rest).toEqual({ port: Number(new URL(seller.url).port), network: 'testnet' })
      expect(new Set(routes).size).toBe(routes.length)
      expect(routes).toEqual(expect.arrayContaining(all))
      for (const route of routes) {
        const [method, path] = route.split(' ') as [string, string]
        const response = await fetch(seller.url + path, { method, signal: AbortSignal.timeout(10_000) })
        await response.body?.cancel()
        expect([404, 405], route).not.toContain(response.status)
      }
    },
  )
})

describe('runs', () => {
  it('are the last calls, newest first, in exactly five fields, at the root and under the base path', async () => {
    const seller = await open([echo, fail], { basePath: '/api' })
    await ask(`${seller.url}/api/echo`)
    const paid = await pay(seller, `${seller.url}/api/echo`, { body: { secret: 'in the body' } })
    await pay(seller, `${seller.url}/api/fail`)
    const { body } = await get(`${seller.url}/_svc/runs`)
    const entry = (endpoint: string, status: number, txId: unknown) => ({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      endpoint,
      status,
      ms: expect.any(Number),
      txId,
    })
    // Each payment was preceded by a quote.
    expect(body).toEqual([
      entry('fail', 410, expect.stringMatching(/^[A-Z2-7]{52}$/)),
      entry('fail', 402, null),
      entry('echo', 200, receiptIn(paid).txId),
      entry('echo', 402, null),
      entry('echo', 402, null),
    ])
    expect((await get(`${seller.url}/api/_svc/runs`)).body).toEqual(body)
  })
})

describe('metrics', () => {
  async function scrape(base: string) {
    const response = await fetch(`${base}/metrics`)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    const families = parsePrometheus(text)
    const value = (name: string, labels: object = {}) =>
      [...families.values()]
        .flatMap(({ samples }) => samples)
        .find(sample => sample.name === name && JSON.stringify(sample.labels) === JSON.stringify(labels))
        ?.value
    return { text, families, value }
  }

  it('count calls and money, and name no payer', async () => {
    const seller = await open([echo, fail, window], { basePath: '/api' })
    await ask(`${seller.url}/api/echo`)
    await pay(seller, `${seller.url}/api/echo`, { body: {} })
    await pay(seller, `${seller.url}/api/window`)
    await pay(seller, `${seller.url}/api/fail`)
    for (const base of [seller.url, `${seller.url}/api`]) {
      const { text, families, value } = await scrape(base)
      expect(value('svc_requests_total', { endpoint: 'echo', status: '402' })).toBe(2)
      expect(value('svc_requests_total', { endpoint: 'echo', status: '200' })).toBe(1)
      expect(value('svc_requests_total', { endpoint: 'fail', status: '410' })).toBe(1)
      expect(value('svc_request_duration_seconds_count')).toBe(7)
      expect(value('svc_settled_total')).toBe(2)
      expect(value('svc_settled_usd_total')).toBeCloseTo(1.01, 6)
      expect(value('svc_settlement_mismatch_total')).toBe(0)
      expect(value('svc_requests_in_flight')).toBe(0)
      expect([...families.keys()]).toEqual(
        expect.arrayContaining(['process_cpu_user_seconds_total', 'nodejs_eventloop_lag_seconds']),
      )
      expect(text).not.toContain(seller.sandbox.wallet.address)
    }
  })

  it('show calls in flight', async () => {
    const door = gated()
    const seller = await open([door.endpoint])
    const call = pay(seller, `${seller.url}/slow`)
    await door.entered()
    expect((await scrape(seller.url)).value('svc_requests_in_flight')).toBe(1)
    door.open()
    await call
    expect((await scrape(seller.url)).value('svc_requests_in_flight')).toBe(0)
  })

  it('count a settlement that names another transaction', async () => {
    const seller = await open([echo])
    seller.sandbox.faults.set('settle', 'other-tx')
    expect((await pay(seller, `${seller.url}/echo`, { body: {} })).status).toBe(200)
    expect((await scrape(seller.url)).value('svc_settlement_mismatch_total')).toBe(1)
  })

  it('have series for endpoints and statuses, whatever strangers ask for', async () => {
    const seller = await open([echo])
    const before = (await scrape(seller.url)).families.get('svc_requests_total')
    for (const path of ['/no', '/ECHO', '/echo?x=1', '/echo/']) await ask(seller.url + path)
    const after = (await scrape(seller.url)).families.get('svc_requests_total')
    expect(before?.samples).toEqual([])
    expect(after?.samples.map(({ labels }) => labels)).toEqual([{ endpoint: 'echo', status: '402' }])
  })

  it('are each server’s own', async () => {
    const seller = await open([echo])
    const replica = closing(await seller.replica())
    await ask(`${seller.url}/echo`)
    const count = async ({ url }: Seller) => (await scrape(url)).value('svc_request_duration_seconds_count')
    expect(await count(seller)).toBe(1)
    expect(await count(replica)).toBe(0)
  })
})

describe('health', () => {
  it('says who is served and whom it settles with', async () => {
    const seller = await open([echo], { basePath: '/api' })
    await ask(`${seller.url}/api/echo`)
    const healthy = {
      ok: true,
      agent: 'test-agent',
      payTo: seller.sandbox.seller.address,
      facilitator: seller.sandbox.facilitatorUrl,
      network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
      facilitators: [{ url: seller.sandbox.facilitatorUrl, answered: true }],
    }
    for (const base of [seller.url, `${seller.url}/api`]) {
      expect(await get(`${base}/health`)).toMatchObject({ status: 200, body: healthy })
    }
  })

  it('tells what is wrong with the facilitator, and is well all the same', async () => {
    const seller = await open([echo])
    const payment = await signFor(seller, `${seller.url}/echo`)
    seller.sandbox.faults.set('verify', '500')
    await ask(`${seller.url}/echo`, { headers: payment })
    expect(await get(`${seller.url}/health`)).toMatchObject({
      status: 200,
      body: { ok: true, facilitators: [{ answered: true, lastError: '/verify: status 500' }] },
    })
  })

  it('is 503 while a named check fails, and says which without saying why', async () => {
    const { lines, logger } = collector()
    let down = true
    const healthChecks = {
      sync: () => true,
      nothing: () => {},
      async: async () => !down,
      throwing() {
        if (down) throw new Error('postgres://user:password@db refused')
      },
    }
    const seller = await open([echo], { healthChecks, logger })
    const bad = await get(`${seller.url}/health`)
    expect(bad).toMatchObject({
      status: 503,
      body: { ok: false, checks: { sync: 'ok', nothing: 'ok', async: 'failed', throwing: 'failed' } },
    })
    expect(Number(bad.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(JSON.stringify(bad.body)).not.toMatch(/password/)
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ check: 'throwing' }) }),
    )
    down = false
    expect(await get(`${seller.url}/health`)).toMatchObject({ status: 200, body: { ok: true } })
  })

  it('gives a check that hangs its time, and never asks it twice at once', async () => {
    let asked = 0
    let answer = (_: boolean) => {}
    const hanging = () => {
      asked++
      return new Promise<boolean>(resolve => {
        answer = resolve
      })
    }
    const ask = namedChecks(
      { hanging, quick: () => true },
      { timeoutMs: 100, logger: silentLogger, clock: systemClock },
    )
    const timedOut: Record<string, CheckResult> = { hanging: 'timed_out', quick: 'ok' }
    expect(await Promise.all([ask(), ask()])).toEqual([timedOut, timedOut])
    expect(await ask()).toEqual(timedOut)
    expect(asked).toBe(1)
    const last = ask()
    answer(true)
    expect(await last).toEqual({ hanging: 'ok', quick: 'ok' })
  })

  it('refuses what is no check at start', () => {
    const agent = defineAgent({
      name: 'a',
      handle: 'abc',
      description: 'd',
      payTo: 'A'.repeat(58),
      endpoints: [echo],
    })
    expect(() =>
      serve(agent, { port: 0, healthChecks: { db: true as never }, logger: silentLogger }),
    ).toThrow(expect.objectContaining({ code: 'invalid_options' }))
  })
})

describe('readiness', () => {
  it('begins when the facilitator has answered for the first time', async () => {
    let answer = () => {}
    const held: Reply = response => {
      answer = () => json({ kinds: [] })(response)
    }
    const facilitator = await fakeFacilitator({ '/supported': held })
    const seller = await open([echo], { facilitatorUrl: facilitator.url, basePath: '/api' })
    await facilitator.askedTimes('/supported', 1)
    for (const base of [seller.url, `${seller.url}/api`]) {
      expect(await get(`${base}/ready`)).toMatchObject({
        status: 503,
        body: { ok: false, why: [{ code: 'facilitator_unavailable', message: expect.any(String) }] },
      })
    }
    // The first quote waits for the same answer.
    const quoted = ask(`${seller.url}/api/echo`)
    answer()
    await quoted
    expect(await get(`${seller.url}/ready`)).toMatchObject({ status: 200, body: { ok: true } })
  })

  it('ends without a store, and says which', async () => {
    const down = () => Promise.reject(new Error('redis://:password@host refused'))
    const charges = { ...memoryChargeStore(), close: down }
    const subscriptions = { ...memorySubscriptions(), get: down }
    const seller = await open([echo], { stores: { charges, subscriptions } })
    await ask(`${seller.url}/echo`)
    const { status, body } = await get(`${seller.url}/ready`)
    expect({ status, body }).toMatchObject({ status: 503, body: { why: [{ code: 'store_unavailable' }] } })
    expect(JSON.stringify(body)).not.toMatch(/password/)

    const subscribed = await open([window], { stores: { subscriptions }, sandbox: seller.sandbox })
    await ask(`${subscribed.url}/window`)
    expect((await get(`${subscribed.url}/ready`)).body).toMatchObject({
      why: [{ code: 'subscriptions_unavailable' }],
    })
  })

  it('ends when the server begins to drain', async () => {
    const door = gated()
    const seller = await open([door.endpoint], { shutdownTimeoutMs: 30_000 })
    const call = pay(seller, `${seller.url}/slow`)
    await door.entered()
    expect((await get(`${seller.url}/ready`)).status).toBe(200)
    const closing = seller.server.shutdown()
    expect(await get(`${seller.url}/ready`)).toMatchObject({
      status: 503,
      body: { why: [{ code: 'shutting_down' }] },
    })
    expect((await get(`${seller.url}/health`)).status).toBe(200)
    door.open()
    expect((await call).status).toBe(200)
    await closing
  })
})

describe('the log', () => {
  it('has a line for each call that ended, without bodies, headers, keys or payers', async () => {
    const { lines, logger } = collector()
    const seller = await open([echo, window], { logger, idempotency: {} })
    const key = 'the-idempotency-key'
    const body = { secret: 'in the body' }
    const payment = await signFor(seller, `${seller.url}/echo`, { body })
    const paid = await ask(`${seller.url}/echo`, { body, headers: { ...payment, 'idempotency-key': key } })
    const bought = await pay(seller, `${seller.url}/window`)
    const windowKey = bought.headers.get('x-svc-subscription')!
    await ask(`${seller.url}/window`, { headers: { 'x-svc-subscription': windowKey } })

    const ended = lines.filter(({ message }) => message === 'call ended')
    expect(ended.map(({ fields }) => fields.final)).toEqual([
      'quoted',
      'settled',
      'quoted',
      'settled',
      'served',
    ])
    expect(ended[1]).toEqual({
      level: 'info',
      message: 'call ended',
      fields: {
        id: expect.any(String),
        traceId: paid.headers.get('traceparent')?.split('-')[1],
        endpoint: 'echo',
        final: 'settled',
        status: 200,
        code: 'settled',
        charged: 'yes',
        ms: expect.any(Number),
        txId: receiptIn(paid).txId,
        amount: '10000',
        asset: '10458941',
      },
    })
    const text = JSON.stringify(lines)
    const secrets = [
      body.secret,
      key,
      windowKey,
      payment['payment-signature']!,
      seller.sandbox.wallet.address,
    ]
    for (const secret of secrets) expect(text).not.toContain(secret)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('disk full')
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk full'))],
  ])('that %s is not noticed on the wire', async (_, say) => {
    const logger = { debug: say, info: say, warn: say, error: say } as Logger
    const seller = await open([echo], { logger })
    expect((await ask(`${seller.url}/echo`)).status).toBe(402)
    expect((await pay(seller, `${seller.url}/echo`, { body: {} })).status).toBe(200)
    expect((await ask(`${seller.url}/echo`, { body: '{' })).status).toBe(400)
  })
})

describe('a node of another network', () => {
  const params = (genesisHash: string) => ({
    'last-round': 1_000_000_000,
    'min-fee': 1_000,
    fee: 0,
    'genesis-hash': genesisHash,
    'genesis-id': 'any-v1',
  })

  it('is noticed while no call comes, shown, and believed in nothing', async () => {
    const node = closing(await fakeNode(() => params(MAINNET.genesisHash)))
    const { lines, logger } = collector()
    const seller = await open([echo], { algodUrl: node.url, logger })
    await eventually(() => expect(lines).toContainEqual(expect.objectContaining({ level: 'warn' })))
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: expect.stringContaining('another network'),
        fields: { genesisHash: MAINNET.genesisHash },
      },
    ])
    expect(await get(`${seller.url}/health`)).toMatchObject({
      status: 200,
      body: { ok: true, node: 'wrongNetwork' },
    })
    expect(await get(`${seller.url}/ready`)).toMatchObject({
      status: 503,
      body: { ok: false, why: [{ code: 'wrong_network', message: expect.any(String) }] },
    })
    // Its round is far past the payment's last one: believed, the payment would be refused as expired.
    const quoted = await seller.replica({ algodUrl: seller.sandbox.algodUrl })
    const headers = await signFor(closing(quoted), `${quoted.url}/echo`)
    expect((await ask(`${seller.url}/echo`, { headers })).status).toBe(200)
  })

  it('one that only does not answer leaves the server ready', async () => {
    const node = closing(await fakeNode((_, response) => void response.writeHead(500).end()))
    const { lines, logger } = collector()
    const seller = await open([echo], { algodUrl: node.url, logger })
    await eventually(() => expect(lines).toContainEqual(expect.objectContaining({ level: 'warn' })))
    await ask(`${seller.url}/echo`)
    expect(await get(`${seller.url}/health`)).toMatchObject({ status: 200, body: { node: 'unanswered' } })
    expect(await get(`${seller.url}/ready`)).toMatchObject({ status: 200, body: { ok: true } })
  })
})

it('an onReady that rejects is told, and ends neither the process nor the calls at work', async () => {
  const { endpoint, entered, open: letGo } = gated()
  const told: string[] = []
  const door = gate()
  const seller = await open([endpoint], {
    logger: {
      debug() {},
      info() {},
      warn: (_: object, message: string) => void told.push(message),
      error() {},
    },
    onReady: () => door.opened.then(() => Promise.reject(new Error('no registry'))) as never,
  })
  const paid = pay(seller, `${seller.url}/slow`)
  await entered()
  door.open()
  await expect.poll(() => told).toContain('onReady failed: no registry')
  letGo()
  expect((await paid).status).toBe(200)
})
