/**
 * A store that is slow, silent or loses answers, a facilitator that is away, a server that is told to stop: what callers
 * were told stays true, nothing stays locked, and no answer that was paid for is lost.
 */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'
import { systemClock } from '../../src/ports/clock.js'
import { redisStores } from '../../src/redis.js'
import { closing } from '../support/closing.js'
import { emptiedRedis } from '../support/emptied-redis.js'
import { fakeNode } from '../support/fake-node.js'
import { gate } from '../support/gate.js'
import {
  ask,
  landLate,
  open,
  pay,
  presenting,
  receiptIn,
  type Seller,
  signedIn,
  signFor,
} from '../support/seller.js'

const PRICE = 10_000n
const KEY = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string; txId?: string } }).error

function counted() {
  let runs = 0
  const entered = gate()
  const endpoint = defineEndpoint({
    name: 'work',
    price: '$0.01',
    handler: () => {
      entered.enter()
      return { run: ++runs }
    },
  })
  return { endpoint, runs: () => runs, entered }
}

describe('a Redis that stands still', () => {
  const redis = emptiedRedis()

  const connected = async (commandTimeoutMs: number) => {
    const stores = closing(redisStores(redis.url, { commandTimeoutMs }))
    await stores.ping()
    return stores
  }
  /** The move that meets the Redis that stands still goes over a connection of its own: the others have long, on a busy machine too. */
  async function impatientAt(move: 'open' | 'record', before: () => unknown = () => {}) {
    const [patient, impatient] = [await connected(20_000), await connected(300)]
    let isFirst = true
    const moving = async (given: never) => {
      const { charges } = isFirst ? impatient : patient
      if (isFirst) await before()
      isFirst = false
      return (charges[move] as (given: never) => Promise<unknown>)(given)
    }
    return { ...patient, charges: { ...patient.charges, [move]: moving } }
  }
  /** Scripts wait in the server, and are carried out when it goes on. */
  const standStill = () => redis.admin.call('CLIENT', 'PAUSE', '600000', 'WRITE')
  const goOn = () => redis.admin.call('CLIENT', 'UNPAUSE')
  const held = async () => (await redis.admin.keys('svc:{*')).length

  it('does not open a call later that it refused', async () => {
    const { endpoint, runs } = counted()
    const seller = await open([endpoint], { stores: await impatientAt('open', standStill), idempotency: {} })
    const headers = { ...KEY, ...(await signFor(seller, `${seller.url}/work`)) }
    const refused = await ask(`${seller.url}/work`, { headers })
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, 'store_unavailable'])
    await goOn()
    expect(await held()).toBe(0)
    await expect.poll(async () => (await ask(`${seller.url}/work`, { headers })).status).toBe(200)
    expect([runs(), received(seller)]).toEqual([1, PRICE])
  })

  it('does not record a call later that it refused, and gives back what it had opened', async () => {
    const { endpoint, runs } = counted()
    const stores = await impatientAt('record', standStill)
    const seller = await open([endpoint], { stores, idempotency: {} })
    const headers = { ...KEY, ...(await signFor(seller, `${seller.url}/work`)) }
    const refused = await ask(`${seller.url}/work`, { headers })
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, 'store_unavailable'])
    await goOn()
    await expect.poll(held).toBe(0)
    expect((await ask(`${seller.url}/work`, { headers })).status).toBe(200)
    expect([runs(), received(seller)]).toEqual([2, PRICE])
  })
})

describe('a store that loses what it says', () => {
  /** Carries the move out, and loses its answer so many times. */
  function losing(store: ChargeStore, move: 'open' | 'record' | 'close', times: number): ChargeStore {
    let left = times
    const lossy = async (given: never) => {
      const answer = await (store[move] as (given: never) => Promise<unknown>)(given)
      if (left-- > 0) throw new Error(`the answer to ${move} was lost`)
      return answer
    }
    return { ...store, [move]: lossy }
  }

  /** Does not carry the move out, so many times. */
  function failing(store: ChargeStore, move: 'close', times: number): ChargeStore {
    let left = times
    return {
      ...store,
      [move]: async (given: never) => (left-- > 0 ? Promise.reject(new Error('down')) : store[move](given)),
    }
  }

  it.each(['open', 'record'] as const)(
    '%s: the caller is refused, and its key and payment are free again',
    async move => {
      const { endpoint, runs } = counted()
      const store = memoryChargeStore()
      const seller = await open([endpoint], { idempotency: {}, stores: { charges: losing(store, move, 1) } })
      const headers = { ...KEY, ...(await signFor(seller, `${seller.url}/work`)) }
      expect((await ask(`${seller.url}/work`, { headers })).status).toBe(503)
      await expect.poll(async () => (await ask(`${seller.url}/work`, { headers })).status).toBe(200)
      expect(runs()).toBe(move === 'open' ? 1 : 2)
      expect(received(seller)).toBe(PRICE)
    },
  )

  it('record, and hears no release: nothing is charged until the caller sends the same payment again, and then once', async () => {
    const { endpoint, runs } = counted()
    const charges = failing(losing(memoryChargeStore(), 'record', 1), 'close', Number.POSITIVE_INFINITY)
    const seller = await open([endpoint], {
      idempotency: {},
      stores: { charges },
      advanced: { timeouts: { leaseMs: 300 } },
    })
    const headers = { ...KEY, ...(await signFor(seller, `${seller.url}/work`)) }
    const refused = await ask(`${seller.url}/work`, { headers })
    expect([refused.status, received(seller)]).toEqual([503, 0n])
    await expect.poll(async () => (await ask(`${seller.url}/work`, { headers })).status).toBe(200)
    expect([runs(), received(seller)]).toEqual([1, PRICE])
  })

  it.each(['release', 'replay'] as const)(
    '%s: an open that took a call over, and was lost, loses no answer and charges nothing again',
    async onLostResponse => {
      const { endpoint, runs } = counted()
      const store = memoryChargeStore()
      let losing = false
      const charges: ChargeStore = {
        ...store,
        async open(move) {
          const opened = await store.open(move)
          if (!losing || opened.verdict !== 'orphaned') return opened
          losing = false
          throw new Error('the answer to open was lost')
        },
      }
      const seller = await open([endpoint], {
        idempotency: { onLostResponse },
        stores: { charges },
        advanced: { timeouts: { certaintyMs: 100, reconcilePauseMs: 20, settleMs: 500, leaseMs: 300 } },
      })
      seller.sandbox.faults.set('settle', 'die-before')
      const payment = await signFor(seller, `${seller.url}/work`)
      expect((await ask(`${seller.url}/work`, { headers: { ...KEY, ...payment } })).status).toBe(503)
      await landLate(seller, payment)
      losing = true
      const again = () => pay(seller, `${seller.url}/work`, { headers: KEY })
      expect((await again()).status).toBe(503)
      await expect.poll(async () => (await again()).headers.get('idempotency-replayed')).toBe('true')
      expect([runs(), received(seller)]).toEqual([1, PRICE])
    },
  )

  it.each(['release', 'replay'] as const)(
    '%s: a completion that is lost is sent again',
    async onLostResponse => {
      const { endpoint, runs } = counted()
      const charges = failing(memoryChargeStore(), 'close', 3)
      const seller = await open([endpoint], { idempotency: { onLostResponse }, stores: { charges } })
      expect((await pay(seller, `${seller.url}/work`, { headers: KEY })).status).toBe(200)
      const again = () => pay(seller, `${seller.url}/work`, { headers: KEY })
      await expect.poll(async () => (await again()).headers.get('idempotency-replayed')).toBe('true')
      expect([runs(), received(seller)]).toEqual([1, PRICE])
    },
  )

  it.each(['release', 'replay'] as const)(
    '%s: a completion that is lost for good is made up by recovery',
    async onLostResponse => {
      const { endpoint, runs } = counted()
      const charges = failing(memoryChargeStore(), 'close', Number.POSITIVE_INFINITY)
      const seller = await open([endpoint], {
        idempotency: { onLostResponse },
        stores: { charges },
        advanced: { timeouts: { leaseMs: 300 } },
      })
      expect((await pay(seller, `${seller.url}/work`, { headers: KEY })).status).toBe(200)
      const again = () => pay(seller, `${seller.url}/work`, { headers: KEY })
      await expect.poll(async () => (await again()).headers.get('idempotency-replayed')).toBe('true')
      expect([runs(), received(seller)]).toEqual([1, PRICE])
    },
  )
})

describe('a settlement that is in doubt', () => {
  const impatient: Partial<ServeOptions> = {
    advanced: { timeouts: { certaintyMs: 100, reconcilePauseMs: 20, settleMs: 500 } },
  }

  for (const [name, headersOf] of [
    ['without a key', () => ({})],
    ['with a key', () => KEY],
  ] as const) {
    for (const fault of ['late', 'die-before', 'hang'] as const) {
      it(`${name}, ${fault}: the same payment with the same body gets its answer, charged once`, async () => {
        const { endpoint, runs } = counted()
        const seller = await open([endpoint], { idempotency: {}, ...impatient })
        const url = `${seller.url}/work`
        const body = { question: 'who?' }
        const payment = await signFor(seller, url, { body })
        const headers = { ...headersOf(), ...payment }
        seller.sandbox.faults.set('settle', fault === 'late' ? 'die-before' : fault)
        const doubtful = await ask(url, { body, headers })
        const { code, txId } = await errorOf(doubtful)
        expect([doubtful.status, code]).toEqual([503, 'settlement_unknown'])
        seller.sandbox.faults.clear()
        if (fault === 'late') await landLate(seller, payment)
        const again = async () => ask(url, { body, headers })
        await expect.poll(async () => (await again()).status).toBe(200)
        const answer = await again()
        expect(answer.headers.get('idempotency-replayed')).toBe('true')
        expect([await answer.json(), receiptIn(answer).txId]).toEqual([{ run: 1 }, txId])
        expect([runs(), received(seller)]).toEqual([1, PRICE])
        // With another body the payment opens nothing.
        const other = await ask(url, { body: { question: 'why?' }, headers })
        expect(other.status).toBe(409)
        expect(['payment_spent', 'idempotency_key_reuse']).toContain((await errorOf(other)).code)
      })
    }
  }

  it('the same transaction under another signature opens nothing, and is told nothing of the charge', async () => {
    const { endpoint, runs } = counted()
    const seller = await open([endpoint], impatient)
    const url = `${seller.url}/work`
    const payment = await signFor(seller, url)
    seller.sandbox.faults.set('settle', 'die-before')
    expect((await ask(url, { headers: payment })).status).toBe(503)
    await landLate(seller, payment)
    const payload = signedIn(payment)
    const { paymentGroup, paymentIndex } = payload.payload
    const bytes = Buffer.from(paymentGroup[paymentIndex], 'base64')
    bytes[20]! ^= 1
    paymentGroup[paymentIndex] = bytes.toString('base64')
    const forged = await ask(url, { headers: presenting(payload) })
    expect([
      forged.status,
      ['payment_spent', 'payment_in_use'].includes((await errorOf(forged)).code),
    ]).toEqual([409, true])
    await expect.poll(async () => (await ask(url, { headers: payment })).status).toBe(200)
    expect(runs()).toBe(1)
  })

  it('without a key and with no doubt, the answer is delivered once and not kept', async () => {
    const { endpoint, runs } = counted()
    const seller = await open([endpoint], { idempotency: {} })
    const headers = await signFor(seller, `${seller.url}/work`)
    expect((await ask(`${seller.url}/work`, { headers })).status).toBe(200)
    const again = await ask(`${seller.url}/work`, { headers })
    expect([again.status, (await errorOf(again)).code]).toEqual([409, 'payment_spent'])
    expect([runs(), received(seller)]).toEqual([1, PRICE])
  })

  it('is reconciled for as long as it says, though the time of day is set back', async () => {
    const { endpoint } = counted()
    let setBackMs = 0
    const seller = await open([endpoint], {
      ...impatient,
      advanced: { ...impatient.advanced, clock: { now: () => Date.now() - setBackMs } },
    })
    seller.sandbox.faults.set('settle', 'die-before')
    const headers = await signFor(seller, `${seller.url}/work`)
    const startedMs = performance.now()
    const doubtful = ask(`${seller.url}/work`, { headers })
    setBackMs = 3_600_000
    expect((await doubtful).status).toBe(503)
    expect(performance.now() - startedMs).toBeLessThan(60_000)
  })

  it.each([1, 2])(
    'ends with settlement_unknown and the txId where the server is told to stop %i times',
    async signals => {
      const { endpoint } = counted()
      const seller = await open([endpoint], { shutdownTimeoutMs: 300 })
      const times = 100
      seller.sandbox.faults.set('settle', 'hang', { times })
      const headers = await signFor(seller, `${seller.url}/work`)
      const waiting = ask(`${seller.url}/work`, { headers })
      // The payment may have been submitted from here on: a second signal before that ends the call without a charge.
      await expect.poll(() => seller.sandbox.faults.list()[0]?.times).toBeLessThan(times)
      const ended = Array.from({ length: signals }, () => seller.server.shutdown('SIGTERM'))
      const answer = await waiting
      expect([answer.status, await errorOf(answer)]).toMatchObject([
        503,
        { code: 'settlement_unknown', txId: expect.stringMatching(/^[A-Z2-7]{52}$/) },
      ])
      expect(await ended[0]).toMatchObject({ outcome: 'timedOut' })
    },
  )
})

it("an Algorand node that is silent is waited for by the server's clock", async () => {
  const NODE_MS = 2_000
  const [asked, cut] = [gate(), gate()]
  const node = await fakeNode((_, response) => {
    response.on('close', cut.enter)
    asked.enter()
  })
  const limits = new Set<() => void>()
  const after: typeof systemClock.after = (ms, callback) => {
    if (ms !== NODE_MS) return systemClock.after(ms, callback)
    limits.add(callback)
    return () => limits.delete(callback)
  }
  await open([counted().endpoint], { algodUrl: node.url, advanced: { clock: { after } } })
  await asked.entered()
  expect(limits.size).toBeGreaterThan(0)
  for (const end of limits) end()
  await cut.entered()
  await node.close()
})
