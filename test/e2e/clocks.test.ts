/**
 * Replicas whose clocks are an hour behind and an hour ahead, on one Redis. What is held, counted and sold among them goes
 * by the time of Redis alone.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { redisSubscriptions } from '../../src/adapters/redis/subscriptions.js'
import { defineEndpoint, SvcError } from '../../src/index.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'
import { redisStores } from '../../src/redis.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { gate } from '../support/gate.js'
import { pausedLeases } from '../support/paused-leases.js'
import { PATIENT, type RedisServer, startRedis } from '../support/redis-server.js'
import { virtualRedis } from '../support/redis-virtual.js'
import { ask, open, pay, receiptIn, type Seller, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const PRICE = 10_000n
const HOUR_MS = 3_600_000
const LEASE_MS = 15_000
const KEY = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }

let redis: RedisServer
let sandbox: Sandbox
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())
beforeEach(async () => {
  sandbox = closing(await startSandbox())
})

/** One that is an hour behind, one that is right, and one that is an hour ahead. `over` replaces stores of each. */
async function replicas(
  endpoints: Parameters<typeof open>[0],
  options: Parameters<typeof open>[1] = {},
  over: (charges: ChargeStore, shiftMs: number) => Parameters<typeof open>[1] = () => ({}),
) {
  const prefix = `c${Math.random()}:`
  const at = (shiftMs: number) => {
    const own = closing(redisStores(redis.url, { prefix, ...PATIENT }))
    const { stores, advanced } = over(own.charges, shiftMs) ?? {}
    const clock = { ...advanced?.clock, now: () => Date.now() + shiftMs }
    return open(endpoints, {
      idempotency: {},
      ...options,
      sandbox,
      stores: { ...own, ...stores },
      advanced: { ...options.advanced, clock },
    })
  }
  return [await at(-HOUR_MS), await at(0), await at(HOUR_MS)] as const
}

/** A Redis whose clock shows the present, and goes on where the test says so. */
async function turnedRedis() {
  const redis = closing(await virtualRedis().then(({ stop, ...rest }) => ({ ...rest, close: stop })))
  const world = await redis.world()
  // A sold window ends at a moment of the day, which this Redis knows by its own clock.
  await world.advance(Date.now() - (await world.time.now()))
  return { world, windows: redisSubscriptions(world.connection, world.prefix, world.time) }
}

const received = () => sandbox.balance(sandbox.seller.address).usdc
const codeOf = async (response: Response) =>
  ((await response.json()) as { error?: { code: string } }).error?.code

describe('a window', () => {
  const window = defineEndpoint({
    name: 'window',
    subscription: { price: '$0.01', period: '10m' },
    handler: () => ({ open: true }),
  })
  const use = ({ url }: Seller, key: string) =>
    ask(`${url}/window`, { body: {}, headers: { 'x-svc-subscription': key } })

  it.each(['behind', 'right', 'ahead'])(
    'sold by the replica that is %s opens on each, and ends alike',
    async which => {
      const all = await replicas([window], { advanced: { maxTimeoutSeconds: 60 } })
      const seller = all[['behind', 'right', 'ahead'].indexOf(which)]!
      const sinceMs = Date.now()
      const sold = await pay(seller, `${seller.url}/window`)
      expect(sold.status).toBe(200)
      const key = sold.headers.get('x-svc-subscription')!
      for (const one of all) expect((await use(one, key)).status).toBe(200)
      // Ten minutes, and at the most the minute in which the payment could land.
      const endsMs = Date.parse(sold.headers.get('x-svc-subscription-expires')!)
      expect(endsMs - sinceMs).toBeGreaterThan(600_000 - 1_000)
      expect(endsMs - Date.now()).toBeLessThan(661_000 + 1_000)
      expect(received()).toBe(PRICE)
    },
  )

  it('that has ended is ended on each', async () => {
    const { world, windows } = await turnedRedis()
    const options = { advanced: { maxTimeoutSeconds: 60 } }
    const all = await replicas([window], options, () => ({ stores: { subscriptions: windows } }))
    const sold = await pay(all[2], `${all[2].url}/window`)
    const key = sold.headers.get('x-svc-subscription')!
    await world.advance(599_000)
    for (const one of all) expect((await use(one, key)).status).toBe(200)
    await world.advance(62_000)
    for (const one of all) expect((await use(one, key)).status).toBe(402)
  })
})

describe('a call', () => {
  let runs = 0
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) })
  beforeEach(() => {
    runs = 0
  })

  it('that is done is replayed by each for its key, and its payment is spent everywhere', async () => {
    const all = await replicas([work])
    const headers = await signFor(all[1], `${all[1].url}/work`)
    const first = await ask(`${all[1].url}/work`, { headers: { ...KEY, ...headers } })
    expect(first.status).toBe(200)
    for (const one of all) {
      const again = await pay(one, `${one.url}/work`, { headers: KEY })
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect([await again.json(), receiptIn(again).txId]).toEqual([{ run: 1 }, receiptIn(first).txId])
      const keyless = await ask(`${one.url}/work`, { headers })
      expect([keyless.status, await codeOf(keyless)]).toEqual([409, 'payment_spent'])
    }
    expect([runs, received()]).toEqual([1, PRICE])
  })

  it('at work on one is not taken over by another, for many leases', async () => {
    const door = gate()
    const slow = defineEndpoint({
      name: 'slow',
      price: '$0.01',
      async handler() {
        door.enter()
        await door.opened
        return { run: ++runs }
      },
    })
    const { clock, pass } = skippableClock()
    let renewed = gate()
    let runOut = async () => {}
    /** The first renews its leases by a clock that the test lets pass, and loses them where the test says so. */
    const all = await replicas(
      [slow],
      { advanced: { timeouts: { leaseMs: LEASE_MS } } },
      (charges, shiftMs) => {
        if (shiftMs >= 0) return {}
        const paused = pausedLeases(charges)
        runOut = paused.runOut
        const renew: ChargeStore['renew'] = async (...given) => {
          const ours = await charges.renew(...given)
          renewed.enter()
          return ours
        }
        return { stores: { charges: { ...paused.charges, renew } }, advanced: { clock } }
      },
    )
    const payment = await signFor(all[0], `${all[0].url}/slow`)
    const request = { headers: { ...KEY, ...payment } }
    const working = ask(`${all[0].url}/slow`, request)
    await door.entered()
    for (let leases = 0; leases < 3; leases++) {
      // In Redis the lease is over, as after all of its time. What the call has is what it renews.
      await runOut()
      renewed = gate()
      pass(LEASE_MS / 3)
      await renewed.entered()
      for (const one of [all[1], all[2]]) {
        expect(await codeOf(await ask(`${one.url}/slow`, request))).toBe('idempotency_in_progress')
      }
    }
    door.open()
    expect(await (await working).json()).toEqual({ run: 1 })
    const again = await ask(`${all[2].url}/slow`, request)
    expect(await again.json()).toEqual({ run: 1 })
    expect([runs, received()]).toEqual([1, PRICE])
  })

  it('is counted by one rate limit, whose minute is the same for all', async () => {
    const all = await replicas([work], { rateLimit: { perMinute: 3 } })
    for (const one of all) expect((await pay(one, `${one.url}/work`)).status).toBe(200)
    for (const one of all) {
      const limited = await pay(one, `${one.url}/work`)
      expect([limited.status, await codeOf(limited)]).toEqual([429, 'rate_limited'])
      const waitSeconds = Number(limited.headers.get('retry-after'))
      expect(waitSeconds).toBeGreaterThan(0)
      expect(waitSeconds).toBeLessThanOrEqual(60)
    }
    expect(received()).toBe(3n * PRICE)
  })

  it('that fails by its caller uses up one credit, whichever replica it was made to', async () => {
    const all = await replicas([work], { advanced: { credit: { start: 2 }, timeouts: { creditMs: 50 } } })
    for (const one of [all[0], all[2]]) {
      sandbox.faults.set('settle', 'refuse', { times: 1 })
      expect((await pay(one, `${one.url}/work`)).status).toBe(402)
    }
    for (const one of all) {
      expect(await codeOf(await pay(one, `${one.url}/work`))).toBe('too_many_unpaid_calls')
    }
    expect([runs, received()]).toEqual([2, 0n])
  })
})

describe('the calls of a window, while they are at work and the clock is set', () => {
  /** A window of three calls, of which the sale is the first. Its calls wait in the handler where their body says so. */
  function counted() {
    const doors = [gate(), gate()]
    const entered: unknown[] = []
    const endpoint = defineEndpoint({
      name: 'counted',
      subscription: { price: '$0.01', period: '1d', calls: 3 },
      async handler({ body }) {
        const { door } = (body ?? {}) as { door?: 0 | 1 | 'fails' }
        if (door === undefined) return { ran: true }
        const { enter, opened } = doors[door === 'fails' ? 0 : door]!
        entered.push(door)
        enter()
        await opened
        if (door === 'fails') throw new SvcError('not today', 'not_today', 422)
        return { ran: true }
      },
    })
    return { endpoint, doors, entered }
  }

  async function bought(seller: Seller) {
    const { url } = seller
    const sale = await pay(seller, `${url}/counted`)
    const headers = { 'x-svc-subscription': sale.headers.get('x-svc-subscription')! }
    expect([sale.status, sale.headers.get('x-svc-subscription-remaining')]).toEqual([200, '2'])
    return (door?: 0 | 1 | 'fails') => ask(`${url}/counted`, { body: { door }, headers })
  }

  it.each([
    ['ahead', 1],
    ['back', -1],
  ])('in memory nobody gets one more: set %s, and again', async (_, sign) => {
    let nowMs = Date.now()
    const { endpoint, doors } = counted()
    const seller = await open([endpoint], { sandbox, advanced: { clock: { now: () => nowMs } } })
    const call = await bought(seller)
    const working = [call(0), call(0)]
    await doors[0]!.entered(2)
    for (let step = 0; step < 3; step++) {
      nowMs += sign * HOUR_MS
      const refused = await call()
      expect([refused.status, refused.headers.get('x-svc-subscription-remaining')]).toEqual([402, '0'])
    }
    doors[0]!.open()
    expect((await Promise.all(working)).map(({ status }) => status)).toEqual([200, 200])
    expect((await call()).status).toBe(402)
    expect(received()).toBe(PRICE)
  })

  it('in memory a call that fails while the window seems to have ended is left afterwards', async () => {
    let nowMs = Date.now()
    const { endpoint, doors } = counted()
    const seller = await open([endpoint], { sandbox, advanced: { clock: { now: () => nowMs } } })
    const call = await bought(seller)
    const failing = call('fails')
    await doors[0]!.entered()
    nowMs += 48 * HOUR_MS
    doors[0]!.open()
    expect((await failing).status).toBe(422)
    nowMs -= 48 * HOUR_MS
    expect((await call()).headers.get('x-svc-subscription-remaining')).toBe('1')
  })

  it('on Redis each step ahead gives those at work once more, they count, and the window then ends', async () => {
    const { world, windows: store } = await turnedRedis()
    const { endpoint, doors, entered } = counted()
    const seller = await open([endpoint], { sandbox, subscriptions: { store } })
    const call = await bought(seller)
    const working = [call(0), call(0)]
    await doors[0]!.entered(2)
    expect((await call()).status).toBe(402)
    await world.advance(HOUR_MS)
    working.push(call(1), call(1))
    await doors[1]!.entered(2)
    expect([(await call()).status, entered]).toEqual([402, [0, 0, 1, 1]])
    // A step back gives nobody a call: what is reserved stays so for longer.
    await world.advance(-HOUR_MS)
    expect((await call()).status).toBe(402)
    for (const door of doors) door.open()
    expect((await Promise.all(working)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await world.advance(HOUR_MS)
    expect((await call()).status).toBe(402)
    expect(received()).toBe(PRICE)
  })
})
