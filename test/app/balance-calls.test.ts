/** The calls that a balance pays for, through the whole machine: reserved, counted, given back, and a store that is silent. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { DEFAULT_TIMEOUTS } from '../../src/app/charge/charge-deps.js'
import { leasesIn } from '../../src/app/charge/leases.js'
import { balanceId, balanceSlot, ownerOf } from '../../src/app/charge/names-in-stores.js'
import { createCharge } from '../../src/app/charge/walk-charge-machine.js'
import { SvcError } from '../../src/domain/errors.js'
import type { Handler } from '../../src/domain/handler.js'
import { TESTNET } from '../../src/domain/network.js'
import type { CallObserver, EndedCall } from '../../src/ports/call-observer.js'
import type { ChargeOutcome, ChargeRequest } from '../../src/ports/charge.js'
import type { CloseMove, UnitsChargeStore } from '../../src/ports/charge-store.js'
import { perMinute } from '../../src/ports/counters.js'
import { type Given, oneCall, SELLER, START_MS } from '../support/one-call.js'

const BALANCE = 'svc_balance'
const ID = balanceId(ownerOf(TESTNET, SELLER, 'agent'), BALANCE)
const SLOT = balanceSlot(ID)
const PRICE = 10_000
const HOUR_MS = 3_600_000
const LEASE_MS = 15_000
const CERTAINTY_MS = 45_000

interface Scene {
  /** What the balance has, in base units; `null` where there is none. */
  readonly left?: number | null
  readonly handler?: Handler
  /** Replaces moves of the store. */
  readonly store?: (store: UnitsChargeStore) => Partial<UnitsChargeStore>
  readonly request?: Partial<ChargeRequest>
  readonly given?: Given
}

function balanced({ left = 3 * PRICE, handler = () => 'work', store, request, given }: Scene = {}) {
  const pending: CloseMove[] = []
  let runs = 0
  const it = oneCall({
    ...given,
    def: {
      handler: (async (ctx: Parameters<Handler>[0]) => {
        runs++
        return handler(ctx)
      }) as never,
      ...given?.def,
    },
    endpoint: { takesBalance: true, ...given?.endpoint },
    request: {
      balanceKey: BALANCE,
      idempotencyKey: 'one',
      body: { kind: 'read', value: {} },
      ...request,
    },
    world: {
      pendingCloses: { add: (move: CloseMove) => void pending.push(move), sent: async () => {}, close() {} },
    },
    rules: { credit: undefined, ...given?.rules },
  })
  const { world, ended, request: asked, timeline } = it
  const whole = memoryChargeStore({ clock: world.clock })
  if (left !== null) void whole.sell({ slot: SLOT, units: left, expiresAtMs: START_MS + HOUR_MS })
  const charges = { ...whole, ...store?.(whole) }
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const leases = leasesIn(charges, LEASE_MS, logger, world.clock)
  Object.assign(world, { store: charges, ...given?.world })
  Object.assign(world.upkeep, { leases })
  const told: EndedCall[] = []
  const streaming: EndedCall[] = []
  const observer: CallObserver = {
    ended: call => void told.push(call),
    streaming: call => void streaming.push(call),
  }
  const charge = createCharge(world, [observer], { enter() {}, leave() {} })
  const callNow = (more: Partial<ChargeRequest> = {}) => charge.call('work', { ...asked, ...more })
  return {
    ...it,
    pending,
    told,
    streaming,
    charges: whole,
    timeline,
    runs: () => runs,
    /** What the observers of the calls were told of this balance, or of one that was sold. */
    units: () => told.map(({ units }) => units),
    callNow,
    call: async (more?: Partial<ChargeRequest>) => (await ended(() => callNow(more))).answer,
    /** What a call could take now, and what is not counted. */
    async stored() {
      const hold = { slot: SLOT, token: 'look', hasUnits: true, claim: { name: 'look', bodyHash: '' } }
      const opened = await whole.open({ ...hold, leaseMs: 1_000, take: Number.MAX_SAFE_INTEGER })
      await whole.close({ ...hold, how: 'release', retentionMs: 0 })
      if (opened.verdict !== 'opened' || opened.units?.verdict !== 'short') return undefined
      const { unused, free } = opened.units
      return { unused, free }
    },
  }
}

describe('a call on a balance', () => {
  it('has its price reserved before its handler runs, and is counted before it is answered', async () => {
    let during: unknown
    const it: ReturnType<typeof balanced> = balanced({
      async handler() {
        during = await it.stored()
        return 'work'
      },
    })
    const outcome = await it.call()
    expect(outcome).toMatchObject({
      final: 'counted',
      balance: { id: ID, charged: PRICE, left: 2 * PRICE },
    })
    expect(during).toEqual({ unused: 3 * PRICE, free: 2 * PRICE })
    expect(await it.stored()).toEqual({ unused: 2 * PRICE, free: 2 * PRICE })
    expect(it.pending).toEqual([])
    expect(it.units()).toEqual([{ balance: ID, used: PRICE, left: 2 * PRICE }])
  })

  it('asks the store twice: to take its key with its price, and to count', async () => {
    const moves: string[] = []
    const { call } = balanced({
      store: store => ({
        open(move) {
          moves.push(`open ${move.take}`)
          return store.open(move)
        },
        count(move) {
          moves.push(`count ${move.charge}`)
          return store.count(move)
        },
        close(move) {
          moves.push(move.how)
          return store.close(move)
        },
      }),
    })
    await call()
    expect(moves).toEqual([`open ${PRICE}`, `count ${PRICE}`])
  })

  it('takes the last unit, and is quoted where one is missing: no handler runs, and the quote says why', async () => {
    const last = balanced({ left: PRICE })
    expect(await last.call()).toMatchObject({ final: 'counted', balance: { left: 0 } })
    const short = balanced({ left: PRICE - 1 })
    const outcome = await short.call()
    expect(outcome).toMatchObject({ final: 'quoted', balance: { id: ID, left: PRICE - 1 } })
    expect(outcome.balance!.charged).toBeUndefined()
    expect(outcome.challenge?.required.error).toBe(
      'The balance does not suffice: $0.009999 can be taken; nothing was taken',
    )
    expect(short.runs()).toBe(0)
    expect(await short.stored()).toEqual({ unused: PRICE - 1, free: PRICE - 1 })
  })

  it('is one of as many as the balance can pay for, however many come at once', async () => {
    const it = balanced({
      handler: () => new Promise(resolve => it.timeline.after(100, () => resolve('work'))),
    })
    const { answer } = await it.ended(() =>
      Promise.all(Array.from({ length: 10 }, (_, at) => it.callNow({ idempotencyKey: `key ${at}` }))),
    )
    const finals = answer.map(({ final }) => final).sort()
    expect(finals).toEqual([...Array(3).fill('counted'), ...Array(7).fill('quoted')])
    // All is reserved, and nothing counted.
    for (const { final, balance } of answer) if (final === 'quoted') expect(balance?.left).toBe(0)
    expect(it.runs()).toBe(3)
    expect(await it.stored()).toEqual({ unused: 0, free: 0 })
  })

  it('on a balance that nobody sold is quoted, and says so', async () => {
    const { call, runs } = balanced({ left: null })
    const outcome = await call()
    expect(outcome.final).toBe('quoted')
    expect(outcome.balance).toEqual({ id: ID, left: undefined })
    expect(outcome.challenge?.required.error).toBe(
      'This balance is unknown, or its period is over; nothing was taken',
    )
    expect(runs()).toBe(0)
  })

  it('asked for again with its key gets its answer, and what it cost then', async () => {
    const { call, runs, stored, units } = balanced()
    await call()
    expect(await call()).toMatchObject({ final: 'replayed', balance: { id: ID, charged: PRICE } })
    expect(runs()).toBe(1)
    // What it took is reported once.
    expect(units().slice(1)).toEqual([undefined])
    expect(await stored()).toEqual({ unused: 2 * PRICE, free: 2 * PRICE })
  })

  it('is none without the key of one, whatever the endpoint takes', async () => {
    expect((await balanced({ request: { balanceKey: undefined } }).call()).balance).toBeUndefined()
    const takes: unknown[] = []
    const paid = balanced({
      request: { balanceKey: undefined, payment: { kind: 'read', value: {} } },
      given: { paid: {} },
      store: store => ({
        open(move) {
          takes.push([move.take, move.hasUnits])
          return store.open(move)
        },
      }),
    })
    expect((await paid.call()).balance).toBeUndefined()
    expect(takes).toEqual([[undefined, undefined]])
  })

  it.each<[string, Partial<ChargeRequest>, string]>([
    ['a payment beside it', { payment: { kind: 'malformed', why: 'x' } }, 'payment_and_balance'],
    ['no key', { idempotencyKey: undefined }, 'idempotency_key_required'],
    ['a limit that is no amount', { maxCharge: '-1' }, 'invalid_max_charge'],
  ])('with %s is refused, and takes nothing', async (_, request, code) => {
    const { call, runs, stored } = balanced({ request })
    expect(await call()).toMatchObject({ problem: { code } })
    expect(runs()).toBe(0)
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })
})

describe('a request with the key of a balance', () => {
  it('and without a body is a call, not a question: its input is checked, and nothing is taken', async () => {
    const check = () => ({ invalid: { field: '/a', message: 'is missing' } })
    const { call, runs, stored } = balanced({
      request: { body: { kind: 'none' } },
      given: { endpoint: { check } },
    })
    expect(await call()).toMatchObject({ final: 'invalid', problem: { message: 'is missing' } })
    expect(runs()).toBe(0)
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
    const empty = balanced({ request: { body: { kind: 'none' } } })
    expect((await empty.call()).final).toBe('counted')
  })

  it('is counted by its balance where payers are limited', async () => {
    const rate = { terms: perMinute(1), per: 'payer', bucket: '' } as const
    const it = balanced({ given: { endpoint: { rate } } })
    expect((await it.call()).final).toBe('counted')
    expect((await it.call({ idempotencyKey: 'two', clientAddress: '198.51.100.1' })).final).toBe('limited')
    expect((await it.call({ idempotencyKey: 'three', balanceKey: 'svc_another' })).final).toBe('quoted')
    expect(it.runs()).toBe(1)
  })
})

describe('the most that a caller agreed to', () => {
  it.each<[string, Given['def']]>([
    ['a fixed price', {}],
    ['a price function', { amount: undefined, price: () => '$0.01' }],
  ])('is enough where it is the price, and not where it is less: %s', async (_, def) => {
    const enough = balanced({ request: { maxCharge: String(PRICE) }, given: { def } })
    expect(await enough.call()).toMatchObject({ final: 'counted', balance: { charged: PRICE } })
    const less = balanced({ request: { maxCharge: String(PRICE - 1) }, given: { def } })
    const outcome = await less.call()
    expect(outcome.final).toBe('quoted')
    expect(outcome.challenge?.required.error).toBe(
      'The call costs $0.01, which is more than x-svc-max-charge; nothing was taken',
    )
    expect(less.runs()).toBe(0)
    expect(await less.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it('is never more than a store can count exactly', async () => {
    const amount = String(2n ** 53n)
    const { call, runs } = balanced({ left: Number.MAX_SAFE_INTEGER, given: { def: { amount } } })
    expect((await call()).final).toBe('quoted')
    expect(runs()).toBe(0)
    const most = balanced({
      left: Number.MAX_SAFE_INTEGER,
      given: { def: { amount: String(Number.MAX_SAFE_INTEGER) } },
    })
    expect(await most.call()).toMatchObject({ final: 'counted', balance: { left: 0 } })
  })
})

describe('a price that a function gives', () => {
  const priced = (price: () => unknown, scene: Scene = {}) =>
    balanced({ ...scene, given: { ...scene.given, def: { amount: undefined, price: price as never } } })

  it('is reserved under the key that the call holds already', async () => {
    const takes: unknown[] = []
    const it: ReturnType<typeof balanced> = priced(() => '$0.02', {
      handler: async () => (await it.stored())?.free,
      store: store => ({
        open(move) {
          takes.push(move.take)
          return store.open(move)
        },
      }),
    })
    expect(await it.call()).toMatchObject({ final: 'counted', answer: { body: String(PRICE) } })
    expect(takes).toEqual([undefined, 2 * PRICE])
    expect(await it.stored()).toEqual({ unused: PRICE, free: PRICE })
  })

  it('is quoted where the balance does not suffice', async () => {
    const { call, runs, stored } = priced(() => '$0.030001')
    expect(await call()).toMatchObject({ final: 'quoted', balance: { left: 3 * PRICE } })
    expect(runs()).toBe(0)
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it('that is none costs nothing', async () => {
    const { call, runs, stored } = priced(() => Promise.reject(new Error('no')))
    expect((await call()).final).toBe('unpriced')
    expect(runs()).toBe(0)
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it.each<[string, (store: UnitsChargeStore) => UnitsChargeStore['open']]>([
    ['is silent', () => () => Promise.reject(new Error('down'))],
    ['knows nothing of units', store => async move => store.open({ ...move, take: undefined })],
    ['gave the key to another', () => async () => ({ verdict: 'inProgress', retryAfterMs: 1 })],
  ])('is served to nobody where the store %s when it is to be reserved', async (_, does) => {
    let opened = 0
    const { call, runs } = priced(() => '$0.01', {
      store: store => ({ open: move => (opened++ === 0 ? store.open(move) : does(store)(move)) }),
    })
    expect(await call()).toMatchObject({ final: 'unavailable', problem: { code: 'store_unavailable' } })
    expect(runs()).toBe(0)
  })
})

describe('an endpoint that takes no balance', () => {
  const takesNone: Given = { endpoint: { takesBalance: false } }

  it('sells nothing on one, and reserves nothing', async () => {
    const { call, runs, stored } = balanced({ given: takesNone })
    const outcome = await call()
    expect(outcome.final).toBe('quoted')
    expect(outcome.challenge?.required.error).not.toMatch(/balance/)
    expect(runs()).toBe(0)
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it('took one before a deploy, and hands out what that paid for', async () => {
    const it = balanced()
    await it.call()
    Object.assign(it.endpoint, { takesBalance: false })
    expect(await it.call()).toMatchObject({ final: 'replayed', balance: { charged: PRICE } })
    for (const beside of [
      { idempotencyKey: undefined },
      { payment: { kind: 'malformed', why: 'x' } as const },
      { subscriptionKey: 'svc_window' },
    ])
      expect((await it.call(beside)).balance).toBeUndefined()
  })
})

describe('what the handler says that the call cost', () => {
  it.each([
    ['$0.004', 4_000],
    ['$0.01', PRICE],
    ['$0', 0],
  ])('is counted, and the rest given back: %s', async (usd, charged) => {
    const handler: Handler = ctx => {
      ctx.charge(usd)
      return 'work'
    }
    const { call, stored } = balanced({ handler })
    const left = 3 * PRICE - charged
    expect(await call()).toMatchObject({ final: 'counted', balance: { charged, left } })
    expect(await stored()).toEqual({ unused: left, free: left })
  })

  it.each(['$0.010001', 'much'])(
    'and is no part of the price fails the call, also where the handler goes on: %s',
    async usd => {
      const handler: Handler = ctx => {
        try {
          ctx.charge(usd)
        } catch {}
        return 'work'
      }
      const { call, stored } = balanced({ handler })
      expect((await call()).final).toBe('failed')
      expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
    },
  )

  it('comes too late once the call was charged', async () => {
    let late: (() => void) | undefined
    const handler: Handler = ctx => {
      late = () => ctx.charge('$0')
      return 'work'
    }
    const { call, stored } = balanced({ handler })
    await call()
    expect(late).toThrow('after the call was charged')
    expect(await stored()).toEqual({ unused: 2 * PRICE, free: 2 * PRICE })
  })
})

describe('what is reserved is given back before the caller is told', () => {
  it.each<[string, Handler, string]>([
    ['throws', () => Promise.reject(new Error('no')), 'failed'],
    ['refuses', () => Promise.reject(new SvcError('no', 'mine', 422)), 'failed'],
    ['answers a failure', () => Response.json({}, { status: 400 }), 'failed'],
    ['takes too long', () => new Promise(() => {}), 'timedOut'],
  ])('where the handler %s', async (_, handler, final) => {
    const { call, stored } = balanced({ handler })
    expect(await call()).toMatchObject({ final, balance: { id: ID, left: 3 * PRICE } })
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it.each([
    ['the caller hangs up', 'hangUp', 'abandoned'],
    ['the server stops', 'cut', 'shuttingDown'],
  ] as const)('where %s while the handler works', async (_, end, final) => {
    const it: ReturnType<typeof balanced> = balanced({
      handler: () => {
        it[end]()
        return new Promise(() => {})
      },
    })
    expect(await it.call()).toMatchObject({ final })
    expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it('where the caller hung up once the handler was done', async () => {
    const caller = { gone: () => it.runs() > 0, onGone: () => () => {}, onEnd: () => {} }
    const it: ReturnType<typeof balanced> = balanced({
      request: { caller },
      store: () => ({ count: () => expect.unreachable() }),
    })
    expect(await it.call()).toMatchObject({ final: 'abandoned' })
    expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })
})

describe('credit for a run on a balance', () => {
  const TERMS = { max: 1, floor: -2, periodMs: 60_000, isRenewed: true }

  it('is the balance’s own: a run is there for each balance', async () => {
    const credit = memoryCounters({ clock: { monotonic: () => 0 } })
    const { call } = balanced({ given: { rules: { credit: TERMS }, world: { credit } } })
    expect((await call()).final).toBe('counted')
    const spent = memoryCounters({ clock: { monotonic: () => 0 } })
    spent.take(`SELLER:balance ${ID}`, TERMS)
    spent.take(`${ownerOf(TESTNET, SELLER, 'agent').seller}:balance ${ID}`, TERMS)
    const none = balanced({ given: { rules: { credit: TERMS }, world: { credit: spent } } })
    expect((await none.call()).final).toBe('tooManyUnpaid')
    expect(none.runs()).toBe(0)
    expect(await none.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it('is waited for as long as the caller stays', async () => {
    const none = { take: () => ({ admitted: false, retryAfterMs: 1 }), giveBack() {}, peek() {} } as never
    const it = balanced({ given: { rules: { credit: TERMS }, world: { credit: none } } })
    it.timeline.after(100, it.hangUp)
    const { answer, ms } = await it.ended(() => it.callNow())
    expect([answer.final, ms, it.runs()]).toEqual(['tooManyUnpaid', 250, 0])
    expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it('is none while its store is silent', async () => {
    const down = { take: () => Promise.reject(new Error('down')), giveBack() {}, peek() {} } as never
    const { call, runs, stored } = balanced({ given: { rules: { credit: TERMS }, world: { credit: down } } })
    expect(await call()).toMatchObject({ final: 'unavailable', problem: { code: 'store_unavailable' } })
    expect(runs()).toBe(0)
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })
})

describe('while the store is silent', () => {
  it('at counting, nothing is answered: the store is asked again, and counts once', async () => {
    let asked = 0
    const it = balanced({
      store: store => ({
        async count(move) {
          asked++
          const counted = await store.count(move)
          // The first answer is lost after the store has counted, and then the store is down.
          if (asked < 4) throw new Error('lost')
          return counted
        },
      }),
    })
    const { answer, ms } = await it.ended(() => it.callNow())
    expect(answer).toMatchObject({ final: 'counted', balance: { charged: PRICE, left: 2 * PRICE } })
    expect([asked, ms]).toEqual([4, 250 + 500 + 1_000])
    expect(await it.stored()).toEqual({ unused: 2 * PRICE, free: 2 * PRICE })
    expect(it.pending).toEqual([])
    expect(it.said).toEqual(Array(3).fill('a balance was not counted; the store is asked again'))
  })

  it('at counting, for as long as a caller waits, nobody knows, and the count is sent later', async () => {
    const it = balanced({ store: () => ({ count: () => Promise.reject(new Error('down')) }) })
    const { answer, ms } = await it.ended(() => it.callNow())
    expect(answer).toMatchObject({ final: 'uncounted' })
    expect(answer.answer).toBeUndefined()
    expect(answer.balance!.charged).toBeUndefined()
    expect(it.units()).toEqual([{ balance: ID, inDoubt: PRICE }])
    expect(ms).toBeLessThan(CERTAINTY_MS)
    expect(ms).toBeGreaterThan(CERTAINTY_MS - 5_000)
    expect(it.pending).toMatchObject([{ how: 'complete', charge: PRICE, slot: SLOT, hasUnits: true }])
    await it.charges.count(it.pending[0] as never)
    expect(await it.stored()).toEqual({ unused: 2 * PRICE, free: 2 * PRICE })
    expect(await it.call()).toMatchObject({ final: 'replayed', balance: { charged: PRICE } })
  })

  it.each([
    [750, 2],
    [751, 3],
  ])('at counting, within %i ms, it is asked %i times', async (certaintyMs, times) => {
    let asked = 0
    const it = balanced({
      given: { rules: { timeouts: { ...DEFAULT_TIMEOUTS, certaintyMs } } },
      store: () => ({
        count() {
          asked++
          return Promise.reject(new Error('down'))
        },
      }),
    })
    expect(await it.call()).toMatchObject({ final: 'uncounted' })
    expect(asked).toBe(times)
  })

  it('at counting, a server that stops waits no longer', async () => {
    let asked = 0
    const it: ReturnType<typeof balanced> = balanced({
      store: () => ({
        count() {
          asked++
          it.cut()
          return Promise.reject(new Error('down'))
        },
      }),
    })
    const { answer, ms } = await it.ended(() => it.callNow())
    expect([answer.final, asked, ms]).toEqual(['uncounted', 1, 0])
  })

  it('at giving back, what is reserved is free when its lease ends', async () => {
    const it = balanced({
      handler: () => Promise.reject(new Error('no')),
      store: () => ({ close: () => Promise.reject(new Error('down')) }),
    })
    expect((await it.call()).final).toBe('failed')
    expect(it.pending).toMatchObject([{ how: 'release', slot: SLOT }])
    expect(it.pending[0]!.charge).toBeUndefined()
    expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 2 * PRICE })
    await it.timeline.run(it.timeline.nowMs + LEASE_MS + 1)
    expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })
})

it('a call whose answer cannot be sealed is told as in doubt, and what it reserved is free when its lease ends', async () => {
  const it = balanced()
  const iv = () => {
    throw new Error('no randomness')
  }
  Object.assign(it.world, { random: { ...it.world.random, iv } })
  const outcome = await it.call()
  expect([outcome.final, outcome.answer]).toEqual(['uncounted', undefined])
  expect(it.units()).toEqual([{ balance: ID, inDoubt: PRICE }])
  await it.timeline.run(it.timeline.nowMs + LEASE_MS + 1)
  expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
})

describe('a stream on a balance', () => {
  /** Its chunks as they are read, and what its handler says that it cost, before it breaks the stream or ends it. */
  function streamed(
    cost?: string,
    store?: Scene['store'],
    { breaks = false, rules = {} as Given['rules'] } = {},
  ) {
    const ends: ((arrived: boolean) => void)[] = []
    const handler = async function* (ctx: Parameters<Handler>[0]) {
      yield 'one'
      if (cost !== undefined) ctx.charge(cost)
      if (breaks) throw new Error('broken')
      yield 'two'
    }
    const it = balanced({
      handler: handler as never,
      given: { def: { stream: true }, rules },
      request: {
        streams: true,
        caller: { gone: () => false, onGone: () => () => {}, onEnd: listener => void ends.push(listener) },
      },
      ...(store && { store }),
    })
    return {
      ...it,
      /** What is told of the call, and when, after its stream has left. */
      async toldOf({ answer }: ChargeOutcome) {
        for await (const _ of answer!.stream!.chunks);
        ends[0]!(true)
        const sinceMs = it.timeline.nowMs
        it.told.length = 0
        await it.timeline.run(sinceMs + HOUR_MS / 2, () => it.told.length > 0)
        return { afterMs: it.timeline.nowMs - sinceMs, units: it.told[0]?.units }
      },
    }
  }

  it.each([
    [undefined, PRICE],
    ['$0.004', 4_000],
  ])('is reserved until it has ended, and counted then: %s', async (cost, charged) => {
    const { call, stored, toldOf, streaming } = streamed(cost)
    const outcome = await call()
    // What it costs is not known yet.
    expect(streaming).toEqual([])
    expect(outcome).toMatchObject({
      final: 'counted',
      balance: { id: ID, reserved: PRICE, left: 3 * PRICE },
    })
    expect(await stored()).toEqual({ unused: 3 * PRICE, free: 2 * PRICE })
    const left = 3 * PRICE - charged
    expect(await toldOf(outcome)).toEqual({ afterMs: 0, units: { balance: ID, used: charged, left } })
    expect(await stored()).toEqual({ unused: left, free: left })
  })

  it('has its lease renewed until it is counted, and no longer', async () => {
    let renewed = 0
    const it: ReturnType<typeof streamed> = streamed(undefined, store => ({
      async renew(...renewal) {
        renewed++
        return store.renew(...renewal)
      },
    }))
    const outcome = await it.call()
    await it.timeline.run(it.timeline.nowMs + LEASE_MS)
    expect(renewed).toBeGreaterThan(0)
    await it.toldOf(outcome)
    renewed = 0
    await it.timeline.run(it.timeline.nowMs + 3 * LEASE_MS)
    expect(renewed).toBe(0)
  })

  it('tells what was left when it was counted, not when it began', async () => {
    const { call, callNow, toldOf } = streamed()
    const outcome = await call()
    await callNow({ idempotencyKey: 'another', streams: false })
    expect(await toldOf(outcome)).toMatchObject({ units: { used: PRICE, left: PRICE } })
  })

  const noRenewal = () => ({
    async renew() {
      throw new Error('no store')
    },
  })

  it('that another call took over, and counted, is told to have taken nothing', async () => {
    const it: ReturnType<typeof streamed> = streamed('$0.004', noRenewal)
    const first = await it.call()
    await it.timeline.run(it.timeline.nowMs + LEASE_MS)
    const second = await it.callNow({ streams: false })
    expect(second).toMatchObject({ final: 'counted', balance: { charged: 4_000 } })
    expect(it.told).toMatchObject([{ units: { used: 4_000 } }])
    const left = 3 * PRICE - 4_000
    expect(await it.toldOf(first)).toEqual({ afterMs: 0, units: { balance: ID, used: 0, left } })
    expect(await it.stored()).toEqual({ unused: left, free: left })
  })

  it('whose record the store has lost is told to have taken nothing', async () => {
    const it: ReturnType<typeof streamed> = streamed(undefined, noRenewal)
    const outcome = await it.call()
    await it.timeline.run(it.timeline.nowMs + 120_000)
    expect(await it.toldOf(outcome)).toEqual({
      afterMs: 0,
      units: { balance: ID, used: 0, left: 3 * PRICE },
    })
    expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
  })

  it('is told when it is counted, where the store was silent before', async () => {
    let lost = 2
    const it: ReturnType<typeof streamed> = streamed(undefined, store => ({
      async count(move) {
        if (lost-- > 0) throw new Error('no store')
        return store.count(move)
      },
    }))
    expect(await it.toldOf(await it.call())).toEqual({
      afterMs: 750,
      units: { balance: ID, used: PRICE, left: 2 * PRICE },
    })
    expect(it.pending).toEqual([])
  })

  it('is told as in doubt where the store stays silent, and is counted later', async () => {
    const silent = async () => Promise.reject(new Error('no store'))
    const it: ReturnType<typeof streamed> = streamed(undefined, () => ({ count: silent, close: silent }))
    const { afterMs, units } = await it.toldOf(await it.call())
    expect(units).toEqual({ balance: ID, inDoubt: PRICE })
    expect(CERTAINTY_MS - afterMs).toBeLessThan(5_000)
    expect(it.pending).toHaveLength(1)
    await it.charges.close(it.pending[0]!)
    expect(await it.stored()).toEqual({ unused: 2 * PRICE, free: 2 * PRICE })
  })

  it('is kept for its key, though the seller keeps no answers under keys', async () => {
    const it = streamed(undefined, undefined, { rules: { idempotency: undefined } })
    await it.toldOf(await it.call())
    expect(await it.call()).toMatchObject({ final: 'replayed', balance: { charged: PRICE } })
    expect(it.runs()).toBe(1)
  })

  it('costs nothing where its handler broke it, also after that said what it cost', async () => {
    for (const cost of [undefined, '$0.004']) {
      const it = streamed(cost, undefined, { breaks: true })
      const outcome = await it.call()
      await expect(it.toldOf(outcome)).rejects.toThrow()
      await expect.poll(() => it.told).toHaveLength(1)
      const units = { balance: ID, used: 0, left: 3 * PRICE }
      expect(it.told).toMatchObject([{ final: 'counted', streamBroken: true, brokenBy: 'seller', units }])
      expect(await it.stored()).toEqual({ unused: 3 * PRICE, free: 3 * PRICE })
    }
  })
})

it('a call that another one took over counts nothing, and gives no answer', async () => {
  const it: ReturnType<typeof balanced> = balanced({
    store: () => ({ count: async () => ({ verdict: 'superseded', unused: 7 }) }),
  })
  const outcome = await it.call()
  expect(outcome).toMatchObject({ final: 'superseded', balance: { left: 7 } })
  expect(outcome.answer).toBeUndefined()
  expect(it.units()).toEqual([undefined])
})
