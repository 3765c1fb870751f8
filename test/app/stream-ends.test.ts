/** What becomes of a stream's answer where the store does not answer at once: it is kept for the caller that asks again. */
import { describe, expect, it } from 'vitest'
import { Timeline } from '../../proof/simulation/kernel/timeline.js'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import type { ReplayedAnswer } from '../../src/app/charge/call-at-work.js'
import { closeCall, giveBack } from '../../src/app/charge/close-call.js'
import { leasesIn } from '../../src/app/charge/leases.js'
import { pendingCloses } from '../../src/app/charge/resend-lost-moves.js'
import { unseal } from '../../src/app/charge/seal-answers.js'
import type { StreamSource } from '../../src/domain/handler.js'
import type { ChargeStore, RecordMove } from '../../src/ports/charge-store.js'
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
import { clockOf } from '../support/virtual-clock.js'

const DOWN = new Error('down')
const LEASE_MS = 15_000
const REPLAY = { idempotency: { onLostResponse: 'replay' } } as const

/** A stream of two chunks, and what was asked of it. */
function source() {
  const chunks = ['one', 'two']
  const seen = { asked: 0, isEnded: false }
  const next: StreamSource['next'] = async () => {
    const text = chunks[seen.asked++]
    return text === undefined ? { done: true } : { done: false, bytes: Buffer.from(text) }
  }
  const end = () => {
    seen.isEnded = true
  }
  return { seen, source: { next, end } }
}

/** A call that holds a key and a payment, and whose stream was not read yet. */
function streaming(given: Scene = {}) {
  const timeline = new Timeline()
  const stream = source()
  const stop = { cutting: () => false, onCut: () => () => {} }
  const it = scene({
    ...given,
    rules: { ...REPLAY, ...given.rules },
    request: { payment: PAYMENT, idempotencyKey: SECRET, ...given.request },
    call: {
      held: true,
      owned: OWNED,
      requirements: REQUIREMENTS,
      answer: { status: 200, headers: {}, body: '' },
      source: stream.source,
      ...given.call,
    },
    world: { clock: clockOf(timeline), stop, ...given.world } as never,
  })
  return { ...it, timeline, stream: stream.seen, stop }
}

const keptIn = (answer: Uint8Array): ReplayedAnswer => unseal(answer, [SECRET], 'claim')!
const bodyIn = (answer: Uint8Array) => keptIn(answer).answer?.body.toString()

describe('the stream of a call in doubt', () => {
  /** The store answers as told, in turn, and then that it recorded. */
  function recording(...says: (Error | 'superseded')[]) {
    const moves: RecordMove[] = []
    const it = streaming()
    Object.assign(it.world.store, {
      async record(move: RecordMove) {
        moves.push(move)
        const said = says.shift() ?? 'recorded'
        if (said instanceof Error) throw said
        return said
      },
    })
    return { ...it, moves }
  }

  it('is sent to a store that did not answer until it does, and the call keeps its lease so long', async () => {
    const { world, call, inFlight, seen, timeline, moves } = recording(DOWN, DOWN, DOWN)
    expect(closeCall(world, call, 'inDoubt', inFlight)).toBeUndefined()
    await timeline.run(700)
    expect({ sent: moves.length, leases: seen.leases, inFlight: seen.inFlight }).toEqual({
      sent: 2,
      leases: [],
      inFlight: 1,
    })
    await timeline.run(60_000)
    expect(moves.map(({ recorded }) => bodyIn(recorded.answer))).toEqual(Array(4).fill('onetwo'))
    expect({ leases: seen.leases, inFlight: seen.inFlight, logged: seen.logged.length }).toEqual({
      leases: [`pass ${UUID}`],
      inFlight: 0,
      logged: 3,
    })
  })

  it('that another call took over is reported, and not sent again', async () => {
    const { world, call, inFlight, seen, timeline, moves } = recording('superseded')
    closeCall(world, call, 'inDoubt', inFlight)
    await timeline.run(60_000)
    expect({ sent: moves.length, logged: seen.logged.length, leases: seen.leases }).toEqual({
      sent: 1,
      logged: 1,
      leases: [`pass ${UUID}`],
    })
  })

  it('is given up by a server that stops while the store is down', async () => {
    const { world, call, inFlight, seen, timeline, moves, stop } = recording(...Array(50).fill(DOWN))
    closeCall(world, call, 'inDoubt', inFlight)
    await timeline.run(700)
    stop.cutting = () => true
    await timeline.run(60_000)
    expect({ sent: moves.length, leases: seen.leases, inFlight: seen.inFlight }).toEqual({
      sent: 3,
      leases: [`pass ${UUID}`],
      inFlight: 0,
    })
  })
})

describe('the stream of a call that was given back', () => {
  it.each([
    ['whose place another call has', 'superseded'],
    ['whose release waits for the store', DOWN],
  ] as const)('%s is not read: nobody can get its answer', async (_, closed) => {
    const { world, call, inFlight, seen, stream } = streaming({ closed })
    await giveBack(world, call)
    expect(closeCall(world, call, 'inDoubt', inFlight)).toBeUndefined()
    expect({ ...stream, leases: seen.leases }).toEqual({ asked: 0, isEnded: true, leases: [`pass ${UUID}`] })
  })
})

it.each(['superseded', 'abandoned'] as const)(
  'the stream of a call that ended %s before it settled is not read, and what the call holds is given back',
  async final => {
    const { world, call, inFlight, seen, stream } = streaming()
    await closeCall(world, call, final, inFlight)
    expect(stream).toEqual({ asked: 0, isEnded: true })
    expect(seen.closes).toMatchObject([{ how: 'release', payment: 'TX' }])
    expect(seen.leases).toEqual([`drop ${UUID}`])
  },
)

describe('the stream of a charged call', () => {
  it.each([
    ['is dropped with the close', 'closed', [`drop ${UUID}`], 0],
    ['stays while the close waits for the store, which is the only copy of the answer', DOWN, [], 1],
  ] as const)('has ended, and its lease %s', async (_, closed, leases, pending) => {
    const { world, call, inFlight, seen } = streaming({ closed })
    closeCall(world, call, 'settled', inFlight)
    for await (const _chunk of call.handled.answer!.stream!.chunks);
    expect(seen.leases).toEqual([])
    seen.end!(true)
    await new Promise(resolve => setImmediate(resolve))
    expect(seen.closes.map(({ answer }) => bodyIn(answer!))).toEqual(['onetwo'])
    expect({ leases: seen.leases, pending: seen.pending.length, inFlight: seen.inFlight }).toEqual({
      leases,
      pending,
      inFlight: 0,
    })
  })
})

it('a stream that has ended is told at once, and the server waits until the store was asked', async () => {
  const { world, call, inFlight, seen } = streaming()
  let closed = () => {}
  const close = () => new Promise(resolve => (closed = () => resolve('closed')))
  Object.assign(world.store, { close })
  closeCall(world, call, 'settled', inFlight)
  for await (const _chunk of call.handled.answer!.stream!.chunks);
  seen.end!(true)
  expect((await call.handled.streamEnd)!.brokenBy).toBeUndefined()
  await new Promise(resolve => setImmediate(resolve))
  expect({ inFlight: seen.inFlight, leases: seen.leases }).toEqual({ inFlight: 1, leases: [] })
  closed()
  await expect.poll(() => seen.inFlight).toBe(0)
  expect(seen.leases).toEqual([`drop ${UUID}`])
})

it('a stream in a window with a count is counted once, when it has ended', async () => {
  const counted: string[] = []
  const { world, call, inFlight, seen } = streaming({ call: { used: { id: 'window', isCounted: true } } })
  Object.assign(world.subscriptions, { use: async (id: string) => void counted.push(id) })
  closeCall(world, call, 'served', inFlight)
  await new Promise(resolve => setImmediate(resolve))
  expect(counted).toEqual([])
  for await (const _chunk of call.handled.answer!.stream!.chunks);
  seen.end!(true)
  await expect.poll(() => seen.inFlight).toBe(0)
  expect(counted).toEqual(['window'])
})

it('a stream whose answer cannot be sealed keeps no server from stopping, and its lease ends', async () => {
  const { world, call, inFlight, seen } = streaming()
  closeCall(world, call, 'settled', inFlight)
  const iv = () => {
    throw new Error('no randomness')
  }
  Object.assign(world.random, { iv })
  for await (const _chunk of call.handled.answer!.stream!.chunks);
  seen.end!(true)
  await expect.poll(() => seen.inFlight).toBe(0)
  expect(seen.leases).toEqual([`drop ${UUID}`])
})

describe('what is kept of the stream of a charged call', () => {
  const RELEASE = { idempotency: { onLostResponse: 'release' } } as const
  const UNKEPT = { keepAnswersMs: 0 } as const
  /** The hundred rounds of the payment, and an hour. */
  const PAYMENT_LIFE_MS = 100 * 4_000 + 3_600_000
  const UNKEYED: Scene = {
    request: { idempotencyKey: undefined },
    call: { owned: { ...OWNED, answerName: undefined } },
  }

  type Ending = 'arrived' | 'lost' | 'cut'

  /** Its caller takes all of it, is gone when all of it was sent, or goes after the first chunk. */
  async function closed(ending: Ending, rules: Scene['rules'], given: Scene) {
    let isGone = false
    let hangUp = () => {}
    const onGone = (listener: () => void) => {
      hangUp = listener
      return () => {}
    }
    let end: (arrived: boolean) => void = () => {}
    const onEnd = (listener: typeof end) => {
      end = listener
    }
    const request = { ...given.request, caller: { gone: () => isGone, onGone, onEnd } } as never
    const { world, call, inFlight, seen } = streaming({ ...given, rules: { ...REPLAY, ...rules }, request })
    closeCall(world, call, 'settled', inFlight)
    const chunks = call.handled.answer!.stream!.chunks[Symbol.asyncIterator]()
    expect(Buffer.from((await chunks.next()).value).toString()).toBe('one')
    isGone = ending !== 'arrived'
    if (ending === 'cut') hangUp()
    else for (let done = false; !done; ) done = (await chunks.next()).done === true
    end(ending === 'arrived')
    await new Promise(resolve => setImmediate(resolve))
    expect({ closes: seen.closes.length, inFlight: seen.inFlight }).toEqual({ closes: 1, inFlight: 0 })
    const { how, retentionMs, answerName, answer } = seen.closes[0]!
    return { how, answerName, retentionMs, body: answer && (bodyIn(answer) ?? 'not kept') }
  }

  const forKey = (body: string) => ({ how: 'complete', answerName: undefined, retentionMs: 500, body })
  const forPayer = (retentionMs: number, body: string) => ({
    how: 'complete',
    answerName: undefined,
    retentionMs,
    body,
  })
  const forfeited = (body: string) => ({
    how: 'forfeit',
    answerName: 'own',
    retentionMs: PAYMENT_LIFE_MS,
    body,
  })
  const GONE = { how: 'forfeit', answerName: undefined, body: undefined }

  it.each<[string, Scene['rules'], Scene, Record<Ending, object>]>([
    [
      'without a key, all of it for its payer, until that had it',
      {},
      UNKEYED,
      {
        arrived: forPayer(120_000, 'onetwo'),
        lost: forPayer(PAYMENT_LIFE_MS, 'onetwo'),
        cut: forPayer(PAYMENT_LIFE_MS, 'not kept'),
      },
    ],
    [
      'without a key, nothing where the seller keeps none',
      UNKEPT,
      UNKEYED,
      { arrived: GONE, lost: GONE, cut: GONE },
    ],
    [
      'with a key, all of it for that',
      UNKEPT,
      {},
      { arrived: forKey('onetwo'), lost: forKey('onetwo'), cut: forKey('not kept') },
    ],
    [
      'with a key that a lost answer frees, under the name of its payment',
      RELEASE,
      {},
      { arrived: forKey('onetwo'), lost: forfeited('onetwo'), cut: forfeited('not kept') },
    ],
    [
      'with a key that a lost answer frees, nothing where the seller keeps none without a key',
      { ...RELEASE, ...UNKEPT },
      {},
      { arrived: forKey('onetwo'), lost: GONE, cut: GONE },
    ],
    [
      'of a task, all of it',
      { ...RELEASE, ...UNKEPT },
      { request: { idempotencyKey: undefined, task: 'id' } },
      { arrived: forKey('onetwo'), lost: forKey('onetwo'), cut: forKey('not kept') },
    ],
    [
      'without a key, that it was too large',
      { answerBytesMax: 5 },
      UNKEYED,
      { arrived: forPayer(120_000, 'not kept'), lost: forPayer(PAYMENT_LIFE_MS, 'not kept') } as never,
    ],
  ])('is, %s', async (_, rules, given, ends) => {
    for (const [ending, kept] of Object.entries(ends))
      expect(await closed(ending as Ending, rules, given), ending).toMatchObject(kept)
  })
})

describe('a stream that nobody may ask for again', () => {
  const UNKEYED = { request: { idempotencyKey: undefined } }

  it.each<[string, Scene]>([
    ['whose seller keeps no answers without a key', { ...UNKEYED, rules: { keepAnswersMs: 0 } }],
    [
      'that a window covered, without a key',
      { ...UNKEYED, call: { held: false, owned: undefined, read: undefined } },
    ],
  ])('is not collected in memory: a call %s', async (_, given) => {
    const { world, call, inFlight, seen } = streaming(given)
    closeCall(world, call, 'settled', inFlight)
    for await (const _chunk of call.handled.answer!.stream!.chunks);
    seen.end!(true)
    expect(await call.handled.streamEnd).toEqual({ brokenBy: undefined, bytes: undefined })
    await expect.poll(() => seen.inFlight).toBe(0)
    expect(seen.logged).toEqual([])
  })
})

describe('the close of a stream that takes longer than its lease', () => {
  const RETRY = { ...HOLD, token: 'retry', payment: undefined, leaseMs: LEASE_MS }

  type Does = <T>(name: 'close' | 'renew', timeline: Timeline, move: () => Promise<T>) => Promise<T>

  /** A call that settled, or that a window covered, and whose stream has just ended. The store does each move as `does` says. */
  async function ended(does: Does, final: 'settled' | 'served' = 'settled') {
    const timeline = new Timeline()
    const clock = clockOf(timeline)
    const store = memoryChargeStore({ clock })
    const given: ChargeStore = {
      ...store,
      close: move => does('close', timeline, () => store.close(move)),
      renew: (...renewal) => does('renew', timeline, () => store.renew(...renewal)),
    }
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const leases = leasesIn(given, LEASE_MS, logger, clock)
    const closes = pendingCloses(given, leases, logger, clock)
    const it = streaming({
      rules: { retentionMs: 600_000 },
      world: { clock, store: given, leases, pendingCloses: closes } as never,
    })
    const hold = final === 'settled' ? HOLD : { ...HOLD, payment: undefined }
    await store.open({ ...hold, leaseMs: LEASE_MS })
    if (final === 'settled') {
      const recorded = { answer: new Uint8Array(), payment: { txId: 'TX', firstValid: 1n, lastValid: 2n } }
      await store.record({ ...hold, recorded, leaseMs: LEASE_MS, paymentTtlMs: 1e6, claimTtlMs: 1e6 })
    } else Object.assign(it.call, { hold, requirements: undefined })
    leases.keep(hold, 0)
    closeCall(it.world, it.call, final, it.inFlight)
    for await (const _chunk of it.call.handled.answer!.stream!.chunks);
    it.seen.end!(true)
    return async function retried(atMs: number) {
      await timeline.run(atMs)
      const opened = await store.open(RETRY)
      return opened.verdict === 'replayable' ? bodyIn(opened.answer) : opened.verdict
    }
  }

  /** Between two renewals. */
  const LONG_MS = 4 * LEASE_MS + 1

  it.each(['settled', 'served'] as const)('keeps key and answer where the store is slow: %s', async final => {
    const retried = await ended(async (name, timeline, move) => {
      if (name === 'close') await new Promise<void>(resolve => timeline.after(LONG_MS, resolve))
      return move()
    }, final)
    const verdicts = [await retried(LEASE_MS + 1), await retried(LONG_MS - 1), await retried(LONG_MS + 1)]
    expect(verdicts).toEqual(['inProgress', 'inProgress', 'onetwo'])
  })

  it.each(['settled', 'served'] as const)('keeps both where the store fails in it alone: %s', async final => {
    const retried = await ended(async (name, timeline, move) => {
      if (name === 'close' && timeline.nowMs < LONG_MS) throw DOWN
      return move()
    }, final)
    const verdicts = [await retried(LEASE_MS + 1), await retried(LONG_MS - 1), await retried(LONG_MS + 5_000)]
    expect(verdicts).toEqual(['inProgress', 'inProgress', 'onetwo'])
  })

  // Of a settled call the retry asks the chain: its handler does not run, and nothing more is charged.
  it.each([
    ['settled', 1, 'orphaned'],
    ['served', 1, 'opened'],
    ['settled', 5_000, 'onetwo'],
    ['served', 5_000, 'onetwo'],
  ] as const)(
    'where the store was down as long: a retry of one %s, %i ms later, is %s',
    async (final, afterMs, verdict) => {
      const retried = await ended(async (_name, timeline, move) => {
        if (timeline.nowMs < LONG_MS) throw DOWN
        return move()
      }, final)
      expect(await retried(LONG_MS + afterMs)).toBe(verdict)
    },
  )
})
