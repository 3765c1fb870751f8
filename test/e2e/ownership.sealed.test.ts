/** What the seller's own secret adds: the key of a bought window for as long as the window lives, and a store that shows nothing. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { memoryTasks } from '../../src/adapters/memory/task-store.js'
import { defineEndpoint, type Stores } from '../../src/index.js'
import { EVERY_DOOR } from '../support/doors.js'
import {
  AWAY,
  DOUBT,
  HOME,
  inDoubt,
  keyed,
  observed,
  ownershipWorld,
  randomKey,
} from '../support/ownership.js'
import { proving } from '../support/payer-proof.js'
import { begun, send, textOf } from '../support/payment-tasks.js'
import { signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const [SECRET, NEWER] = ['a'.repeat(32), 'b'.repeat(32)]
const HOUR_MS = 3_600_000
const PRICE = 10_000n
const INPUT = { text: 'mine' }

const world = ownershipWorld()
let runs = 0
const window = (calls?: number) =>
  defineEndpoint({
    name: 'window',
    subscription: { price: '$0.01', period: '1d', ...(calls !== undefined && { calls }) },
    handler: () => ({ run: ++runs }),
  })

function timedStores(): { stores: Stores; pass(ms: number): void } {
  const { clock, pass } = skippableClock()
  const charges = memoryChargeStore({ clock })
  const subscriptions = memorySubscriptions({ clock })
  return { stores: { charges, subscriptions, tasks: memoryTasks({ clock }) }, pass }
}

type Options = NonNullable<Parameters<typeof world.open>[1]>

async function sale(options: Options, key: object = {}, calls?: number, door = EVERY_DOOR.HTTP!) {
  runs = 0
  const seller = await world.open([window(calls)], { idempotency: {}, ...DOUBT, ...options })
  const owner = world.payer()
  const before = world.received()
  const payment = await signFor(seller, `${seller.url}/window`, { account: owner.label, body: INPUT })
  const askAt = ({ url }: { readonly url: string }, ...more: object[]) =>
    door(url, {
      skill: 'window',
      input: INPUT,
      headers: Object.assign({}, payment, key, HOME, ...more),
    })
  return {
    seller,
    ask: (...more: object[]) => askAt(seller, ...more),
    askAt,
    proof: ({ url } = seller) => proving(owner, url, payment),
    charged: () => [runs, world.received() - before],
  }
}

describe.each(Object.entries(EVERY_DOOR))('through %s, the key of a window that was sold', (_, door) => {
  it.each([
    ['without an idempotency key', {}, undefined],
    ['under one', keyed(randomKey()), undefined],
    ['with a count of calls', {}, 3],
  ])('is had by a proof until the window ends, %s', async (_, key, calls) => {
    const { stores, pass } = timedStores()
    const { ask, proof, charged } = await sale({ stores, sealSecret: SECRET }, key, calls, door)
    const first = await ask()
    for (const hours of [1, 10, 12]) {
      pass(hours * HOUR_MS)
      const again = await ask(proof())
      expect(again).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
      expect(again.subscriptionKey).toBe(first.subscriptionKey)
    }
    pass(2 * HOUR_MS)
    expect((await ask(proof())).subscriptionKey).toBeUndefined()
    expect(charged()).toEqual([1, PRICE])
  })
})

describe('the key of a window that was sold', () => {
  it('is had by the payment of its task until the window ends', async () => {
    const { stores, pass } = timedStores()
    const { seller, charged } = await sale({ stores, sealSecret: SECRET, idempotency: { windowMs: HOUR_MS } })
    const { paid } = await begun(seller, textOf('mine'), world.payer().label)
    const { key } = (await send(seller.url, paid)).metadata['svc.subscription'] as { key: string }
    for (const hours of [2, 10, 11]) {
      pass(hours * HOUR_MS)
      const again = await send(seller.url, paid)
      expect(again).toMatchObject({ is: 'completed', metadata: { 'svc.subscription': { key } } })
    }
    pass(2 * HOUR_MS)
    expect((await send(seller.url, paid)).is).not.toBe('completed')
    expect(charged()).toEqual([1, PRICE])
  })

  it('is had for minutes where the seller has no secret', async () => {
    const { stores, pass } = timedStores()
    const { ask, proof, charged } = await sale({ stores })
    await ask()
    pass(HOUR_MS / 2)
    expect((await ask(proof())).code).toBe('payment_spent')
    expect(charged()).toEqual([1, PRICE])
  })

  it('is had by nobody who cannot prove to be the payer, also when the payment’s own record has gone', async () => {
    const { stores, pass } = timedStores()
    const { ask, charged } = await sale({ stores, sealSecret: SECRET })
    await ask()
    for (let hours = 0; hours < 20; hours += 4) {
      for (const more of [{}, AWAY, keyed('order-7'), keyed(randomKey())])
        expect((await ask(more)).subscriptionKey).toBeUndefined()
      pass(4 * HOUR_MS)
    }
    expect(charged()).toEqual([1, PRICE])
  })

  it('is had when the sale was in doubt, and landed', async () => {
    const { stores: timed, pass } = timedStores()
    const { stores, renewed } = observed(timed)
    const { seller, ask, proof, charged } = await sale({ stores, sealSecret: SECRET })
    expect((await inDoubt(seller, () => ask())).code).toBe('settlement_unknown')
    await renewed()
    world.sandbox.faults.clear()
    const found = await ask(proof())
    expect(found).toMatchObject({ replayed: true, data: { run: 1 } })
    pass(20 * HOUR_MS)
    expect((await ask(proof())).subscriptionKey).toBe(found.subscriptionKey)
    expect(charged()).toEqual([1, PRICE])
  })
})

describe.each(['memory', 'Redis'])('on %s, what a server with a secret sealed', kind => {
  it.each([
    ['opens with it', SECRET, true],
    ['opens with it beside a newer one', [NEWER, SECRET], true],
    ['does not open with another', NEWER, false],
    ['does not open with none', undefined, false],
  ])('%s, whoever asks', async (_, sealSecret, opens) => {
    const stores = world.STORES[kind]!()
    const { ask, askAt, proof, charged } = await sale({ stores, sealSecret: SECRET })
    const first = await ask()
    const other = await world.open([window()], { stores, ...(sealSecret && { sealSecret }) })
    const told = await askAt(other, proof(other))
    if (opens) expect(told).toMatchObject({ replayed: true, subscriptionKey: first.subscriptionKey })
    else expect([told.code, told.subscriptionKey]).toEqual(['payment_spent', undefined])
    expect(charged()).toEqual([1, PRICE])
  })

  it('is opened to the payer of an answer that was sealed before the seller had one', async () => {
    const stores = world.STORES[kind]!()
    const { ask, askAt, proof, charged } = await sale({ stores })
    const first = await ask()
    const later = await world.open([window()], { stores, sealSecret: SECRET })
    expect(await askAt(later, proof(later))).toMatchObject({
      replayed: true,
      subscriptionKey: first.subscriptionKey,
    })
    expect(charged()).toEqual([1, PRICE])
  })
})
