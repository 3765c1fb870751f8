/** What a window's calls were answered belongs to the window: its key is looked up first, whatever else a request carries. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { EVERY_DOOR, type TestDoor } from '../support/doors.js'
import { AWAY, HOME, keyed, ownershipWorld, randomKey, SHORT_KEY } from '../support/ownership.js'
import { proving } from '../support/payer-proof.js'
import { signFor } from '../support/seller.js'

const PRICE = 10_000n
const INPUT = { text: 'mine' }
const CALLS = 3

const world = ownershipWorld()
let runs = 0
const handler = () => ({ run: ++runs })
const ENDPOINTS = [
  defineEndpoint({ name: 'window', subscription: { price: '$0.01', period: '1h' }, handler }),
  defineEndpoint({ name: 'counted', subscription: { price: '$0.01', period: '1h', calls: CALLS }, handler }),
  defineEndpoint({ name: 'other', subscription: { price: '$0.01', period: '1h', calls: CALLS }, handler }),
]

async function opened(kind: string, door: TestDoor) {
  runs = 0
  const seller = await world.open(ENDPOINTS, { stores: world.STORES[kind]!(), idempotency: {} })
  const before = world.received()
  const sign = (skill: string, { label } = world.payer()) =>
    signFor(seller, `${seller.url}/${skill}`, { account: label, body: INPUT })
  const ask = (skill: string, ...headers: object[]) =>
    door(seller.url, { skill, input: INPUT, headers: Object.assign({}, ...headers) })
  return {
    seller,
    sign,
    ask,
    earned: () => world.received() - before,
    async buy(skill: string) {
      const { code, subscriptionKey } = await ask(skill, await sign(skill))
      expect(code).toBe('ok')
      return { 'x-svc-subscription': subscriptionKey! }
    },
  }
}

/** The seller of the windows, and after a deploy that sells single calls in their place, also on a balance. */
async function deployed(kind: string, door: TestDoor) {
  runs = 0
  const options = { stores: world.STORES[kind]!(), idempotency: {} }
  const about = { balance: { amounts: ['$0.02'], period: '1h' } }
  const single = ENDPOINTS.map(({ name }) => defineEndpoint({ name, price: '$0.01', handler }))
  const old = await world.open(ENDPOINTS, options)
  const next = await world.open(single, { ...options, about })
  const buy = async (seller: typeof old, skill: string, input: Readonly<Record<string, unknown>>) => {
    const account = world.payer().label
    const payment = await signFor(seller, `${seller.url}/${skill}`, { account, body: input })
    return door(seller.url, { skill, input, headers: { ...payment } })
  }
  const { balance } = await buy(next, 'balance', { amount: '$0.02' })
  return {
    balance: { 'x-svc-balance-key': balance!.key! },
    async window(skill: string) {
      const { subscriptionKey } = await buy(old, skill, INPUT)
      return { 'x-svc-subscription': subscriptionKey! }
    },
    ask: (skill: string, ...headers: object[]) =>
      door(next.url, { skill, input: INPUT, headers: Object.assign({}, ...headers) }),
  }
}

describe.each(['memory', 'Redis'])('on %s', kind => {
  describe.each(Object.entries(EVERY_DOOR))('through %s', (_, door) => {
    it.each(['window', 'counted'])('an answer that a %s covered is its own', async skill => {
      const { ask, buy, sign, earned } = await opened(kind, door)
      const [mine, theirs] = [await buy(skill), await buy(skill)]
      const key = keyed(SHORT_KEY)
      expect(await ask(skill, mine, key, HOME)).toMatchObject({ code: 'ok', data: { run: 3 } })
      // The key of the window is proof enough, from anywhere.
      expect(await ask(skill, mine, key, AWAY)).toMatchObject({ replayed: true, data: { run: 3 } })
      // Without it the same name is nobody's, and under another window's key it is another call.
      expect((await ask(skill, key, HOME)).code).toBe('payment_required')
      expect(await ask(skill, theirs, key, HOME)).toMatchObject({ replayed: false, data: { run: 4 } })
      expect((await ask('other', mine, key, HOME)).code).toBe('payment_required')
      // Another payer under the same name buys a window of its own.
      const sold = await ask(skill, await sign(skill), key, HOME)
      expect(sold).toMatchObject({ replayed: false, data: { run: 5 } })
      expect([runs, earned()]).toEqual([5, 3n * PRICE])
    })

    it('a payment beside the key of an open window is left alone, and so is its proof', async () => {
      const { seller, ask, buy, earned } = await opened(kind, door)
      const mine = await buy('counted')
      const payer = world.payer()
      const payment = await signFor(seller, `${seller.url}/counted`, { account: payer.label, body: INPUT })
      const key = keyed(randomKey())
      const proof = proving(payer, seller.url, payment)
      expect(await ask('counted', mine, key, payment)).toMatchObject({ data: { run: 2 } })
      expect(await ask('counted', mine, key)).toMatchObject({ replayed: true, data: { run: 2 } })
      expect(await ask('counted', mine, key, payment, proof)).toMatchObject({
        replayed: true,
        data: { run: 2 },
      })
      expect(earned()).toBe(PRICE)
      // It buys another window when it comes alone.
      expect(await ask('counted', payment)).toMatchObject({ replayed: false, data: { run: 3 } })
      expect(earned()).toBe(2n * PRICE)
    })

    it('what a window’s last calls were answered is had again by its key', async () => {
      const { ask, buy, earned } = await opened(kind, door)
      const mine = await buy('counted')
      const keys = Array.from({ length: CALLS - 1 }, () => keyed(randomKey()))
      for (const key of keys) expect((await ask('counted', mine, key)).code).toBe('ok')
      expect((await ask('counted', mine, keyed(randomKey()))).code).toBe('payment_required')
      for (const [at, key] of keys.entries())
        expect(await ask('counted', mine, key)).toMatchObject({ replayed: true, data: { run: at + 2 } })
      expect([runs, earned()]).toEqual([CALLS, PRICE])
    })

    it('a payment beside the key of a used-up window is not charged for what the window answered', async () => {
      const { ask, buy, sign, earned } = await opened(kind, door)
      const mine = await buy('counted')
      const keys = Array.from({ length: CALLS - 1 }, () => keyed(randomKey()))
      for (const key of keys) expect((await ask('counted', mine, key)).code).toBe('ok')
      const payment = await sign('counted')
      for (const [at, key] of keys.entries())
        expect(await ask('counted', mine, key, payment)).toMatchObject({
          replayed: true,
          data: { run: at + 2 },
        })
      expect([runs, earned()]).toEqual([CALLS, PRICE])
      // A call that the window never answered is bought by the payment, and is had again by both together.
      const next = keyed(randomKey())
      expect(await ask('counted', mine, next, payment)).toMatchObject({ replayed: false, data: { run: 4 } })
      expect(await ask('counted', mine, next, payment)).toMatchObject({ replayed: true, data: { run: 4 } })
      expect([runs, earned()]).toEqual([4, 2n * PRICE])
    })

    it('a balance beside the key of an open window that a deploy left pays nothing', async () => {
      const { balance, window, ask } = await deployed(kind, door)
      for (const skill of ['window', 'counted']) {
        const mine = await window(skill)
        const { code, balance: told } = await ask(skill, mine, balance, keyed(randomKey()))
        expect([code, told?.charged]).toEqual(['ok', undefined])
      }
      // Alone, and beside a key that opens nothing, it pays.
      for (const [at, key] of [{}, { 'x-svc-subscription': 'svc_nothing' }].entries())
        expect(await ask('other', key, balance, keyed(randomKey()))).toMatchObject({
          code: 'ok',
          balance: { charged: '10000', left: String(10_000 - at * 10_000) },
        })
    })

    it('a balance beside the key of a used-up window pays nothing for what the window answered', async () => {
      const { balance, window, ask } = await deployed(kind, door)
      const mine = await window('counted')
      const keys = Array.from({ length: CALLS - 1 }, () => keyed(randomKey()))
      for (const key of keys) expect((await ask('counted', mine, key)).code).toBe('ok')
      for (const key of keys) {
        const again = await ask('counted', mine, balance, key)
        expect([again.replayed, again.balance?.charged]).toEqual([true, undefined])
      }
      expect(runs).toBe(CALLS)
      const next = keyed(randomKey())
      const paid = { code: 'ok', balance: { charged: '10000' } }
      expect(await ask('counted', mine, balance, next)).toMatchObject({ ...paid, replayed: false })
      expect(await ask('counted', mine, balance, next)).toMatchObject({ ...paid, replayed: true })
      expect(runs).toBe(CALLS + 1)
    })
  })
})
