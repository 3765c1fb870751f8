/**
 * The state table and the error table of the specification, a test a row, over real HTTP. `proof/specification.md` maps
 * each row to its test here; the last test holds the two together.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import { defineEndpoint } from '../../src/index.js'
import { childAgent } from '../support/child-agent.js'
import { fakeFacilitator } from '../support/fake-facilitator.js'
import { gated } from '../support/gate.js'
import { ask, challengeIn, open, pay, receiptIn, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const KEY = { 'idempotency-key': 'order-66' }
const REPLAY = { idempotency: { onLostResponse: 'replay' } } as const

const sum = defineEndpoint({
  name: 'sum',
  price: '$0.01',
  input: {
    type: 'object',
    required: ['a', 'b'],
    properties: { a: { type: 'number' }, b: { type: 'number' } },
  },
  handler: ({ body }) => ({ sum: body.a + body.b }),
})
const body = { a: 1, b: 2 }

const pass = defineEndpoint({
  name: 'pass',
  subscription: { price: '$0.05', period: '1d' },
  handler: () => ({ in: true }),
})

const titles: string[] = []
function row(title: string, test: () => Promise<void>) {
  titles.push(title)
  it(title, test)
}

describe('states and transitions', () => {
  row('unpaid request: 402 refusal with the quote in the header and the body {}', async () => {
    const seller = await open([sum])
    for (const unpaid of [body, undefined]) {
      const response = await ask(`${seller.url}/sum`, { body: unpaid })
      expect(response.status).toBe(402)
      expect(await response.json()).toEqual({})
      const entry = {
        scheme: 'exact',
        amount: '10000',
        maxTimeoutSeconds: 300,
        extra: { feePayer: expect.any(String) },
      }
      expect(challengeIn(response)).toMatchObject({
        x402Version: 2,
        error: 'Payment required',
        resource: { url: `${seller.url}/sum` },
        accepts: [
          { ...entry, network: CAIP2.testnet },
          { ...entry, network: TESTNET.wholeHashId },
        ],
      })
    }
  })

  row('request with a payment that verifies: the handler runs; X-PAYMENT is accepted too', async () => {
    const seller = await open([sum])
    const { 'payment-signature': header } = await signFor(seller, `${seller.url}/sum`, { body })
    const response = await ask(`${seller.url}/sum`, { body, headers: { 'x-payment': header } })
    expect(await response.json()).toEqual({ sum: 3 })
    expect(received(seller)).toBe(PRICE)
  })

  row(
    'handler returns success: settled, PAYMENT-RESPONSE returned, funds go from caller to payTo',
    async () => {
      const seller = await open([sum])
      const before = seller.sandbox.balance(seller.sandbox.wallet.address).usdc!
      const response = await pay(seller, `${seller.url}/sum`, { body })
      expect(response.status).toBe(200)
      expect(receiptIn(response)).toMatchObject({
        txId: expect.stringMatching(/^[A-Z2-7]{52}$/),
        payer: seller.sandbox.wallet.address,
        amount: '10000',
        asset: '10458941',
      })
      expect([
        received(seller),
        before - seller.sandbox.balance(seller.sandbox.wallet.address).usdc!,
      ]).toEqual([PRICE, PRICE])
    },
  )

  row('handler throws or answers 400 and above: not settled, the caller is not charged', async () => {
    const throws = defineEndpoint({
      name: 'throws',
      price: '$0.01',
      handler() {
        throw new Error('x')
      },
    })
    const answers = defineEndpoint({
      name: 'answers',
      price: '$0.01',
      handler: () => new Response('no', { status: 422 }),
    })
    const seller = await open([throws, answers])
    expect((await pay(seller, `${seller.url}/throws`)).status).toBe(500)
    expect((await pay(seller, `${seller.url}/answers`)).status).toBe(422)
    expect(received(seller)).toBe(0n)
  })

  row('handler exceeds its timeout: 504 handler_timeout, not settled', async () => {
    const { endpoint } = gated({ timeout: 1_000 })
    const seller = await open([endpoint])
    const response = await pay(seller, `${seller.url}/slow`)
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: { code: 'handler_timeout' } })
    expect(received(seller)).toBe(0n)
  })

  row('subscription none, unpaid call: 402 quoting the window price', async () => {
    const seller = await open([pass])
    expect(challengeIn(await ask(`${seller.url}/pass`)).accepts[0]!.amount).toBe('50000')
  })

  row('subscription none, paid call settles: active, the response carries x-svc-subscription', async () => {
    const seller = await open([pass])
    const response = await pay(seller, `${seller.url}/pass`)
    expect(response.headers.get('x-svc-subscription')).toMatch(/^svc_/)
    expect(received(seller)).toBe(50_000n)
  })

  row(
    'subscription active, key presented before expiry: runs free, the facilitator is not contacted',
    async () => {
      const facilitator = await fakeFacilitator()
      const seller = await open([pass], { facilitatorUrl: facilitator.url })
      const key = (await pay(seller, `${seller.url}/pass`)).headers.get('x-svc-subscription')!
      const asked = facilitator.asked.length
      const response = await ask(`${seller.url}/pass`, { headers: { 'x-svc-subscription': key } })
      expect(await response.json()).toEqual({ in: true })
      expect(facilitator.asked.length).toBe(asked)
    },
  )

  row('subscription active, window ends: none, the endpoint quotes again and nothing renews', async () => {
    let nowMs = Date.now()
    const seller = await open([pass], { advanced: { clock: { now: () => nowMs } } })
    const key = (await pay(seller, `${seller.url}/pass`)).headers.get('x-svc-subscription')!
    nowMs += 2 * 86_400_000
    const response = await ask(`${seller.url}/pass`, { headers: { 'x-svc-subscription': key } })
    expect(response.status).toBe(402)
    expect(received(seller)).toBe(50_000n)
  })

  row('Idempotency-Key new: in progress; a concurrent retry is 409 idempotency_in_progress', async () => {
    const door = gated()
    const seller = await open([door.endpoint], { idempotency: {} })
    const first = pay(seller, `${seller.url}/slow`, { headers: KEY })
    await door.entered()
    const retry = await pay(seller, `${seller.url}/slow`, { headers: KEY })
    expect(retry.status).toBe(409)
    expect(await retry.json()).toMatchObject({ error: { code: 'idempotency_in_progress' } })
    expect(Number(retry.headers.get('retry-after'))).toBeGreaterThan(0)
    door.open()
    expect((await first).status).toBe(200)
    expect(received(seller)).toBe(PRICE)
  })

  row(
    'Idempotency-Key completed: the same key and body replays the answer without running again',
    async () => {
      let runs = 0
      const count = defineEndpoint({ name: 'count', price: '$0.01', handler: () => ({ runs: ++runs }) })
      for (const idempotency of [{}, REPLAY.idempotency]) {
        runs = 0
        const seller = await open([count], { idempotency })
        const first = await pay(seller, `${seller.url}/count`, { headers: KEY, body: { z: 1, a: [1] } })
        await first.json()
        await finished(seller)
        const again = await pay(seller, `${seller.url}/count`, { headers: KEY, body: '{"a":[1],  "z":1}' })
        expect(again.status).toBe(200)
        expect(await again.json()).toEqual({ runs: 1 })
        expect(again.headers.get('idempotency-replayed')).toBe('true')
        expect(receiptIn(again).txId).toBe(receiptIn(first).txId)
        expect(received(seller)).toBe(PRICE)
      }
    },
  )

  row('Idempotency-Key completed or in progress, other body: 409 idempotency_key_reuse', async () => {
    const seller = await open([sum], REPLAY)
    await pay(seller, `${seller.url}/sum`, { body, headers: KEY })
    const other = await pay(seller, `${seller.url}/sum`, { body: { a: 1, b: 3 }, headers: KEY })
    expect(other.status).toBe(409)
    expect(await other.json()).toMatchObject({ error: { code: 'idempotency_key_reuse' } })
    expect(received(seller)).toBe(PRICE)
  })

  row(
    'Idempotency-Key, settled but the connection was lost: released; a retry pays and may be charged again',
    async () => {
      for (const { onLostResponse, charged } of [
        { onLostResponse: 'release', charged: 2n * PRICE },
        { onLostResponse: 'replay', charged: PRICE },
      ] as const) {
        const seller = await open([sum], {
          idempotency: { onLostResponse },
          advanced: { timeouts: { settleMs: 500 } },
        })
        seller.sandbox.faults.set('settle', 'hang', { times: 1 })
        expect(await settledThenLost(seller)).toMatchObject({ final: 'settled', charged: 'yes' })
        const retry = await pay(seller, `${seller.url}/sum`, { body, headers: KEY })
        expect(retry.status).toBe(200)
        expect(retry.headers.get('idempotency-replayed')).toBe(onLostResponse === 'replay' ? 'true' : null)
        expect(received(seller)).toBe(charged)
      }
    },
  )

  row(
    'SIGTERM while running: new requests are 503 shutting_down, work in flight finishes and is charged',
    async () => {
      const seller = await open([sum])
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        const before = received(seller)!
        const child = await childAgent(seller.sandbox)
        const inFlight = pay(seller, `${child.url}/slow`)
        await child.said('handling')
        child.process.kill(signal)
        let refused: Response
        do refused = await ask(`${child.url}/slow`)
        while (refused.status === 402)
        expect(refused.status).toBe(503)
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(refused.headers.get('connection')).toBe('close')
        expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down' } })
        child.letGo()
        expect(await (await inFlight).json()).toEqual({ done: true })
        expect(await child.said('shutdown')).toMatchObject({
          shutdown: { reason: signal, outcome: 'drained', abandoned: 0, ms: expect.any(Number) },
        })
        expect(received(seller)).toBe(before + PRICE)
      }
    },
  )
})

/** Pays with the key, hangs up while the facilitator has not answered the settlement, and lets it settle after that. */
async function settledThenLost(seller: Seller) {
  const payment = await signFor(seller, `${seller.url}/sum`, { body })
  const hangUp = new AbortController()
  const end = seller.nextEnded()
  const call = ask(`${seller.url}/sum`, { body, headers: { ...payment, ...KEY }, signal: hangUp.signal })
  // The fault is used up: the facilitator hangs.
  await expect.poll(() => seller.sandbox.faults.list()).toEqual([])
  hangUp.abort()
  await expect(call).rejects.toThrow()
  return end
}

/** The server learns that an answer was handed over a moment after the caller has it: one more round through it. */
async function finished(seller: Seller) {
  await ask(`${seller.url}/health`, { method: 'GET' })
}

describe('errors', () => {
  row('unpaid call to a paid REST route: 402, PAYMENT-REQUIRED, body {}', async () => {
    const seller = await open([sum])
    const response = await ask(`${seller.url}/sum`)
    expect([response.status, await response.text()]).toEqual([402, '{}'])
    expect(response.headers.get('payment-required')).toBeTruthy()
  })

  row(
    'body fails the input schema: 400 that names the field and echoes the schema; not charged',
    async () => {
      const seller = await open([sum])
      const payment = await signFor(seller, `${seller.url}/sum`, { body })
      for (const headers of [{}, payment]) {
        const response = await ask(`${seller.url}/sum`, { body: { a: 1 }, headers })
        expect(response.status).toBe(400)
        expect(await response.json()).toMatchObject({
          error: { code: 'invalid_input', field: '/b', schema: sum.input },
        })
      }
      expect(received(seller)).toBe(0n)
    },
  )

  row('rate limit exceeded: 429 with Retry-After; not charged', async () => {
    const seller = await open([sum], { rateLimit: { perMinute: 1 } })
    const first = await pay(seller, `${seller.url}/sum`, { body })
    const second = await pay(seller, `${seller.url}/sum`, { body })
    expect([first.status, second.status]).toEqual([200, 429])
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await second.json()).toMatchObject({ error: { code: 'rate_limited' } })
    expect(received(seller)).toBe(PRICE)
  })

  row('handler throws: 5xx with the last 20 log entries; never settles', async () => {
    const noisy = defineEndpoint({
      name: 'noisy',
      price: '$0.01',
      handler({ log }) {
        for (let line = 0; line < 30; line++) log(`line ${line}`, { line })
        throw new Error('x')
      },
    })
    const seller = await open([noisy])
    const response = await pay(seller, `${seller.url}/noisy`)
    expect(response.status).toBe(500)
    const { error } = (await response.json()) as {
      error: { logs: { message: string; data: { line: number } }[] }
    }
    expect(error.logs.map(({ data }) => data.line)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 10),
    )
    expect(received(seller)).toBe(0n)
  })

  row('unknown route: 404', async () => {
    const seller = await open([sum], { basePath: '/api' })
    for (const path of ['/v1/agents', '/sum', '/api/sum/', '/api']) {
      const response = await ask(seller.url + path, { method: 'GET' })
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: { code: 'not_found' } })
    }
    expect((await ask(`${seller.url}/api/sum`)).status).toBe(402)
    expect((await ask(`${seller.url}/api/health`, { method: 'GET' })).status).toBe(200)
    expect((await ask(`${seller.url}/health`, { method: 'GET' })).status).toBe(200)
  })
})

it('proof/specification.md names each of these rows', () => {
  const page = readFileSync(new URL('../../proof/specification.md', import.meta.url), 'utf8')
  for (const title of titles) expect(page).toContain(title)
})
