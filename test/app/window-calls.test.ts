/** The calls of a window that has a count, through the whole machine: taken, counted, given back, and a store that is silent. */
import { describe, expect, it } from 'vitest'
import { sharedWindows } from '../../proof/simulation/stores/shared-windows.js'
import { DEFAULT_TIMEOUTS } from '../../src/app/charge/charge-deps.js'
import { entitle } from '../../src/app/charge/effects/entitle.js'
import { record } from '../../src/app/charge/effects/record.js'
import { validate } from '../../src/app/charge/effects/validate.js'
import { balanceId, balanceSlot, windowId } from '../../src/app/charge/names-in-stores.js'
import type { WindowMove } from '../../src/app/charge/resend-lost-moves.js'
import { createCharge } from '../../src/app/charge/walk-charge-machine.js'
import { SvcError } from '../../src/domain/errors.js'
import type { Handler } from '../../src/domain/handler.js'
import type { CountingSubscriptionStore, TakeMove } from '../../src/ports/subscriptions.js'
import { DOWN as DOWN_STORE, type Given, OWNER, oneCall, START_MS } from '../support/one-call.js'

const KEY = 'svc_key'
const ID = windowId(OWNER, KEY)
const HOUR_MS = 3_600_000
const TIMEOUT_MS = 10_000
const { leaseMs: LEASE_MS, creditMs: CREDIT_MS } = DEFAULT_TIMEOUTS
const DOWN = () => Promise.reject(new Error('down'))

interface Scene {
  readonly calls?: number | undefined
  /** What is left of the window whose key comes with the request; `null` where only time ends it. */
  readonly left?: number | null
  readonly handler?: Handler
  /** Replaces moves of the store. */
  readonly store?: (store: CountingSubscriptionStore) => Partial<CountingSubscriptionStore>
  readonly given?: Given
}

function windowed({ calls = 5, left = 3, handler = () => 'work', store, given }: Scene = {}) {
  const pending: WindowMove[] = []
  const it = oneCall({
    ...given,
    def: {
      handler: handler as never,
      timeout: TIMEOUT_MS,
      price: undefined,
      subscription: { price: '$0.01', period: '1h', calls },
      ...given?.def,
    },
    endpoint: { periodMs: HOUR_MS, ...given?.endpoint },
    request: { subscriptionKey: KEY, body: { kind: 'read', value: {} }, ...given?.request },
    world: {
      pendingWindowMoves: {
        add: (move: WindowMove) => void pending.push(move),
        sent: async () => {},
        close() {},
      },
      ...given?.world,
    },
  })
  // One that outlives the process, as a store that can be silent does.
  const windows = sharedWindows(it.world.clock.now)
  const expiresAtMs = START_MS + HOUR_MS
  void windows.putIfAbsent(ID, { endpoint: 'work', expiresAtMs, ...(left !== null && { callsLeft: left }) })
  Object.assign(it.world, { subscriptions: { ...windows, ...store?.(windows) } })
  let busy = 0
  const inFlight = { enter: () => void busy++, leave: () => void busy-- }
  const charge = createCharge(it.world, [], inFlight)
  const callNow = () => charge.call('work', it.request)
  const call = async () => (await it.ended(callNow)).answer
  const stored = async () => (await windows.get(ID))?.callsLeft
  return { ...it, record: it.call, windows, pending, call, callNow, stored, busy: () => busy }
}

describe('a call in a window with a count', () => {
  it('is taken before its handler runs, counted when it delivered, and told what is left', async () => {
    let during: number | undefined
    const { call, stored, pending } = windowed({
      async handler() {
        during = await stored()
        return 'work'
      },
    })
    expect(await call()).toMatchObject({ final: 'served', callsLeft: 2, subscription: undefined })
    expect(during).toBe(2)
    expect(await stored()).toBe(2)
    expect(pending).toEqual([])
  })

  it('is counted once its answer is due, however long its lease would have been', async () => {
    const { call, stored, timeline } = windowed()
    await call()
    await timeline.run(START_MS + HOUR_MS / 2)
    expect(await stored()).toBe(2)
  })

  it.each([
    [{}, CREDIT_MS + TIMEOUT_MS + LEASE_MS],
    [{ stream: true, streamTimeout: 7_000 }, CREDIT_MS + TIMEOUT_MS + 7_000 + LEASE_MS],
  ])(
    'is reserved for its wait for credit, its handler’s time, its stream’s (%o), and for that after which a stopped call counts as dead',
    async (def, leaseMs) => {
      const taken: TakeMove[] = []
      const { call } = windowed({
        given: { def },
        store: store => ({
          take(id, move) {
            taken.push(move)
            return store.take(id, move)
          },
        }),
      })
      await call()
      expect(taken).toMatchObject([{ endpoint: 'work', leaseMs }])
    },
  )

  it('is quoted when none is left: no handler runs, and the quote says why', async () => {
    const { call } = windowed({ left: 0, handler: () => expect.unreachable() })
    const outcome = await call()
    expect(outcome).toMatchObject({ final: 'quoted', callsLeft: 0 })
    expect(outcome.challenge?.required.error).toMatch(/used or running.*buys a new window/)
  })

  it('gets the last one alone: of ten at once, one is served', async () => {
    const { callNow, ended, stored } = windowed({ left: 1 })
    const { answer } = await ended(() => Promise.all(Array.from({ length: 10 }, callNow)))
    const finals = answer.map(({ final }) => final).sort()
    expect(finals).toEqual([...Array(9).fill('quoted'), 'served'])
    expect(await stored()).toBe(0)
  })

  it('stays reserved while it waits for credit, for longer than its handler and its lease take', async () => {
    const creditMs = 2 * (TIMEOUT_MS + LEASE_MS)
    const isThere = () => it.world.clock.now() >= START_MS + creditMs - 1_000
    const credit = { take: () => ({ admitted: isThere() }), giveBack() {} } as never
    const rules = { timeouts: { ...DEFAULT_TIMEOUTS, creditMs } }
    const it = windowed({ left: 1, given: { rules, world: { credit } } })
    const first = it.callNow()
    await it.timeline.run(START_MS + TIMEOUT_MS + LEASE_MS + 1)
    expect(await it.call()).toMatchObject({ final: 'quoted', callsLeft: 0 })
    await it.timeline.run(START_MS + creditMs)
    expect(await first).toMatchObject({ final: 'served', callsLeft: 0 })
  })

  it.each<[string, Scene, string]>([
    ['throws', { handler: () => Promise.reject(new Error('no')) }, 'failed'],
    ['refuses', { handler: () => Promise.reject(new SvcError('no', 'mine', 422)) }, 'failed'],
    ['answers a failure', { handler: () => Response.json({}, { status: 400 }) }, 'failed'],
    ['answers nothing', { handler: () => undefined }, 'failed'],
    ['takes too long', { handler: () => new Promise(() => {}) }, 'timedOut'],
  ])('is given back where the handler %s, before the caller is told', async (_, scene, final) => {
    const { call, stored, pending } = windowed({ left: 1, ...scene })
    expect(await call()).toMatchObject({ final, callsLeft: 1 })
    expect(await stored()).toBe(1)
    expect(pending).toEqual([])
  })

  it.each([
    ['the caller hangs up', 'hangUp', 'abandoned'],
    ['the server stops', 'cut', 'shuttingDown'],
  ] as const)('is given back where %s', async (_, end, final) => {
    const it: ReturnType<typeof windowed> = windowed({
      handler: () => {
        it[end]()
        return new Promise(() => {})
      },
    })
    expect(await it.call()).toMatchObject({ final, callsLeft: 3 })
    expect(await it.stored()).toBe(3)
  })

  it('covers without a count where only time ends the window', async () => {
    const { call, pending, busy } = windowed({ left: null, store: () => ({ use: DOWN }) })
    const outcome = await call()
    expect(outcome.final).toBe('served')
    expect(outcome.callsLeft).toBeUndefined()
    await expect.poll(busy).toBe(0)
    expect(pending).toEqual([])
  })

  it('is quoted, and no handler runs, where nobody sold the window or it has ended', async () => {
    const handler = () => expect.unreachable()
    const unsold = windowed({ handler, given: { request: { subscriptionKey: 'svc_other' } } })
    expect(await unsold.call()).toMatchObject({ final: 'quoted', callsLeft: undefined })
    const ended = windowed({ handler })
    await ended.timeline.run(START_MS + HOUR_MS)
    expect(await ended.call()).toMatchObject({ final: 'quoted', callsLeft: undefined })
  })

  it('asks its store once where windows have a count', async () => {
    const { call } = windowed({ store: () => ({ get: DOWN }) })
    expect(await call()).toMatchObject({ final: 'served', callsLeft: 2 })
  })

  it('of a window without a count is not counted', async () => {
    const def = { subscription: { price: '$0.01', period: '1h' } }
    const { ended, record } = windowed({ left: null, given: { def }, store: () => ({ take: DOWN }) })
    expect((await ended(entitle)).answer).toBe('covered')
    expect(record.window.used).toEqual({ id: ID, isCounted: false })
  })

  it('is counted as it was sold, after the endpoint sells windows without a count', async () => {
    const def = { subscription: { price: '$0.01', period: '1h' } }
    const { call } = windowed({ left: 1, given: { def } })
    expect(await call()).toMatchObject({ final: 'served', callsLeft: 0 })
    expect(await call()).toMatchObject({ final: 'quoted', callsLeft: 0 })
  })

  it('takes nothing for a question whether a bare request is covered', async () => {
    const check = () => ({ invalid: { field: '', message: 'is missing' } })
    const bare: Given = { request: { body: { kind: 'none' } }, endpoint: { check } }
    const open = windowed({ left: 1, given: bare })
    expect((await open.ended(validate)).answer).toBe('invalid')
    expect(await open.stored()).toBe(1)
    expect((await windowed({ left: 0, given: bare }).ended(validate)).answer).toBe('probe')
  })

  it('is not taken by a probe', async () => {
    const check = () => ({ invalid: { field: '', message: 'is missing' } })
    const bare: Given = { request: { body: { kind: 'none' } }, endpoint: { check } }
    const { ended, record } = windowed({ left: 0, given: bare })
    expect((await ended(validate)).answer).toBe('probe')
    expect((await ended(entitle)).answer).toBe('uncovered')
    expect(record.window.callsLeft).toBeUndefined()
  })
})

it('a call whose caller does not read is counted while a slow store has half of its lease left', async () => {
  let usedMs = Number.POSITIVE_INFINITY
  const caller = { gone: () => false, onGone: () => () => {}, onEnd() {}, onSent() {} }
  const it = windowed({
    given: { request: { caller } },
    store: () => ({
      async use() {
        usedMs = it.world.clock.now()
      },
    }),
  })
  expect(await it.call()).toMatchObject({ final: 'served' })
  await it.timeline.run(START_MS + 2 * LEASE_MS)
  expect(usedMs - START_MS).toBeLessThanOrEqual(LEASE_MS / 2)
})

describe('while the store of windows is silent', () => {
  it('at taking, no handler runs, and what may have been taken is given back later', async () => {
    const { call, pending, stored } = windowed({
      handler: () => expect.unreachable(),
      store: store => ({
        async take(id, move) {
          await store.take(id, move)
          throw new Error('the answer was lost')
        },
      }),
    })
    const outcome = await call()
    expect(outcome).toMatchObject({ final: 'unavailable', problem: { code: 'store_unavailable' } })
    expect(outcome.callsLeft).toBeUndefined()
    expect(await stored()).toBe(2)
    expect(pending).toEqual([{ how: 'giveBack', id: ID, token: expect.any(String) }])
  })

  it('at counting, the answer is given, and the count is sent again', async () => {
    const { call, pending, busy, windows, stored } = windowed({ store: () => ({ use: DOWN }) })
    expect(await call()).toMatchObject({ final: 'served', callsLeft: 2 })
    await expect.poll(busy).toBe(0)
    expect(pending).toEqual([{ how: 'use', id: ID, token: expect.any(String) }])
    const [{ token }] = pending as [WindowMove]
    await windows.use(ID, token)
    await windows.use(ID, token)
    expect(await stored()).toBe(2)
  })

  it('at counting, a server that stops waits until the store was asked once', async () => {
    let answer = () => {}
    const { call, busy } = windowed({
      store: () => ({ use: () => new Promise<void>(resolve => (answer = resolve)) }),
    })
    expect(await call()).toMatchObject({ final: 'served' })
    expect(busy()).toBe(1)
    answer()
    await expect.poll(busy).toBe(0)
  })

  it('at giving back, the failure is told without a count, and the call is left when its lease ends', async () => {
    const { call, pending, stored, timeline } = windowed({
      left: 1,
      handler: () => Promise.reject(new Error('no')),
      store: () => ({ giveBack: DOWN }),
    })
    const outcome = await call()
    expect(outcome.final).toBe('failed')
    expect(outcome.callsLeft).toBeUndefined()
    expect(pending).toEqual([{ how: 'giveBack', id: ID, token: expect.any(String) }])
    expect(await stored()).toBe(0)
    await timeline.run(START_MS + CREDIT_MS + TIMEOUT_MS + LEASE_MS)
    expect(await stored()).toBe(1)
  })

  it('and cannot count, a window with a count covers nothing', async () => {
    const def = { subscription: { price: '$0.01', period: '1h' } }
    const { call } = windowed({ given: { def }, store: () => ({ take: undefined }) as never })
    expect(await call()).toMatchObject({ final: 'unavailable', problem: { code: 'store_unavailable' } })
  })
})

describe('a window with a count that is sold', () => {
  it.each([
    [5, 4],
    [1, 0],
  ])('for %i calls is stored with %i: the call that buys it is its first', async (calls, callsLeft) => {
    const sold: unknown[] = []
    const { ended, call } = oneCall({
      def: { price: undefined, subscription: { price: '$0.01', period: '1h', calls } },
      endpoint: { periodMs: HOUR_MS },
      call: { requirements: { maxTimeoutSeconds: 60 } as never },
      world: { subscriptions: { putIfAbsent: (_: string, record: unknown) => sold.push(record) } as never },
    })
    expect((await ended(record)).answer).toBe('recorded')
    expect(sold).toEqual([{ endpoint: 'work', callsLeft, expiresAtMs: expect.any(Number) }])
    expect(call.window.sold).toMatchObject({ callsLeft })
  })
})

it('a window without a count that is sold is stored without one', async () => {
  const sold: unknown[] = []
  const { ended, call } = oneCall({
    endpoint: { periodMs: HOUR_MS },
    call: { requirements: { maxTimeoutSeconds: 60 } as never },
    world: { subscriptions: { putIfAbsent: (_: string, record: unknown) => sold.push(record) } as never },
  })
  expect((await ended(record)).answer).toBe('recorded')
  expect(sold).toStrictEqual([{ endpoint: 'work', expiresAtMs: START_MS + 60_000 + HOUR_MS }])
  expect(call.window.sold!.callsLeft).toBeUndefined()
})

describe('a balance that is sold', () => {
  it.each([
    ['the store of charges, where it has one', () => START_MS + HOUR_MS, START_MS + HOUR_MS],
    ['the server', undefined, START_MS],
  ])('is stored under its public name, and ends by the time of %s', async (_, now, nowMs) => {
    const sold: unknown[] = []
    const it = oneCall({
      endpoint: { periodMs: HOUR_MS },
      call: { requirements: { amount: '5000000', maxTimeoutSeconds: 60 } as never },
      world: {
        subscriptions: DOWN_STORE,
        store: { ...(now && { now }), sell: async (move: unknown) => void sold.push(move) } as never,
      },
    })
    Object.assign(it.endpoint.def, { sells: 'balance' })
    expect((await it.ended(record)).answer).toBe('recorded')
    const { key, id, ...rest } = it.call.window.sold!
    expect(key).toMatch(/^svc_[\w-]{43}$/)
    expect(id).toBe(balanceId(it.world.owner, key))
    const expiresAtMs = nowMs + 60_000 + HOUR_MS
    expect(rest).toEqual({ expiresAtMs, callsLeft: undefined, units: 5_000_000 })
    expect(sold).toEqual([{ slot: balanceSlot(id), units: 5_000_000, expiresAtMs }])
  })
})
