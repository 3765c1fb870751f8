/** A seller's own stores, whose functions throw where ours reject: what callers are told is the same. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { DOUBT } from '../support/ownership.js'
import { ask, open, pay } from '../support/seller.js'

const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
const pass = defineEndpoint({
  name: 'pass',
  subscription: { price: '$0.01', period: '1h', calls: 3 },
  handler: () => ({ done: true }),
})

function throwing<Store extends object>(store: Store, name: keyof Store): Store {
  return {
    ...store,
    [name]() {
      throw new Error(`${String(name)} is not there`)
    },
  }
}

const codeOf = async (answer: Response) => {
  const { error } = (await answer.json()) as { error?: { code: string } }
  return error?.code
}

const charges = memoryChargeStore
type Stores = NonNullable<ServeOptions['stores']>

describe('a store that throws', () => {
  it.each<[string, () => Stores, string | undefined, bigint]>([
    ['open', () => ({ charges: throwing(charges(), 'open') }), 'store_unavailable', 0n],
    ['record', () => ({ charges: throwing(charges(), 'record') }), 'store_unavailable', 0n],
    ['close', () => ({ charges: throwing(charges(), 'close') }), undefined, 10_000n],
    ['take of credit', () => ({ credit: throwing(memoryCounters(), 'take') }), 'store_unavailable', 0n],
    ['giveBack of credit', () => ({ credit: throwing(memoryCounters(), 'giveBack') }), undefined, 10_000n],
    ['take of the rate', () => ({ rateLimit: throwing(memoryCounters(), 'take') }), 'store_unavailable', 0n],
  ])('in %s costs nothing, or is paid for', async (_, stores, code, moved) => {
    const rateLimit = { perMinute: 100 }
    const seller = await open([work], { stores: stores(), idempotency: {}, rateLimit })
    const before = seller.sandbox.balance(seller.sandbox.seller.address).usdc!
    const answer = await pay(seller, `${seller.url}/work`)
    expect(await codeOf(answer)).toBe(code)
    expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc! - before).toBe(moved)
  })

  it('in renew leaves a call in doubt told of, and its payment looked up', async () => {
    const stores = { charges: throwing(charges(), 'renew') }
    const seller = await open([work], { ...DOUBT, stores })
    seller.sandbox.faults.set('settle', '500')
    const answer = await pay(seller, `${seller.url}/work`)
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { code: 'settlement_unknown', txId: expect.stringMatching(/^[A-Z2-7]{52}$/) } },
    ])
    expect(seller.ended.at(-1)).toMatchObject({ final: 'inDoubt' })
  })

  it.each(['use', 'giveBack', 'take', 'get'] as const)('in %s of windows answers', async name => {
    const subscriptions = memorySubscriptions()
    const seller = await open([pass], { stores: { subscriptions: throwing(subscriptions, name) } })
    const sold = await pay(seller, `${seller.url}/pass`)
    expect(sold.status).toBe(200)
    const headers = { 'x-svc-subscription': sold.headers.get('x-svc-subscription')! }
    const used = await ask(`${seller.url}/pass`, { headers })
    expect(await codeOf(used)).toBe(name === 'take' ? 'store_unavailable' : undefined)
  })
})
