/**
 * Every way in which a call can end, over real HTTP against the sandbox. For each final state: what the caller sees, what
 * moved on the ledger, and the recorded path walked again through a live xstate actor.
 */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { type ChargeFinal, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { defineEndpoint, SvcError } from '../../src/index.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'
import { closing } from '../support/closing.js'
import { gate, gated } from '../support/gate.js'
import {
  ask,
  challengeIn,
  open,
  pay,
  receiptIn,
  replayThroughXstate,
  type Seller,
  signFor,
} from '../support/seller.js'

const PRICE = 10_000n
const textInput = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string' } },
} as const

const echo = defineEndpoint({
  name: 'echo',
  price: '$0.01',
  input: textInput,
  handler: ({ body }) => ({ echo: body.text }),
})
/** Its schema, of a library, fails by itself. */
const unreadable = defineEndpoint({
  name: 'unreadable',
  price: '$0.01',
  input: z.object({ text: z.string().refine(() => Promise.reject(new Error('down'))) }),
  handler: () => expect.unreachable('the handler ran'),
})
const body = { text: 'hello' }
const KEY = { 'idempotency-key': 'key-1' }

/** A store clock that the test turns, so that leases end when it says so. */
function turnableClock() {
  let offsetMs = 0
  return {
    now: Date.now,
    monotonic: () => performance.now() + offsetMs,
    advance(ms: number) {
      offsetMs += ms
    },
  }
}

interface Case {
  readonly response?: Response
  readonly seller: Seller
  /** Base units that the seller received in all. */
  readonly received: bigint
}

const BALANCE = 1_000_000n

/** A seller of balances, and a call that takes from one. */
async function onBalance(options: Parameters<typeof open>[1] = {}) {
  const about = { balance: { amounts: ['$1'], period: '1h' } }
  const seller = await open([echo], { advanced: { timeouts: { certaintyMs: 1 } }, ...options, about })
  const sold = await pay(seller, `${seller.url}/balance`, { body: { amount: '$1' } })
  const headers = { ...KEY, 'x-svc-balance-key': sold.headers.get('x-svc-balance-key')! }
  return { seller, call: () => ask(`${seller.url}/echo`, { body, headers }) }
}

const CASES = {
  async settled() {
    const seller = await open([echo])
    const response = await pay(seller, `${seller.url}/echo`, { body })
    expect(await response.json()).toEqual({ echo: 'hello' })
    expect(receiptIn(response)).toMatchObject({
      success: true,
      txId: seller.sandbox.transactions().at(-1)?.txId,
      payer: seller.sandbox.wallet.address,
      amount: '10000',
      asset: '10458941',
    })
    return { response, seller, received: PRICE }
  },

  async served() {
    const endpoint = defineEndpoint({
      name: 'window',
      subscription: { price: '$0.01', period: '1h' },
      handler: () => ({ open: true }),
    })
    const seller = await open([endpoint])
    const bought = await pay(seller, `${seller.url}/window`)
    const response = await ask(`${seller.url}/window`, {
      headers: { 'x-svc-subscription': bought.headers.get('x-svc-subscription')! },
    })
    expect(await response.json()).toEqual({ open: true })
    expect(response.headers.get('payment-response')).toBeNull()
    return { response, seller, received: PRICE }
  },

  async counted() {
    const { call, seller } = await onBalance()
    const response = await call()
    expect(await response.json()).toEqual({ echo: 'hello' })
    expect(response.headers.get('x-svc-charged')).toBe('10000')
    expect(response.headers.get('payment-response')).toBeNull()
    return { response, seller, received: BALANCE }
  },

  async uncounted() {
    const store = memoryChargeStore()
    const count = () => Promise.reject(new Error('no store'))
    const { call, seller } = await onBalance({ stores: { charges: { ...store, count } } })
    const response = await call()
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    return { response, seller, received: BALANCE }
  },

  async replayed() {
    let runs = 0
    const endpoint = defineEndpoint({ name: 'count', price: '$0.01', handler: () => ({ runs: ++runs }) })
    const seller = await open([endpoint], { idempotency: { onLostResponse: 'replay' } })
    const first = await pay(seller, `${seller.url}/count`, { headers: KEY })
    const response = await pay(seller, `${seller.url}/count`, { headers: KEY })
    expect(await response.json()).toEqual({ runs: 1 })
    expect(response.headers.get('idempotency-replayed')).toBe('true')
    expect(receiptIn(response).txId).toBe(receiptIn(first).txId)
    expect(runs).toBe(1)
    return { response, seller, received: PRICE }
  },

  async answerNotKept() {
    let runs = 0
    const endpoint = defineEndpoint({
      name: 'large',
      price: '$0.01',
      handler: () => ({ runs: ++runs, text: 'x'.repeat(2_000) }),
    })
    const seller = await open([endpoint], { idempotency: { maxAnswerBytes: 1_000 } })
    const first = await pay(seller, `${seller.url}/large`, { headers: KEY })
    expect(first.status).toBe(200)
    expect(await first.json()).toMatchObject({ runs: 1 })
    const response = await pay(seller, `${seller.url}/large`, { headers: KEY })
    const { txId } = receiptIn(first)
    expect(await response.json()).toMatchObject({ error: { code: 'answer_not_kept', txId } })
    expect(receiptIn(response).txId).toBe(txId)
    expect(runs).toBe(1)
    return { response, seller, received: PRICE }
  },

  async tooManyUnpaid() {
    const { endpoint, entered, open: letGo } = gated()
    const seller = await open([endpoint], { advanced: { credit: { start: 1 }, timeouts: { creditMs: 100 } } })
    const first = pay(seller, `${seller.url}/slow`)
    await entered()
    const response = await pay(seller, `${seller.url}/slow`)
    expect(response.headers.get('retry-after')).toBe('5')
    const seen = seller.ended.at(-1)
    letGo()
    expect((await first).status).toBe(200)
    return { response, seller: { ...seller, ended: [seen!] }, received: PRICE }
  },

  async quoted() {
    const seller = await open([echo])
    const response = await ask(`${seller.url}/echo`, { body })
    const entry = {
      scheme: 'exact',
      amount: '10000',
      asset: '10458941',
      payTo: seller.sandbox.seller.address,
    }
    expect(challengeIn(response).accepts).toMatchObject([entry, entry])
    expect(await response.json()).toEqual({})
    return { response, seller, received: 0n }
  },

  async refused() {
    const seller = await open([echo])
    const payment = await signFor(seller, `${seller.url}/echo`, { body, account: 'spender' })
    seller.sandbox.freeze(seller.sandbox.accounts('spender').address, true)
    const response = await ask(`${seller.url}/echo`, { body, headers: payment })
    expect(challengeIn(response).error).toMatch(/frozen/)
    return { response, seller, received: 0n }
  },

  async unsettled() {
    const seller = await open([echo])
    seller.sandbox.faults.set('settle', 'refuse')
    const response = await pay(seller, `${seller.url}/echo`, { body })
    expect(receiptIn(response)).toMatchObject({ success: false, transaction: '' })
    expect(await response.json()).toEqual({})
    return { response, seller, received: 0n }
  },

  async inDoubt() {
    const seller = await open([echo], { advanced: { timeouts: { certaintyMs: 200, reconcilePauseMs: 50 } } })
    seller.sandbox.faults.set('settle', 'die-before')
    const response = await pay(seller, `${seller.url}/echo`, { body })
    expect(await response.json()).toMatchObject({
      error: { code: 'settlement_unknown', txId: expect.stringMatching(/^[A-Z2-7]{52}$/) },
    })
    return { response, seller, received: 0n }
  },

  async undecided() {
    const clock = turnableClock()
    const store = memoryChargeStore({ clock })
    const recording = gate()
    const charges: ChargeStore = {
      ...store,
      async record(move) {
        const recorded = await store.record(move)
        recording.enter()
        return recorded
      },
    }
    const timeouts = { settleMs: 300, certaintyMs: 300 }
    const seller = await open([echo], { stores: { charges }, idempotency: {}, advanced: { timeouts } })
    seller.sandbox.faults.set('settle', 'hang')
    const dying = new AbortController()
    const lost = pay(seller, `${seller.url}/echo`, { body, headers: KEY, signal: dying.signal }).catch(
      () => {},
    )
    await recording.entered()
    clock.advance(16_000)
    const replica = closing(await seller.replica())
    const response = await pay(replica, `${replica.url}/echo`, { body, headers: KEY })
    expect(await response.json()).toMatchObject({ error: { code: 'settlement_unknown' } })
    dying.abort()
    await lost
    return { response, seller: replica, received: 0n }
  },

  async invalid() {
    const seller = await open([echo])
    const payment = await signFor(seller, `${seller.url}/echo`, { body })
    const response = await ask(`${seller.url}/echo`, { body: { text: 7 }, headers: payment })
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_input', field: '/text', schema: textInput },
    })
    return { response, seller, received: 0n }
  },

  async inProgress() {
    const { endpoint, entered, open: letGo } = gated()
    const seller = await open([endpoint], { idempotency: {} })
    const first = pay(seller, `${seller.url}/slow`, { headers: KEY })
    await entered()
    const response = await pay(seller, `${seller.url}/slow`, { headers: KEY })
    const seen = seller.ended.at(-1)
    letGo()
    expect((await first).status).toBe(200)
    expect(seen?.final).toBe('inProgress')
    return { response, seller: { ...seller, ended: [seen!] }, received: PRICE }
  },

  async keyReused() {
    const seller = await open([echo], { idempotency: { onLostResponse: 'replay' } })
    await pay(seller, `${seller.url}/echo`, { body, headers: KEY })
    const response = await pay(seller, `${seller.url}/echo`, { body: { text: 'other' }, headers: KEY })
    return { response, seller, received: PRICE }
  },

  async paymentInUse() {
    const { endpoint, entered, open: letGo } = gated()
    const seller = await open([endpoint])
    const payment = await signFor(seller, `${seller.url}/slow`)
    const first = ask(`${seller.url}/slow`, { headers: payment })
    await entered()
    const response = await ask(`${seller.url}/slow`, { headers: payment })
    const seen = seller.ended.at(-1)
    letGo()
    expect((await first).status).toBe(200)
    return { response, seller: { ...seller, ended: [seen!] }, received: PRICE }
  },

  async paymentSpent() {
    const seller = await open([echo])
    const payment = await signFor(seller, `${seller.url}/echo`, { body })
    const first = await ask(`${seller.url}/echo`, { body, headers: payment })
    const response = await ask(`${seller.url}/echo`, { body, headers: payment })
    expect(await response.json()).toMatchObject({ error: { txId: receiptIn(first).txId } })
    expect(response.headers.get('payment-required')).toBeNull()
    return { response, seller, received: PRICE }
  },

  async superseded() {
    const clock = turnableClock()
    const charges = memoryChargeStore({ clock })
    const { endpoint, entered, open: letGo } = gated()
    const seller = await open([endpoint], { stores: { charges }, idempotency: {} })
    const first = pay(seller, `${seller.url}/slow`, { headers: KEY })
    await entered()
    clock.advance(60_000)
    const replica = closing(await seller.replica())
    const second = pay(replica, `${replica.url}/slow`, { headers: KEY })
    await entered(2)
    letGo()
    const response = await first
    expect((await second).status).toBe(200)
    return { response, seller, received: PRICE }
  },

  async limited() {
    const seller = await open([echo], { rateLimit: { perMinute: 1, per: 'ip' } })
    await ask(`${seller.url}/echo`, { body })
    const response = await ask(`${seller.url}/echo`, { body })
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    return { response, seller, received: 0n }
  },

  async abandoned() {
    const { endpoint, entered } = gated()
    const seller = await open([endpoint])
    const hangUp = new AbortController()
    const call = pay(seller, `${seller.url}/slow`, { signal: hangUp.signal })
    await entered()
    const end = seller.nextEnded()
    hangUp.abort()
    await expect(call).rejects.toThrow()
    await end
    return { seller, received: 0n }
  },

  async failed() {
    const endpoint = defineEndpoint({
      name: 'fail',
      price: '$0.01',
      handler({ log }) {
        for (let line = 1; line <= 25; line++) log(`line ${line}`)
        throw new SvcError('no such city', 'unknown_city', 404)
      },
    })
    const seller = await open([endpoint])
    const response = await pay(seller, `${seller.url}/fail`)
    expect(response.status).toBe(404)
    const { error } = (await response.json()) as { error: { code: string; logs: { message: string }[] } }
    expect(error.code).toBe('unknown_city')
    expect(error.logs.map(entry => entry.message)).toEqual(
      Array.from({ length: 20 }, (_, index) => `line ${index + 6}`),
    )
    return { seller, received: 0n }
  },

  async unpriced() {
    const endpoint = defineEndpoint({ name: 'free', price: () => '$0', handler: () => 1 })
    const seller = await open([endpoint])
    const response = await ask(`${seller.url}/free`)
    expect(response.headers.get('payment-required')).toBeNull()
    return { response, seller, received: 0n }
  },

  async broken() {
    const seller = await open([unreadable])
    // Signed for a quote that no input was checked for.
    const headers = await signFor(seller, `${seller.url}/unreadable`)
    const response = await ask(`${seller.url}/unreadable`, { body, headers })
    return { response, seller, received: 0n }
  },

  async unavailable() {
    const seller = await open([echo])
    seller.sandbox.faults.set('verify', '500')
    const response = await pay(seller, `${seller.url}/echo`, { body })
    expect(response.headers.get('payment-required')).toBeNull()
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    return { response, seller, received: 0n }
  },

  async shuttingDown() {
    const { endpoint, entered, open: letGo } = gated()
    const seller = await open([endpoint], { shutdownTimeoutMs: 20_000 })
    const first = pay(seller, `${seller.url}/slow`)
    await entered()
    const closing = seller.server.shutdown('deploy')
    const response = await ask(`${seller.url}/slow`)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    const seen = seller.ended.at(-1)
    letGo()
    expect((await first).status).toBe(200)
    expect(await closing).toMatchObject({ reason: 'deploy', outcome: 'drained', abandoned: 0 })
    return { response, seller: { ...seller, ended: [seen!] }, received: PRICE }
  },

  async timedOut() {
    const endpoint = defineEndpoint({
      name: 'stuck',
      price: '$0.01',
      timeout: 1_000,
      handler: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
    })
    const seller = await open([endpoint])
    const response = await pay(seller, `${seller.url}/stuck`)
    return { response, seller, received: 0n }
  },
} satisfies Record<ChargeFinal, () => Promise<Case>>

describe('each final state of the charge machine, over HTTP', () => {
  for (const [final, arrange] of Object.entries(CASES) as [ChargeFinal, () => Promise<Case>][]) {
    const { status, code, charged } = OUTCOMES[final]
    it(`${final}: ${status} ${code}, charged ${charged}`, async () => {
      const { response, seller, received } = await arrange()
      const last = seller.ended.at(-1)!
      expect(last.final).toBe(final)
      expect(replayThroughXstate(last.path)).toBe(final)
      if (response) {
        expect(response.status).toBe(status)
        if (status >= 400 && status !== 402 && !response.bodyUsed) {
          expect(await response.json()).toMatchObject({
            error: { code: final === 'unavailable' ? expect.any(String) : code, message: expect.any(String) },
          })
        }
      }
      const { sandbox } = seller
      expect(sandbox.balance(sandbox.seller.address).usdc).toBe(received)
      expect(last.charged).toBe(charged)
    })
  }
})
