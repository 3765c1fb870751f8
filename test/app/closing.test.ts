/** The end of a call: who gets back what it held, what is kept of its answer, and what its caller may then be told. */
import { describe, expect, it } from 'vitest'
import type { ReplayedAnswer } from '../../src/app/charge/call-at-work.js'
import { closeCall, giveBack } from '../../src/app/charge/close-call.js'
import { unseal } from '../../src/app/charge/seal-answers.js'
import { type ChargeFinal, type Closing, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { fieldsOf } from '../support/call-fields.js'
import {
  HOLD,
  OWNED,
  PAYMENT,
  REQUIREMENTS,
  type Scene,
  SECRET,
  scene,
  UUID,
} from '../support/charge-fixture.js'
import { FINALS } from '../support/ended-call.js'

const ANSWER = { status: 200, headers: {}, body: 'paid' } as const
const WINDOW = { key: 'svc_key', id: 'window', expiresAtMs: 5 }
const REPLAY = { idempotency: { onLostResponse: 'replay' } } as const
const RELEASE = { idempotency: { onLostResponse: 'release' } } as const
const UNKEPT = { keepAnswersMs: 0 } as const
/** The hundred rounds of the payment, and an hour. */
const PAYMENT_LIFE_MS = 100 * 4_000 + 3_600_000
const KEEP_ANSWERS_MS = 90_000
const DOWN = new Error('down')

/** A call that holds its payment under the payment's own name, and has its answer. */
function held({ call, request, rules, ...rest }: Scene = {}) {
  const owned = { ...OWNED, answerName: undefined }
  return scene({
    ...rest,
    rules: { keepAnswersMs: KEEP_ANSWERS_MS, ...rules },
    request: { payment: PAYMENT, ...request },
    call: { held: true, owned, answer: ANSWER, requirements: REQUIREMENTS, ...call },
  })
}

/** The same with a key. */
const keyed = (rules: Scene['rules'], more: Scene = {}) =>
  held({
    ...more,
    rules: { ...rules, ...more.rules },
    request: { idempotencyKey: SECRET, ...more.request },
    call: { owned: OWNED, ...more.call },
  })

const goneCaller = { gone: () => true, onGone: () => () => {}, onEnd: () => {} }

/** Closes the call, and waits until all that was begun by it has ended. */
async function closed({ world, call, inFlight, seen }: ReturnType<typeof scene>, final: ChargeFinal) {
  const begun = closeCall(world, call, final, inFlight)
  const inFlightMeanwhile = seen.inFlight
  const answer = await begun
  await rest()
  return { said: answer, hows: seen.closes.map(({ how }) => how), inFlightMeanwhile, ...seen }
}

const rest = () => new Promise<void>(resolve => setImmediate(resolve))
const closedBy = (closing: Closing) => FINALS.filter(final => OUTCOMES[final].closing === closing)

describe('a call that charged', () => {
  it('is closed in the background, and keeps the server waiting until the store was asked', async () => {
    expect(await closed(held(), 'settled')).toMatchObject({
      said: undefined,
      hows: ['complete'],
      inFlightMeanwhile: 1,
      inFlight: 0,
      leases: [`drop ${UUID}`],
      pending: [],
    })
  })

  it.each<[string, () => ReturnType<typeof held>, number]>([
    ['without a key', () => held({ rules: REPLAY }), KEEP_ANSWERS_MS],
    ['without a key, where a lost answer frees it,', () => held({ rules: RELEASE }), KEEP_ANSWERS_MS],
    ['without a key, where keys do not count,', () => held(), KEEP_ANSWERS_MS],
    ['with a key', () => keyed(REPLAY), 500],
    ['with a key, where answers without one are not kept,', () => keyed({ ...REPLAY, ...UNKEPT }), 500],
    [
      'with a key, where keys do not count,',
      () => held({ request: { idempotencyKey: SECRET } }),
      KEEP_ANSWERS_MS,
    ],
    ['as a task', () => held({ request: { task: 'id' } }), 500],
    ['as a task, where keys do not count,', () => held({ rules: UNKEPT, request: { task: 'id' } }), 500],
  ])('%s keeps its answer for as long as the seller chose', async (_, make, retentionMs) => {
    const { said, closes } = await closed(make(), 'settled')
    expect(said).toBeUndefined()
    expect(closes).toEqual([{ ...HOLD, how: 'complete', retentionMs }])
  })

  it('keeps its answer for nobody where it has no key and the seller keeps none', async () => {
    for (const rules of [UNKEPT, { ...REPLAY, ...UNKEPT }, { ...RELEASE, ...UNKEPT }]) {
      const { said, closes } = await closed(held({ rules }), 'settled')
      expect(said).toBeUndefined()
      expect(closes).toMatchObject([{ ...HOLD, how: 'forfeit' }])
      expect(closes[0]!.answerName).toBeUndefined()
    }
  })

  it.each<[string, () => ReturnType<typeof held>, string, number]>([
    [
      'its answer is kept as long as the payment',
      () => held({ request: { caller: goneCaller } }),
      'complete',
      PAYMENT_LIFE_MS,
    ],
    [
      'with a key, its answer is kept for the key',
      () => keyed(REPLAY, { request: { caller: goneCaller } }),
      'complete',
      500,
    ],
  ])('whose caller has gone: %s', async (_, make, how, retentionMs) => {
    expect((await closed(make(), 'settled')).closes).toEqual([{ ...HOLD, how, retentionMs }])
  })

  it.each<[string, Scene['rules'], boolean, object]>([
    ['that arrived stays under its key', {}, true, { how: 'complete', retentionMs: 500 }],
    [
      'that was lost stays under the name of its payment, as long as that',
      {},
      false,
      { how: 'forfeit', answerName: 'own', retentionMs: PAYMENT_LIFE_MS },
    ],
    [
      'that was lost is kept no longer under that name, however long its key would have been',
      { retentionMs: 2 * PAYMENT_LIFE_MS },
      false,
      { how: 'forfeit', answerName: 'own', retentionMs: PAYMENT_LIFE_MS },
    ],
    [
      'that arrived stays, whatever is kept without a key',
      UNKEPT,
      true,
      { how: 'complete', retentionMs: 500 },
    ],
    ['that was lost is gone, where none is kept', UNKEPT, false, { how: 'forfeit', retentionMs: 500 }],
  ])(
    'waits to hear of its answer where a lost one frees the key: one %s',
    async (_, rules, hasArrived, end) => {
      const it = keyed({ ...RELEASE, ...rules })
      const { hows, inFlight } = await closed(it, 'settled')
      expect({ hows, inFlight }).toEqual({ hows: [], inFlight: 1 })
      it.seen.end!(hasArrived)
      await rest()
      // The recorded answer is what is kept: the close carries none.
      expect(it.seen.closes).toEqual([{ ...HOLD, ...end }])
      expect(it.seen.inFlight).toBe(0)
    },
  )

  it('that held nothing asks no store', async () => {
    for (const call of [{ held: false }, { held: false, owned: undefined }]) {
      const told = await closed(held({ call, rules: RELEASE }), 'settled')
      expect(told).toMatchObject({ said: undefined, hows: [], inFlightMeanwhile: 0, inFlight: 0 })
    }
  })

  it('is asked for again of a store that was down, in the same words, and its answer is not withheld', async () => {
    const { said, closes, pending, inFlight } = await closed(keyed(REPLAY, { closed: DOWN }), 'settled')
    expect(said).toBeUndefined()
    expect(pending).toEqual(closes)
    expect(pending).toMatchObject([{ ...HOLD, how: 'complete', retentionMs: 500 }])
    expect(inFlight).toBe(0)
  })
})

describe('the answer of a call that a window covered', () => {
  const covered = { requirements: undefined, txId: undefined, payer: undefined }
  const keptIn = ({ answer }: { answer?: Uint8Array }): ReplayedAnswer => unseal(answer!, [SECRET], 'claim')!

  it('is stored when its key is closed, since no payment recorded it', async () => {
    const { closes } = await closed(keyed(REPLAY, { call: covered }), 'served')
    const kept = keptIn(closes[0]!)
    expect(kept).toMatchObject({ amount: '0', asset: '' })
    expect(kept.answer?.body.toString()).toBe('paid')
  })

  it('is not stored where it is no answer to be had again', async () => {
    const it = keyed(RELEASE, { call: { ...covered, owned: { ...OWNED, answerName: undefined } } })
    await closed(it, 'served')
    it.seen.end!(false)
    await rest()
    expect(it.seen.closes).toEqual([{ ...HOLD, how: 'forfeit', retentionMs: 500 }])
  })

  it('of another final state is not stored', async () => {
    const { closes } = await closed(keyed(REPLAY, { call: covered }), 'failed')
    expect(closes).toEqual([{ ...HOLD, how: 'release', retentionMs: 500 }])
  })
})

describe('a call with its outcome open', () => {
  it('leaves the payment of an earlier call to be looked up where it could not decide about that one', async () => {
    const payment = { txId: 'EARLIER', firstValid: 1n, lastValid: 2n }
    const recorded = { answer: new Uint8Array(), payment }
    const told = await closed(keyed(REPLAY, { call: { held: false, recorded } }), 'undecided')
    expect(told.inDoubt).toEqual([[HOLD, payment]])
  })

  it.each(closedBy('keep'))(
    '%s keeps its key and its payment for the next call, which need not wait for the lease',
    async final => {
      const told = await closed(keyed(REPLAY, { call: { sold: WINDOW } }), final)
      expect(told).toMatchObject({ said: undefined, hows: [], pending: [], deleted: [], inFlight: 0 })
      expect(told.leases).toEqual([`pass ${UUID}`])
      expect(told.inDoubt).toEqual([[HOLD, expect.objectContaining({ txId: 'TX' })]])
    },
  )
})

describe('the lease of a call that charged, while its close waits for the store', () => {
  it.each<[string, object, ChargeFinal, string[]]>([
    ['is dropped where the answer was recorded', {}, 'settled', [`drop ${UUID}`]],
    [
      'stays where a window covered the call: the close has the only copy',
      { requirements: undefined },
      'served',
      [],
    ],
  ])('%s', async (_, call, final, leases) => {
    const down = await closed(keyed(REPLAY, { call, closed: DOWN }), final)
    expect({ leases: down.leases, pending: down.pending.length, inFlight: down.inFlight }).toEqual({
      leases,
      pending: 1,
      inFlight: 0,
    })
    expect((await closed(keyed(REPLAY, { call }), final)).leases).toEqual([`drop ${UUID}`])
  })

  it.each<[string, object, ChargeFinal]>([
    ['recorded', {}, 'settled'],
    ['covered by a window', { requirements: undefined }, 'served'],
  ])(
    'does not wait until the response of a call that was %s has ended, which may take many minutes',
    (_, call, final) => {
      const { world, call: held, inFlight, seen } = keyed(RELEASE, { call })
      closeCall(world, held, final, inFlight)
      expect({ leases: seen.leases, closes: seen.closes }).toEqual({ leases: [`drop ${UUID}`], closes: [] })
      seen.end!(true)
      expect(seen.closes).toHaveLength(1)
    },
  )
})

describe('a call that did not charge', () => {
  it.each(closedBy('release'))('%s gives key, payment and window back before it is told', async final => {
    const it = held({ call: { sold: WINDOW } })
    const said = closeCall(it.world, it.call, final, it.inFlight)
    expect(said).toBeInstanceOf(Promise)
    expect(await said).toBeUndefined()
    expect(it.seen.closes).toMatchObject([{ ...HOLD, how: 'release' }])
    expect(it.seen).toMatchObject({ leases: [`drop ${UUID}`], deleted: ['window'], inFlight: 0 })
    expect(fieldsOf(it.call)).toMatchObject({ held: false, sold: undefined })
  })

  it('that holds nothing is told at once; its lease is not renewed again', async () => {
    const some = held({ call: { held: false } })
    expect(closeCall(some.world, some.call, 'inProgress', some.inFlight)).toBeUndefined()
    expect(some.seen).toMatchObject({ closes: [], leases: [`drop ${UUID}`] })
    const none = scene()
    expect(closeCall(none.world, none.call, 'quoted', none.inFlight)).toBeUndefined()
    expect(none.seen).toMatchObject({ closes: [], leases: [], deleted: [] })
  })

  it('drops the window that it was selling for a payment that nothing could be held of', async () => {
    const { said, hows, deleted, leases } = await closed(
      held({ call: { sold: WINDOW, held: false, owned: undefined } }),
      'unsettled',
    )
    expect({ said, hows, deleted, leases }).toEqual({
      said: undefined,
      hows: [],
      deleted: ['window'],
      leases: [],
    })
  })

  it('does not say so where another call took its place, whose answer may be the window', async () => {
    const it = held({ closed: 'superseded', call: { sold: WINDOW } })
    expect(await closed(it, 'unsettled')).toMatchObject({ said: 'superseded', deleted: [] })
    expect(fieldsOf(it.call)).toMatchObject({ held: false, sold: WINDOW })
  })

  it.each([
    [false, undefined],
    [true, 'superseded'],
  ])(
    'of a silent store says so only while no other call can have its place: lapsed %s, %s',
    async (mayHaveLapsed, said) => {
      const it = held({ closed: DOWN, mayHaveLapsed, call: { sold: WINDOW } })
      expect(await closed(it, 'timedOut')).toMatchObject({ said, hows: ['release'], deleted: [] })
      expect(it.seen.pending).toEqual(it.seen.closes)
    },
  )

  it('whose lease may have lapsed says so where the store proves that nobody took its place', async () => {
    expect(await closed(held({ mayHaveLapsed: true }), 'timedOut')).toMatchObject({ said: undefined })
  })

  it('asks whether its lease lapsed before it gives the lease up', async () => {
    const it = held({ closed: DOWN })
    Object.assign(it.world.upkeep.leases, { mayHaveLapsed: () => it.seen.leases.length > 0 })
    expect((await closed(it, 'failed')).said).toBeUndefined()
  })

  it('whose lease lapsed while it waited for a silent store may have been taken over', async () => {
    const it = held({ closed: DOWN })
    Object.assign(it.world.upkeep.leases, { mayHaveLapsed: () => it.seen.closes.length > 0 })
    expect((await closed(it, 'failed')).said).toBe('superseded')
  })

  it('that a store left without an answer is given back in the background, and does not wait for it again', async () => {
    const it = held({ call: { held: 'unknown', sold: WINDOW } })
    expect(await closed(it, 'unavailable')).toMatchObject({ said: undefined, hows: [], deleted: [] })
    expect(it.seen.pending).toEqual([{ ...HOLD, how: 'release', retentionMs: 0 }])
    const lapsed = held({ call: { held: 'unknown' }, mayHaveLapsed: true })
    expect((await closed(lapsed, 'unavailable')).said).toBe('superseded')
  })

  it('is told by a store of windows that cannot delete, or does not answer', async () => {
    const down = { delete: () => Promise.reject(DOWN) }
    for (const [subscriptions, logged] of [
      [{}, []],
      [down, [{ err: DOWN }]],
    ] as const) {
      const it = held({ world: { subscriptions } as never, call: { sold: WINDOW } })
      expect(await closed(it, 'unsettled')).toMatchObject({ said: undefined, logged })
    }
  })
})

describe('a window that was paid for, and that its store may have lost', () => {
  const sold = { call: { sold: WINDOW } } as const

  /** A store of windows that fails so often, under a clock that moves while it is waited for. */
  function selling(failures: number, more: Scene = {}) {
    const put: unknown[] = []
    let nowMs = 0
    const after = (ms: number, callback: () => void) => {
      nowMs += ms
      queueMicrotask(callback)
      return () => {}
    }
    const it = keyed(REPLAY, {
      ...sold,
      ...more,
      world: {
        clock: { monotonic: () => nowMs, now: () => nowMs, after },
        subscriptions: {
          putIfAbsent: async (...given: unknown[]) => {
            put.push(given)
            if (put.length <= failures) throw DOWN
          },
        },
      } as never,
    })
    return { it, put, waitedMs: () => nowMs }
  }
  const KEPT = ['window', { endpoint: expect.any(String), expiresAtMs: 5 }]

  it.each<[string, Scene, ChargeFinal, boolean]>([
    ['whose close another call has overtaken', { closed: 'superseded' }, 'settled', true],
    ['whose close got no answer', { closed: DOWN }, 'settled', true],
    ['whose close did what it should', { closed: 'closed' }, 'settled', false],
    ['that is given back', { closed: 'superseded' }, 'unsettled', false],
    ['that sold none', { closed: 'superseded', call: {} }, 'settled', false],
  ])('of a call %s', async (_, more, final, isStored) => {
    const { it, put } = selling(0, more)
    await closed(it, final)
    expect(put).toEqual(isStored ? [KEPT] : [])
  })

  it('is stored again until its store answers, and the call is in flight until then', async () => {
    const { it, put } = selling(2, { closed: 'superseded' })
    const { inFlightMeanwhile, inFlight, logged } = await closed(it, 'settled')
    expect([put, inFlightMeanwhile, inFlight]).toEqual([[KEPT, KEPT, KEPT], 1, 0])
    const said = { how: 'complete', txId: it.call.payment.txId, err: DOWN }
    expect(logged).toEqual([said, said])
  })

  it('is given up where its store is silent for longer than certainty may take', async () => {
    const { it, put, waitedMs } = selling(Number.POSITIVE_INFINITY, { closed: 'superseded' })
    const { certaintyMs } = it.world.rules.timeouts
    expect((await closed(it, 'settled')).inFlight).toBe(0)
    expect(waitedMs()).toBeLessThan(certaintyMs)
    expect(waitedMs()).toBeGreaterThan(certaintyMs - 5_000)
    expect(put.length).toBeGreaterThan(5)
  })
})

describe('giving back', () => {
  it('is done once', async () => {
    const it = held({ call: { sold: WINDOW } })
    expect(await giveBack(it.world, it.call)).toBe('released')
    expect(await giveBack(it.world, it.call)).toBe('released')
    expect(it.seen).toMatchObject({ closes: [{}], deleted: ['window'] })
    expect(closeCall(it.world, it.call, 'unsettled', it.inFlight)).toBeUndefined()
    expect(it.seen).toMatchObject({ closes: [{}], deleted: ['window'] })
  })

  it('drops a balance that was being sold where balances are kept', async () => {
    const dropped: string[] = []
    const it = held({ call: { sold: { ...WINDOW, units: 5 } } })
    Object.assign(it.world.store, { drop: async (slot: string) => void dropped.push(slot) })
    expect(await giveBack(it.world, it.call)).toBe('released')
    expect({ dropped, deleted: it.seen.deleted }).toEqual({ dropped: ['balance window'], deleted: [] })
  })

  it.each<[string, Scene['closed']]>([
    ['superseded', 'superseded'],
    ['storeDown', DOWN],
  ])('answers %s where the store did not free all of it', async (answer, says) => {
    const it = held({ closed: says!, call: { sold: WINDOW } })
    expect(await giveBack(it.world, it.call)).toBe(answer)
    expect(fieldsOf(it.call)).toMatchObject({ held: false, sold: WINDOW })
  })
})

describe('the credit that a run took', () => {
  it.each<[string, Scene, ChargeFinal, number[]]>([
    ['of a call that charged comes back with one more', {}, 'settled', [2]],
    [
      'of one that stood still until another may have found it paid was earned by that one',
      { mayHaveLapsed: true },
      'settled',
      [],
    ],
    ['of one that charged nothing comes back, though it stood still', { mayHaveLapsed: true }, 'failed', [1]],
  ])('%s', async (_, more, final, runs) => {
    const { credit } = await closed(held({ ...more, call: { creditor: 'payer' } }), final)
    expect(credit.map(([, count]) => count)).toEqual(runs)
  })

  const CREDIT = { max: 3, floor: -97, periodMs: 1, isRenewed: true }
  const given = { earned: 2, returned: 1 } as Record<string, number>

  it.each(FINALS)('is given back as %s says, and one more where it was paid', async final => {
    const runs = given[OUTCOMES[final].credit]
    const { credit } = await closed(
      held({ rules: { credit: CREDIT }, call: { creditor: 'SELLER:PAYER' } }),
      final,
    )
    expect(credit).toEqual(runs === undefined ? [] : [['SELLER:PAYER', runs, CREDIT]])
  })

  it('is not given to a payer of whom none was taken', async () => {
    expect((await closed(held(), 'settled')).credit).toEqual([])
  })
})

it('a call in doubt that holds nothing has nothing to pass on', () => {
  const it = held({ call: { held: false, owned: undefined } })
  expect(closeCall(it.world, it.call, 'inDoubt', it.inFlight)).toBeUndefined()
  expect(it.seen).toMatchObject({ leases: [], inDoubt: [], closes: [] })
})

it('an answer whose key counts no more, because of a deploy, is kept for its payment alone', async () => {
  const { hows, closes } = await closed(
    keyed({ idempotency: undefined }, { call: { key: SECRET } }),
    'settled',
  )
  expect(hows).toEqual(['forfeit'])
  expect(closes).toMatchObject([{ answerName: OWNED.answerName }])
})
