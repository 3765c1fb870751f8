/** A seller's own store of windows that has no more than `get`, `put` and `sweep`, over real HTTP. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { defineEndpoint, type SubscriptionRecord, type SubscriptionStore } from '../../src/index.js'
import { subscriptionsContract } from '../../src/testing.js'
import { closing } from '../support/closing.js'
import { metFault } from '../support/met-fault.js'
import { ask, open, pay, type Seller, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const PRICE = 10_000n
const HOUR_MS = 3_600_000
const KEY = { 'idempotency-key': 'a-random-key-that-no-stranger-guesses' }
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc

const pass = defineEndpoint({
  name: 'pass',
  subscription: { price: '$0.01', period: '1h' },
  handler: () => ({ open: true }),
})

const STORES = {
  'a map': (windows: Map<string, SubscriptionRecord>) => ({
    get: id => windows.get(id),
    put: (id, record) => windows.set(id, record),
    sweep(nowMs) {
      for (const [id, { expiresAtMs }] of windows) if (expiresAtMs < nowMs) windows.delete(id)
    },
  }),
  'rows of a table, of a class': (windows: Map<string, SubscriptionRecord>) => new Rows(windows),
} satisfies Record<string, (windows: Map<string, SubscriptionRecord>) => SubscriptionStore>

class Rows implements SubscriptionStore {
  readonly windows
  constructor(windows: Map<string, SubscriptionRecord>) {
    this.windows = windows
  }
  async get(id: string) {
    return this.windows.get(id) ?? null
  }
  async put(id: string, record: SubscriptionRecord) {
    this.windows.set(id, { ...record })
  }
  async sweep(nowMs: number) {
    for (const [id, { expiresAtMs }] of this.windows) if (expiresAtMs < nowMs) this.windows.delete(id)
  }
}

describe.each(Object.entries(STORES))('%s with get, put and sweep', (name, make) => {
  if (name !== 'a map')
    subscriptionsContract({ describe, expect, it }, name, () => {
      let nowMs = Date.UTC(2026, 0, 1)
      const advance = (ms: number) => {
        nowMs += ms
      }
      return { store: make(new Map()), now: () => nowMs, advance, windowMs: 1_500 }
    })

  it('sells windows that only time ends, to all replicas that share it', async () => {
    let nowMs = Date.now()
    const windows = new Map<string, SubscriptionRecord>()
    const options = { advanced: { clock: { now: () => nowMs } }, subscriptions: { store: make(windows) } }
    const seller = await open([pass], options)
    const other = closing(await seller.replica(options))
    const sale = await pay(seller, `${seller.url}/pass`)
    const key = sale.headers.get('x-svc-subscription')!
    expect([sale.status, windows.size, received(seller)]).toEqual([200, 1, PRICE])
    const use = async ({ url }: Seller, headers = { 'x-svc-subscription': key }) =>
      (await ask(`${url}/pass`, { headers })).status
    expect([await use(seller), await use(other)]).toEqual([200, 200])
    expect(await use(other, { 'x-svc-subscription': `${key}x` })).toBe(402)
    nowMs += 2 * HOUR_MS
    expect([await use(seller), await use(other), received(seller)]).toEqual([402, 402, PRICE])
  })

  it('has a recovered window once, and as it was sold', async () => {
    const windows = new Map<string, SubscriptionRecord>()
    const puts: [string, SubscriptionRecord][] = []
    const store = make(windows)
    const put = store.put.bind(store)
    store.put = (id, record) => {
      puts.push([id, { ...record }])
      return put(id, record) as never
    }
    const time = skippableClock()
    const certaintyMs = 10_000
    const seller = await open([pass], {
      idempotency: {},
      stores: { charges: memoryChargeStore(), subscriptions: store },
      advanced: { clock: time.clock, timeouts: { certaintyMs, reconcilePauseMs: 50 } },
    })
    const headers = { ...(await signFor(seller, `${seller.url}/pass`)), ...KEY }
    const met = metFault(seller.sandbox, 'settle', 'die-before')
    const doubtful = ask(`${seller.url}/pass`, { headers })
    await met()
    time.pass(certaintyMs)
    expect((await doubtful).status).toBe(503)
    seller.sandbox.faults.clear()
    const recovered = await ask(`${seller.url}/pass`, { headers })
    expect([recovered.status, received(seller)]).toEqual([200, PRICE])
    const key = recovered.headers.get('x-svc-subscription')!
    expect(puts).toEqual([puts[0], puts[0]])
    expect([...windows]).toEqual([puts[0]])
    expect((await ask(`${seller.url}/pass`, { headers: { 'x-svc-subscription': key } })).status).toBe(200)
  })

  it('sells nothing while it is down', async () => {
    const store = make(new Map())
    store.put = () => {
      throw new Error('down')
    }
    const seller = await open([pass], { subscriptions: { store } })
    const refused = await pay(seller, `${seller.url}/pass`)
    expect([refused.status, received(seller)]).toEqual([503, 0n])
  })
})
