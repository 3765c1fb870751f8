/**
 * The money rules while time passes: a facilitator that is slow or contradicts itself, a call that outlives its lease, a
 * process that stands still. Every case on memory and on a real Redis; the ledger's balance is the assertion.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'
import { redisStores } from '../../src/redis.js'
import { closing } from '../support/closing.js'
import { gate } from '../support/gate.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { pausedLeases } from '../support/paused-leases.js'
import { PATIENT, type RedisServer, startRedis } from '../support/redis-server.js'
import { ask, open, pay, receiptIn, type Seller, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const PRICE = 10_000n
const KEY = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }
const LEASE_MS = 200

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

let runs = 0
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) })
const window = defineEndpoint({
  name: 'window',
  subscription: { price: '$0.01', period: '1h' },
  handler: () => ({ run: ++runs }),
})

const STORES: readonly (readonly [name: string, make: () => ChargeStore])[] = [
  ['memory', memoryChargeStore],
  // Redis has long to answer a busy machine.
  ['redis', () => closing(redisStores(redis.url, { prefix: `t${Math.random()}:`, ...PATIENT })).charges],
]

/** A lease is long, and ends where a test says so; or it is short, and the test holds whoever takes a call over meanwhile. */
async function sell(
  charges: ChargeStore,
  { advanced, ...options }: Partial<ServeOptions> = {},
): Promise<Seller> {
  runs = 0
  return open([work, window], {
    idempotency: {},
    ...options,
    stores: { charges, ...options.stores },
    advanced: { ...advanced, timeouts: { reconcilePauseMs: 50, ...advanced?.timeouts } },
  })
}
const SHORT = { advanced: { timeouts: { leaseMs: LEASE_MS } } }

/** A payment is recorded before it is handed over: from then on nobody runs its handler again, however slow the machine is. */
const handedOver = ({ sandbox }: Seller) => expect.poll(() => sandbox.faults.list()).toEqual([])

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const codeOf = async (response: Response) =>
  ((await response.json()) as { error?: { code: string } }).error?.code
const passed = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

describe.each(STORES)('on %s', (_, store) => {
  for (const onLostResponse of ['release', 'replay'] as const) {
    const idempotency = { onLostResponse }

    it(`${onLostResponse}: a settlement that lands and is answered with an error is a charge, once`, async () => {
      for (const confirm of ['facilitator', 'chain'] as const) {
        const seller = await sell(store(), { idempotency, confirm })
        seller.sandbox.faults.set('settle', 'error-after', { times: 1 })
        const first = await pay(seller, `${seller.url}/work`, { headers: KEY })
        expect(first.status).toBe(200)
        const again = await pay(seller, `${seller.url}/work`, { headers: KEY })
        expect(await again.json()).toEqual({ run: 1 })
        expect([received(seller), runs]).toEqual([PRICE, 1])
      }
    })

    for (const slow of ['slow-before', 'slow-after'] as const) {
      it(`${onLostResponse}: a settlement (${slow}) of four leases is one charge, however often its key is tried`, async () => {
        const seller = await sell(store(), { idempotency, ...SHORT })
        seller.sandbox.faults.set('settle', slow, { times: 1, delayMs: 4 * LEASE_MS })
        const first = pay(seller, `${seller.url}/work`, { headers: KEY })
        await handedOver(seller)
        for (let at = 0; at < 6; at++) {
          await passed(LEASE_MS / 2)
          const retry = await pay(seller, `${seller.url}/work`, { headers: KEY })
          if (retry.status === 200) expect(await retry.json()).toEqual({ run: 1 })
          // A machine that is busy for a whole lease lets a retry take the call over, which is not charged either.
          else expect(['idempotency_in_progress', 'settlement_unknown']).toContain(await codeOf(retry))
        }
        expect(await (await first).json()).toEqual({ run: 1 })
        const again = await pay(seller, `${seller.url}/work`, { headers: KEY })
        expect(again.headers.get('idempotency-replayed')).toBe('true')
        expect([received(seller), runs]).toEqual([PRICE, 1])
      })

      it(`${onLostResponse}: the same (${slow}) where the first process stands still: taken over, and charged once`, async () => {
        const charges: ChargeStore = { ...store(), renew: async holds => holds.map(() => true) }
        const seller = await sell(charges, { idempotency, ...SHORT })
        seller.sandbox.faults.set('settle', slow, { times: 1, delayMs: 4 * LEASE_MS })
        const first = pay(seller, `${seller.url}/work`, { headers: KEY })
        await handedOver(seller)
        const answers: Response[] = []
        for (let at = 0; at < 7; at++) {
          await passed(LEASE_MS)
          answers.push(await pay(seller, `${seller.url}/work`, { headers: KEY }))
        }
        expect((await first).status).toBe(200)
        expect(await answers.at(-1)!.json()).toEqual({ run: 1 })
        for (const answer of answers.slice(0, -1)) {
          if (answer.status === 200) expect(await answer.json()).toEqual({ run: 1 })
          else expect(['idempotency_in_progress', 'settlement_unknown']).toContain(await codeOf(answer))
        }
        expect([received(seller), runs]).toEqual([PRICE, 1])
      })
    }
  }

  it('a call at work renews its lease: no retry takes it over', async () => {
    const leaseMs = 15_000
    const { clock, pass } = skippableClock()
    const facilitator = heldFacilitator()
    const charges = store()
    const { runOut, charges: kept } = pausedLeases(charges)
    let renewed = gate()
    const renew: ChargeStore['renew'] = async (...given) => {
      const ours = await charges.renew(...given)
      renewed.enter()
      return ours
    }
    const seller = await sell(
      { ...kept, renew },
      { facilitatorUrl: await facilitator.url, advanced: { clock, timeouts: { leaseMs } } },
    )
    facilitator.serves(seller.sandbox)
    const settling = facilitator.hold('/settle', {}, { landed: true })
    const first = pay(seller, `${seller.url}/work`, { headers: KEY })
    await settling.arrived
    for (let at = 1; at <= 3; at++) {
      // In the store the lease is over, as after all of its time. What the call has is what it renews.
      await runOut()
      renewed = gate()
      pass(leaseMs / 3)
      await renewed.entered()
      const retry = await pay(seller, `${seller.url}/work`, { headers: KEY })
      expect(await codeOf(retry)).toBe('idempotency_in_progress')
    }
    settling.answer()
    expect(await (await first).json()).toEqual({ run: 1 })
  })

  it('a call that was taken over drops no window, and never says that nothing was charged', async () => {
    const facilitator = heldFacilitator()
    const { charges, runOut } = pausedLeases(store())
    const seller = await sell(charges, { facilitatorUrl: await facilitator.url })
    facilitator.serves(seller.sandbox)
    const payment = await signFor(seller, `${seller.url}/window`)
    const headers = { ...KEY, ...payment }
    // The first process hands the payment over, stands still, and hears a no that was given too late.
    const settling = facilitator.hold('/settle', {
      success: false,
      errorReason: 'insufficient_funds',
      transaction: '',
    })
    const slow = ask(`${seller.url}/window`, { headers })
    await settling.arrived
    await runOut()
    const successor = await ask(`${seller.url}/window`, { headers })
    expect(successor.status).toBe(200)
    const key = successor.headers.get('x-svc-subscription')!
    settling.answer()
    const denied = await slow
    expect(denied.status).toBe(503)
    expect(await denied.json()).toMatchObject({
      error: { code: 'settlement_unknown', txId: receiptIn(successor).txId },
    })
    expect((await ask(`${seller.url}/window`, { headers: { 'x-svc-subscription': key } })).status).toBe(200)
    expect(received(seller)).toBe(PRICE)
  })

  it('a call that was taken over says nothing of the charge, however it ends', async () => {
    for (const end of ['throws', 'fails', 'answers'] as const) {
      const door = gate()
      let first = true
      const endpoint = defineEndpoint({
        name: 'slow',
        price: '$0.01',
        async handler() {
          if (!first) return { ok: true }
          first = false
          door.enter()
          await door.opened
          if (end === 'throws') throw new Error('no')
          return end === 'fails' ? new Response('no', { status: 422 }) : { late: true }
        },
      })
      const { charges, runOut } = pausedLeases(store())
      const seller = await open([endpoint], { idempotency: {}, stores: { charges } })
      const headers = { ...KEY, ...(await signFor(seller, `${seller.url}/slow`)) }
      const slow = ask(`${seller.url}/slow`, { headers })
      await door.entered()
      await runOut()
      const successor = await ask(`${seller.url}/slow`, { headers })
      expect(await successor.json()).toEqual({ ok: true })
      door.open()
      const told = await slow
      expect([end, told.status, told.headers.get('payment-required')]).toEqual([end, 409, null])
      expect(await told.json()).toMatchObject({ error: { code: 'superseded', txId: expect.any(String) } })
      const last = seller.ended.at(-1)!
      expect([last.code, last.charged, received(seller)]).toEqual(['superseded', 'no', PRICE])
    }
  })

  it('a call that still holds its payment gives it back, and its window goes with it', async () => {
    const deleted: string[] = []
    const windows = new Map<string, { endpoint: string; expiresAtMs: number }>()
    const subscriptions = {
      get: (id: string) => windows.get(id),
      putIfAbsent: (id: string, record: { endpoint: string; expiresAtMs: number }) =>
        void windows.set(id, record),
      sweep() {},
      delete(id: string) {
        windows.delete(id)
        deleted.push(id)
      },
    }
    const seller = await sell(store(), { stores: { subscriptions } })
    seller.sandbox.faults.set('settle', 'refuse', { times: 1 })
    const refused = await pay(seller, `${seller.url}/window`, { headers: KEY })
    expect(refused.status).toBe(402)
    expect([deleted.length, windows.size, received(seller)]).toEqual([1, 0, 0n])
    expect((await pay(seller, `${seller.url}/window`, { headers: KEY })).status).toBe(200)
  })

  it('where the store does not take the release, a refused settlement is in doubt', async () => {
    const charges = store()
    const seller = await sell({ ...charges, close: async () => Promise.reject(new Error('down')) })
    seller.sandbox.faults.set('settle', 'refuse', { times: 1 })
    const refused = await pay(seller, `${seller.url}/work`, { headers: KEY })
    expect([refused.status, await codeOf(refused)]).toEqual([503, 'settlement_unknown'])
  })

  it('a redirect is an answer: charged once, kept, and replayed', async () => {
    const moved = defineEndpoint({
      name: 'moved',
      price: '$0.01',
      handler() {
        runs++
        return new Response(null, { status: 303, headers: { location: 'https://example.com/1' } })
      },
    })
    for (const onLostResponse of ['release', 'replay'] as const) {
      runs = 0
      const seller = await open([moved], {
        idempotency: { onLostResponse },
        stores: { charges: store() },
      })
      const paid = async () => {
        const payment = await signFor(seller, `${seller.url}/moved`)
        return fetch(`${seller.url}/moved`, {
          method: 'POST',
          redirect: 'manual',
          headers: { ...KEY, ...payment },
        })
      }
      const first = await paid()
      expect([first.status, first.headers.get('location')]).toEqual([303, 'https://example.com/1'])
      const again = await paid()
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([303, 'true'])
      expect([received(seller), runs]).toEqual([PRICE, 1])
    }
  })
})

describe('a stopped event loop', () => {
  it('neither charges a key twice nor loses its answer', async () => {
    const charges = memoryChargeStore()
    const seller = await sell(charges, SHORT)
    const door = gate()
    seller.sandbox.faults.set('settle', 'slow-after', { times: 1, delayMs: 2 * LEASE_MS })
    const first = pay(seller, `${seller.url}/work`, { headers: KEY })
    await handedOver(seller)
    // Nothing runs, no lease is renewed, for longer than a lease.
    const untilMs = performance.now() + 3 * LEASE_MS
    while (performance.now() < untilMs) door.enter()
    const retry = await pay(seller, `${seller.url}/work`, { headers: KEY })
    expect([200, 409, 503]).toContain(retry.status)
    expect(await (await first).json()).toEqual({ run: 1 })
    const again = await pay(seller, `${seller.url}/work`, { headers: KEY })
    expect(await again.json()).toEqual({ run: 1 })
    expect([received(seller), runs]).toEqual([PRICE, 1])
  })
})
