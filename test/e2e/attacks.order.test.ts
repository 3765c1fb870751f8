/** What must not work: order, replay and binding. Money and handler runs are counted, not believed. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { defineEndpoint, type ServeOptions, SvcError } from '../../src/index.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'
import { closing } from '../support/closing.js'
import { fakeFacilitator } from '../support/fake-facilitator.js'
import { gate, gated } from '../support/gate.js'
import {
  ask,
  challengeIn,
  open,
  pay,
  presenting,
  receiptIn,
  type Seller,
  signedIn,
  signFor,
} from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

function counted(options: Partial<Parameters<typeof defineEndpoint>[0]> = {}) {
  const seen = { runs: 0 }
  const endpoint = defineEndpoint({
    name: 'work',
    price: '$0.01',
    handler: () => ({ run: ++seen.runs }),
    ...(options as object),
  })
  return { seen, endpoint }
}

/** A server that believes its facilitator, and a payment to it that has not been sent yet. */
async function trusting(options: Partial<ServeOptions> = {}) {
  const facilitator = await fakeFacilitator()
  const { endpoint, seen } = counted()
  const seller = await open([endpoint], { facilitatorUrl: facilitator.url, ...options })
  return { facilitator, seen, seller, payment: await signFor(seller, `${seller.url}/work`) }
}

describe('one payment, one delivery', () => {
  it('100 concurrent requests with one payment: one run, one settle, one answer', async () => {
    const { facilitator, seen, seller, payment } = await trusting()
    const responses = await Promise.all(
      Array.from({ length: 100 }, () => ask(`${seller.url}/work`, { headers: payment })),
    )
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
    expect(statuses.filter(status => status === 409)).toHaveLength(99)
    expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
  })

  it('the same payment again, later, is neither served nor settled, though the facilitator says ok', async () => {
    const { facilitator, seen, seller, payment } = await trusting()
    await ask(`${seller.url}/work`, { headers: payment })
    const again = await ask(`${seller.url}/work`, { headers: payment })
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ error: { code: 'payment_spent' } })
    expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
  })

  it('re-encoded in any way it is still the same payment', async () => {
    const { facilitator, seen, seller, payment } = await trusting()
    const header = payment['payment-signature']
    await ask(`${seller.url}/work`, { headers: payment })
    const payload = signedIn(payment)
    const encoded = (value: unknown, space?: number) =>
      Buffer.from(JSON.stringify(value, null, space)).toString('base64')
    const group: string[] = payload.payload.paymentGroup
    const disguises = {
      'without padding': header.replace(/=+$/, ''),
      'white space': encoded(payload, 2),
      'keys in another order': encoded(Object.fromEntries(Object.entries(payload).reverse())),
      'added keys': encoded({ ...payload, nonce: 1, payload: { ...payload.payload, nonce: 1 } }),
      'group without padding': encoded({
        ...payload,
        payload: { ...payload.payload, paymentGroup: group.map(one => one.replace(/=+$/, '')) },
      }),
      'group as base64url': encoded({
        ...payload,
        payload: {
          ...payload.payload,
          paymentGroup: group.map(one => one.replaceAll('+', '-').replaceAll('/', '_')),
        },
      }),
    }
    for (const [name, disguise] of Object.entries(disguises)) {
      const response = await ask(`${seller.url}/work`, { headers: { 'payment-signature': disguise } })
      expect(response.status, name).toBe(409)
    }
    const legacy = await ask(`${seller.url}/work`, { headers: { 'x-payment': header } })
    expect(legacy.status).toBe(409)
    expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
  })

  it('sent to three replicas at once, one of them runs', async () => {
    const { facilitator, seen, seller, payment } = await trusting({
      stores: { charges: memoryChargeStore() },
    })
    const replicas = [seller, closing(await seller.replica()), closing(await seller.replica())]
    const responses = await Promise.all(replicas.map(({ url }) => ask(`${url}/work`, { headers: payment })))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
  })

  it('under two idempotency keys it buys one delivery', async () => {
    const { facilitator, seen, seller, payment } = await trusting({ idempotency: {} })
    const statuses: number[] = []
    for (const key of ['one', 'two']) {
      const response = await ask(`${seller.url}/work`, { headers: { ...payment, 'idempotency-key': key } })
      statuses.push(response.status)
    }
    expect(statuses).toEqual([200, 409])
    expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
  })
})

describe('binding', () => {
  const edits = {
    amount: '1',
    asset: '31566704',
    payTo: 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM'.replace('H', 'A'),
    network: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k',
    scheme: 'upto',
  }
  it('an edited `accepted` is refused before the facilitator is asked', async () => {
    const { facilitator, seen, seller, payment } = await trusting()
    const payload = signedIn(payment)
    for (const [field, value] of Object.entries(edits)) {
      const edited = { ...payload, accepted: { ...payload.accepted, [field]: value } }
      const response = await ask(`${seller.url}/work`, {
        headers: presenting(edited),
      })
      expect(response.status, field).toBe(402)
      expect(challengeIn(response).error).toMatch(/other terms/)
    }
    expect([seen.runs, facilitator.count('/verify')]).toEqual([0, 0])
  })

  it('a payment for a cheaper endpoint, dressed up as one for this, is read and refused', async () => {
    const facilitator = await fakeFacilitator()
    const { endpoint, seen } = counted()
    const cheap = defineEndpoint({ name: 'cheap', price: '$0.000001', handler: () => 1 })
    const seller = await open([endpoint, cheap], { facilitatorUrl: facilitator.url })
    const { accepted, ...payload } = signedIn(await signFor(seller, `${seller.url}/cheap`))
    for (const dressed of [payload, { ...payload, accepted: { ...accepted, amount: '10000' } }]) {
      const response = await ask(`${seller.url}/work`, {
        headers: presenting(dressed),
      })
      expect(response.status).toBe(402)
      expect(challengeIn(response).error).toMatch(/does not pay/)
    }
    expect([seen.runs, facilitator.count('/verify')]).toEqual([0, 0])
  })

  it('a payload without a readable transaction is refused, unless the seller trusts the facilitator alone', async () => {
    const facilitator = await fakeFacilitator()
    const { endpoint, seen } = counted()
    const headers = presenting({ x402Version: 2, payload: { sender: 'A' } })
    const lenient = await open([endpoint], {
      facilitatorUrl: facilitator.url,
      advanced: { requireReadable: false },
    })
    const strict = await open([endpoint], { facilitatorUrl: facilitator.url })
    expect((await ask(`${strict.url}/work`, { headers })).status).toBe(402)
    expect(seen.runs).toBe(0)
    expect((await ask(`${lenient.url}/work`, { headers })).status).toBe(200)
  })
})

describe('a failure is never charged', () => {
  const failures: Record<string, () => unknown> = {
    throws() {
      throw new Error('secret detail')
    },
    rejects: () => Promise.reject(new Error('secret detail')),
    'throws a string': () => {
      throw 'secret detail'
    },
    'throws undefined': () => {
      throw undefined
    },
    'answers a Response of 404': () => new Response('nope', { status: 404 }),
    'answers a Response of 500': () => Response.json({ error: 'x' }, { status: 500 }),
    'answers a Response that breaks off': () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new Uint8Array(1))
            controller.error(new Error('secret detail'))
          },
        }),
      ),
    'answers a cycle': () => {
      const cycle: { self?: unknown } = {}
      cycle.self = cycle
      return cycle
    },
    'answers a bigint': () => ({ n: 1n }),
    'answers what throws when rendered': () => ({
      toJSON() {
        throw new Error('secret detail')
      },
    }),
  }
  for (const [name, handler] of Object.entries(failures)) {
    it(`a handler that ${name}: no settle, no receipt, no inner message`, async () => {
      const seller = await open([defineEndpoint({ name: 'work', price: '$0.01', handler })])
      const response = await pay(seller, `${seller.url}/work`)
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(response.headers.get('payment-response')).toBeNull()
      expect(await response.text()).not.toContain('secret detail')
      expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(0n)
    })
  }

  it('a payment whose handler failed is free again and can be delivered for', async () => {
    let fail = true
    const endpoint = defineEndpoint({
      name: 'work',
      price: '$0.01',
      handler() {
        if (fail) throw new SvcError('try later', 'try_later', 503)
        return 'ok'
      },
    })
    const seller = await open([endpoint])
    const payment = await signFor(seller, `${seller.url}/work`)
    expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(503)
    fail = false
    expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(10_000n)
  })

  it('an answer that arrives after the deadline is thrown away, and so is a late rejection', async () => {
    const late = gate()
    const endpoint = defineEndpoint({
      name: 'work',
      price: '$0.01',
      timeout: 1_000,
      async handler() {
        await late.opened
        throw new Error('too late')
      },
    })
    const seller = await open([endpoint])
    expect((await pay(seller, `${seller.url}/work`)).status).toBe(504)
    late.open()
    expect((await ask(`${seller.url}/health`, { method: 'GET' })).status).toBe(200)
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(0n)
  })
})

describe('an exception on the gate never lets the handler run', () => {
  const down = (): never => {
    throw new Error('the store is down')
  }
  const downLater = async (): Promise<never> => down()

  const stores: Record<string, Partial<ServeOptions>> = {
    'open rejects': { stores: { charges: { ...memoryChargeStore(), open: downLater } } },
    'open throws': { stores: { charges: { ...memoryChargeStore(), open: down } } },
    'the rate limit rejects': {
      rateLimit: { perMinute: 9 },
      stores: { rateLimit: { ...memoryCounters(), take: downLater, peek: downLater } },
    },
    'the rate limit throws': {
      rateLimit: { perMinute: 9, per: 'ip' },
      stores: { rateLimit: { ...memoryCounters(), take: down } },
    },
  }
  for (const [name, options] of Object.entries(stores)) {
    it(`${name}: 503 store_unavailable, nothing asked of the facilitator`, async () => {
      const facilitator = await fakeFacilitator()
      const { endpoint, seen } = counted()
      const healthy = await open([endpoint], { facilitatorUrl: facilitator.url })
      const seller = await open([endpoint], { facilitatorUrl: facilitator.url, ...options })
      const payment = await signFor(healthy, `${healthy.url}/work`)
      const response = await ask(`${seller.url}/work`, { headers: payment })
      expect(response.status).toBe(503)
      expect(await response.json()).toMatchObject({ error: { code: 'store_unavailable' } })
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect([seen.runs, facilitator.count('/verify')]).toEqual([0, 0])
    })
  }

  it('a store that cannot record: the handler ran, nothing is settled, nothing of the answer leaves', async () => {
    const charges: ChargeStore = { ...memoryChargeStore(), record: downLater }
    const { facilitator, seller, payment } = await trusting({ stores: { charges } })
    const response = await ask(`${seller.url}/work`, { headers: payment })
    expect(response.status).toBe(503)
    expect(await response.text()).not.toContain('run')
    expect(facilitator.count('/settle')).toBe(0)
  })

  it('a store that cannot complete after a settlement withholds nothing', async () => {
    const { endpoint } = counted()
    const charges: ChargeStore = { ...memoryChargeStore(), close: downLater }
    const seller = await open([endpoint], { stores: { charges } })
    expect((await pay(seller, `${seller.url}/work`)).status).toBe(200)
  })

  it('a window store that is down opens nothing and sells nothing', async () => {
    const endpoint = defineEndpoint({
      name: 'window',
      subscription: { price: '$0.01', period: '1h' },
      handler: () => ({ open: true }),
    })
    const memory = memorySubscriptions({})
    const store = { get: memory.get, putIfAbsent: downLater, sweep: memory.sweep }
    const seller = await open([endpoint], { subscriptions: { store } })
    const response = await pay(seller, `${seller.url}/window`)
    expect(response.status).toBe(503)
    expect(response.headers.get('x-svc-subscription')).toBeNull()
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(0n)
    const blind = await open([endpoint], { subscriptions: { store: { ...store, get: downLater } } })
    const shown = await ask(`${blind.url}/window`, { headers: { 'x-svc-subscription': 'svc_any' } })
    expect(shown.status).toBe(503)
  })

  it('a logger and a run store that throw are not noticed', async () => {
    const logger = { debug: down, info: down, warn: down, error: down }
    const failing = defineEndpoint({ name: 'fails', price: '$0.01', handler: down })
    const { endpoint } = counted()
    const seller = await open([endpoint, failing], {
      logger,
      stores: { runs: { list: () => [], ended: down } },
    })
    expect((await pay(seller, `${seller.url}/work`)).status).toBe(200)
    expect((await pay(seller, `${seller.url}/fails`)).status).toBe(500)
  })
})

describe('prices', () => {
  const bad = [
    '$0.0000001',
    '1e-7',
    '-1',
    'NaN',
    '18446744073709.551616',
    '1,000',
    '0',
    '',
    '$',
    '0x1',
    '١',
    ' $1 ',
  ]
  it('a fixed price that is none is refused when the module loads', () => {
    for (const price of bad) {
      expect(() => defineEndpoint({ name: 'work', price, handler: () => 1 }), price).toThrowError(
        expect.objectContaining({ code: 'invalid_price' }),
      )
    }
  })

  const functions: Record<string, () => string | Promise<string>> = {
    ...Object.fromEntries(bad.map(price => [`answers ${JSON.stringify(price)}`, () => price])),
    throws() {
      throw new Error('secret detail')
    },
    rejects: () => Promise.reject(new Error('secret detail')),
    'answers a number': () => 0.01 as unknown as string,
    'never answers': () => new Promise(() => {}),
  }
  for (const [name, price] of Object.entries(functions)) {
    it(`a price function that ${name}: 500 without a quote`, async () => {
      const { endpoint, seen } = counted({ price })
      const seller = await open([endpoint], { advanced: { timeouts: { priceMs: 50 } } })
      const response = await ask(`${seller.url}/work`)
      expect(response.status).toBe(500)
      expect(response.headers.get('payment-required')).toBeNull()
      const text = await response.text()
      expect(JSON.parse(text).error.code).toBe('price_unavailable')
      expect(text).not.toContain('secret')
      expect(seen.runs).toBe(0)
    })
  }

  it('a price that rose since the quote is a fresh 402 at the new price, never an undercharge', async () => {
    let price = '$0.01'
    const { endpoint, seen } = counted({ price: () => price })
    const seller = await open([endpoint])
    const payment = await signFor(seller, `${seller.url}/work`)
    price = '$0.02'
    const response = await ask(`${seller.url}/work`, { headers: payment })
    expect(response.status).toBe(402)
    expect(challengeIn(response).accepts[0]!.amount).toBe('20000')
    expect(seen.runs).toBe(0)
  })

  it('a price function sees the validated body, the query and the headers', async () => {
    const { endpoint } = counted({
      input: { type: 'object', properties: { tokens: { type: 'integer' } } },
      price: ({ body }: { body: { tokens?: number } }) => `$0.0${body.tokens ?? 1}`,
    } as never)
    const seller = await open([endpoint])
    const amount = async (body?: unknown) =>
      challengeIn(await ask(`${seller.url}/work`, { body })).accepts[0]!.amount
    expect([await amount(), await amount({ tokens: 3 })]).toEqual(['10000', '30000'])
  })
})

describe('validity of the payment', () => {
  it('a payment about to expire is refused before the handler', async () => {
    const { endpoint, seen } = counted()
    const seller = await open([endpoint], { advanced: { maxTimeoutSeconds: 28 } })
    const payment = await signFor(seller, `${seller.url}/work`)
    seller.sandbox.advanceRounds(8)
    const response = await ask(`${seller.url}/work`, { headers: payment })
    expect(response.status).toBe(402)
    expect(challengeIn(response).error).toMatch(/expires/)
    expect(seen.runs).toBe(0)
  })

  it('the handler’s deadline is cut to what can still settle', async () => {
    const endpoint = defineEndpoint({
      name: 'work',
      price: '$0.01',
      timeout: 60_000,
      handler: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
    })
    const seller = await open([endpoint], { advanced: { maxTimeoutSeconds: 28 } })
    const payment = await signFor(seller, `${seller.url}/work`)
    seller.sandbox.advanceRounds(6)
    const response = await ask(`${seller.url}/work`, { headers: payment })
    expect(response.status).toBe(402)
    expect(challengeIn(response).error).toMatch(/valid for longer/)
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(0n)
  })
})

describe('who somebody claims to be', () => {
  it('a forged claim does not burn the limit of the payer it names', async () => {
    const { endpoint } = counted()
    const seller = await open([endpoint], { rateLimit: { perMinute: 2 }, trustProxy: 1 })
    const url = `${seller.url}/work`
    const honest = await signFor(seller, url)
    const payload = signedIn(honest)
    // The payer's own transaction, with a signature that is not the payer's.
    const group: string[] = payload.payload.paymentGroup
    const forged = group.map((one, index) => {
      const bytes = Buffer.from(one, 'base64')
      if (index === payload.payload.paymentIndex) bytes[20]! ^= 1
      return bytes.toString('base64')
    })
    const headers = {
      ...presenting({ ...payload, payload: { ...payload.payload, paymentGroup: forged } }),
      'x-forwarded-for': '203.0.113.1',
    }
    const statuses: number[] = []
    for (let call = 0; call < 4; call++) {
      statuses.push((await ask(url, { headers })).status)
    }
    expect(statuses).toEqual([402, 402, 429, 429])
    expect((await ask(url, { headers: honest })).status).toBe(200)
  })

  it('a forged claim does not read the answer that another payer’s key replays', async () => {
    const facilitator = await fakeFacilitator()
    const { endpoint } = counted()
    const seller = await open([endpoint], {
      facilitatorUrl: facilitator.url,
      idempotency: { onLostResponse: 'replay' },
      advanced: { requireReadable: false },
    })
    const url = `${seller.url}/work`
    const key = { 'idempotency-key': 'shared-guess' }
    const honest = await pay(seller, url, { headers: key })
    expect(await honest.json()).toEqual({ run: 1 })
    const claim = { x402Version: 2, payload: { sender: receiptIn(honest).payer } }
    const response = await ask(url, {
      headers: { ...key, ...presenting(claim) },
    })
    expect(response.headers.get('idempotency-replayed')).toBeNull()
    expect(await response.json()).toEqual({ run: 2 })
  })

  it('unpaid traffic is not limited where payers are counted', async () => {
    const { endpoint } = counted()
    const seller = await open([endpoint], { rateLimit: { perMinute: 1 } })
    for (let call = 0; call < 5; call++) expect((await ask(`${seller.url}/work`)).status).toBe(402)
  })
})

describe('windows', () => {
  const endpoints = ['one', 'two'].map(name =>
    defineEndpoint({ name, subscription: { price: '$0.01', period: '1h' }, handler: () => ({ name }) }),
  )
  const buy = async (seller: Seller) => {
    const response = await pay(seller, `${seller.url}/one`)
    return {
      key: response.headers.get('x-svc-subscription')!,
      expiresMs: Date.parse(response.headers.get('x-svc-subscription-expires')!),
    }
  }
  const use = async (seller: Seller, path: string, key: string) =>
    (await ask(`${seller.url}/${path}`, { headers: { 'x-svc-subscription': key } })).status

  it('a key opens the endpoint that sold it and no other, and the facilitator is not asked', async () => {
    const facilitator = await fakeFacilitator()
    const seller = await open(endpoints, { facilitatorUrl: facilitator.url })
    const { key } = await buy(seller)
    const asked = facilitator.asked.length
    expect(await use(seller, 'one', key)).toBe(200)
    expect(await use(seller, 'two', key)).toBe(402)
    expect(await use(seller, 'one', `${key}x`)).toBe(402)
    expect(await use(seller, 'one', '')).toBe(402)
    expect(facilitator.asked.length).toBe(asked)
  })

  it('it is open until the very millisecond of its end, and closed from it on', async () => {
    let nowMs = Date.now()
    const seller = await open(endpoints, { advanced: { clock: { now: () => nowMs } } })
    const { key, expiresMs } = await buy(seller)
    expect(expiresMs).toBeGreaterThanOrEqual(nowMs + 3_600_000)
    nowMs = expiresMs - 1
    expect(await Promise.all([use(seller, 'one', key), use(seller, 'one', key)])).toEqual([200, 200])
    nowMs = expiresMs
    expect(await use(seller, 'one', key)).toBe(402)
  })

  it('a window whose payment did not settle is never revealed and never stored', async () => {
    const kept = new Map<string, object>()
    const store = {
      get: (id: string) => kept.get(id) as never,
      putIfAbsent: (id: string, record: object) => void kept.set(id, record),
      delete: (id: string) => void kept.delete(id),
      sweep() {},
    }
    const seller = await open(endpoints, { subscriptions: { store } })
    seller.sandbox.faults.set('settle', 'refuse')
    const response = await pay(seller, `${seller.url}/one`)
    expect(response.status).toBe(402)
    expect(response.headers.get('x-svc-subscription')).toBeNull()
    expect(kept.size).toBe(0)
  })

  it('the store holds neither keys nor answers in the clear', async () => {
    const kept = new Map<string, object>()
    const store = {
      get: (id: string) => kept.get(id) as never,
      putIfAbsent: (id: string, record: object) => void kept.set(id, record),
      sweep() {},
    }
    const memory = memoryChargeStore()
    const recorded: Uint8Array[] = []
    const charges: ChargeStore = {
      ...memory,
      record(move) {
        recorded.push(move.recorded.answer)
        return memory.record(move)
      },
    }
    const seller = await open(endpoints, { subscriptions: { store }, stores: { charges }, idempotency: {} })
    const response = await pay(seller, `${seller.url}/one`, { headers: { 'idempotency-key': 'k' } })
    const key = response.headers.get('x-svc-subscription')!
    expect(JSON.stringify([...kept])).not.toContain(key)
    const bytes = Buffer.concat(recorded).toString('latin1')
    expect(bytes.length).toBeGreaterThan(50)
    expect(bytes).not.toContain('svc_')
    expect(bytes).not.toContain('"one"')
  })
})

describe('a store that is full', () => {
  it('of unfinished keys refuses the next one before any charge', async () => {
    const door = gated()
    const charges = memoryChargeStore({ callsMax: 2 })
    const seller = await open([door.endpoint], { idempotency: {}, stores: { charges } })
    const url = `${seller.url}/slow`
    const held = ['a', 'b'].map(key => pay(seller, url, { headers: { 'idempotency-key': key } }))
    await door.entered(2)
    const response = await pay(seller, url, { headers: { 'idempotency-key': 'c' } })
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'store_unavailable' } })
    door.open()
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(20_000n)
  })
  it('of answers in doubt refuses the next call before any run, until the chain has proved that a payment is dead', async () => {
    const { seen, endpoint } = counted()
    const { clock, pass } = skippableClock()
    const memory = memoryChargeStore({ clock, settlingBytesMax: 1 })
    const resolved = gate()
    const charges: ChargeStore = {
      ...memory,
      async resolve(move) {
        const verdict = await memory.resolve(move)
        resolved.enter()
        return verdict
      },
    }
    const timeouts = { certaintyMs: 200, reconcilePauseMs: 50 }
    const seller = await open([endpoint], { advanced: { clock, timeouts }, stores: { charges } })
    const url = `${seller.url}/work`
    seller.sandbox.faults.set('settle', 'die-before')
    const codeOf = async () =>
      ((await (await pay(seller, url)).json()) as { error: { code: string } }).error.code
    expect(await codeOf()).toBe('settlement_unknown')
    expect(await codeOf()).toBe('store_unavailable')
    expect(seen.runs).toBe(1)
    seller.sandbox.faults.clear()
    seller.sandbox.advanceRounds(200)
    pass(30_000)
    await resolved.entered()
    expect(await (await pay(seller, url)).json()).toEqual({ run: 2 })
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(10_000n)
  })
})
