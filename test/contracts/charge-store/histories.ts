/** Random histories of moves that five calls make over two keys and two payments, at the right time or too late. */
import fc from 'fast-check'
import { type ChargeConnection, redisChargeStore } from '../../../src/adapters/redis/charge-store.js'
import type { Hold, UnitsChargeStore } from '../../../src/ports/charge-store.js'

export const SLOT = 'slot'
export const NAMES = ['k1', 'k2', 'n1']
export const PAYMENTS = ['p1', 'p2']
/**
 * Hours: the lives of keys on a real Redis end by real time too, and a busy machine takes its time. What is kept longest after a step
 * is what lapsed with it, a minute.
 */
const LEASE_MS = 10_000_000
const LIVES = { leaseMs: LEASE_MS, paymentTtlMs: 3 * LEASE_MS, claimTtlMs: 5 * LEASE_MS }
const WINDOW_MS = 2 * LEASE_MS
/** Farther back than a command may take. */
const LATE_MS = 60_000

const bytes = fc.uint8Array({ maxLength: 20 })
const who = fc.nat(4)
/** One in eight comes to the server after its deadline, even when it is sent again. */
const late = fc.constantFrom(true, ...Array<boolean>(7).fill(false))

const move = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      who,
      late,
      bodyHash: fc.constantFrom('body', 'body', 'body', 'another body'),
      isBearer: fc.constantFrom(undefined, undefined, true),
      caller: fc.constantFrom(undefined, 'here', 'here', 'there'),
      answerName: fc.constantFrom(undefined, undefined, 'n1'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('record' as const),
      who,
      late,
      answer: bytes,
      isReadable: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('close' as const),
      who,
      how: fc.constantFrom('complete' as const, 'forfeit' as const, 'release' as const),
      answer: fc.option(bytes, { nil: undefined }),
      answerName: fc.constantFrom(undefined, 'n1'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew' as const), who }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('resolve' as const),
      who,
      late,
      verdict: fc.constantFrom('found' as const, 'dead' as const),
      txId: fc.constantFrom('p1', 'p1', 'p2'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), halves: fc.constantFrom(1, 2, 3) }),
  },
)

/** Up to this many units are sold, and a call takes and costs about as many as several share. */
const units = fc.constantFrom(0, 1, 3, 4, 7, 10)

const balanceMove = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      who,
      late,
      bodyHash: fc.constantFrom('body', 'body', 'body', 'another body'),
      take: fc.constantFrom(undefined, 1, 3, 3, 4, 7, 10, Number.MAX_SAFE_INTEGER),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('count' as const),
      who,
      charge: units,
      answer: fc.option(bytes, { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('close' as const),
      who,
      how: fc.constantFrom('complete' as const, 'forfeit' as const, 'release' as const),
      answer: fc.option(bytes, { nil: undefined }),
      answerName: fc.constant(undefined),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('renew' as const), who }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('sell' as const), units, halves: fc.constantFrom(0, 1, 3, 9) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'drop' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), halves: fc.constantFrom(1, 2, 3) }),
  },
)

type StepOf<A> = A extends fc.Arbitrary<infer M> ? M : never
export type Step = StepOf<typeof move> | StepOf<typeof balanceMove>

export interface History {
  readonly holds: readonly Hold[]
  readonly moves: readonly Step[]
}

/** What moves alone seldom make: a call stops, its lease runs out, and another one comes, with a third one at work. */
const takenOver = fc
  .record({
    ...{ who, successor: who, third: who, answer: bytes, isRecorded: fc.boolean(), next: move },
    verdict: fc.constantFrom('found' as const, 'dead' as const, undefined),
  })
  .map(({ who, successor, third, answer, isRecorded, next, verdict }): Step[] => {
    const open = {
      ...({ kind: 'open', late: false, bodyHash: 'body' } as const),
      ...({ isBearer: undefined, caller: 'here', answerName: undefined } as const),
    }
    const record = { kind: 'record', who, late: false, answer, isReadable: true } as const
    const lapse = { kind: 'advance', halves: 2 } as const
    const begun = [{ ...open, who }, ...(isRecorded ? [record] : []), lapse]
    const taken = [
      { ...open, who: third },
      { ...open, who: successor },
    ]
    const resolve = { kind: 'resolve', who: successor, late: false, txId: 'p1' } as const
    if (verdict) return [...begun, ...taken, { ...resolve, verdict }]
    return [...begun, ...taken, 'who' in next ? { ...next, who } : next]
  })

/** A call loses its key, and its answer is filed under its payment's own name. */
const forfeited = fc.record({ who, answer: bytes }).map(({ who, answer }): Step[] => [
  {
    ...{ kind: 'open', who, late: false, bodyHash: 'body' },
    ...{ isBearer: undefined, caller: 'here', answerName: undefined },
  },
  { kind: 'record', who, late: false, answer, isReadable: true },
  { kind: 'close', who, how: 'forfeit', answer: undefined, answerName: 'n1' },
])

/** A call without both asks the store nothing. */
const hold = fc
  .record({
    key: fc.constantFrom('k1', 'k1', 'k2', undefined),
    payment: fc.constantFrom('p1', 'p1', 'p2', undefined),
  })
  .filter(({ key, payment }) => key !== undefined || payment !== undefined)

export const histories: fc.Arbitrary<History> = fc.record({
  holds: fc.array(hold, { minLength: 5, maxLength: 5 }).map(holds =>
    holds.map(({ key, payment }, at) => ({
      slot: SLOT,
      token: `t${at}`,
      ...(key && { claim: { name: key, bodyHash: 'body' } }),
      ...(payment && { payment }),
    })),
  ),
  moves: fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: move.map(step => [step]) },
        { weight: 2, arbitrary: takenOver },
        { weight: 1, arbitrary: forfeited },
      ),
      {
        minLength: 10,
        maxLength: 25,
      },
    )
    .map(steps => steps.flat()),
})

/** Five calls on one balance: two have one key, two another. */
export const balanceHistories: fc.Arbitrary<History> = fc.record({
  holds: fc.constant(
    ['k1', 'k1', 'k2', 'k2', 'n1'].map((name, at) => ({
      ...{ slot: SLOT, token: `t${at}`, hasUnits: true, claim: { name, bodyHash: 'body' } },
    })),
  ),
  moves: fc
    .tuple(fc.constantFrom(3, 9), fc.array(balanceMove, { minLength: 15, maxLength: 30 }))
    .map(([halves, moves]): Step[] => [{ kind: 'sell', units: 10, halves }, ...moves]),
})

/** One store in two ways. */
interface Side {
  readonly inTime: UnitsChargeStore
  /** Its moves come after their deadline, however often they are sent. */
  readonly late: UnitsChargeStore
  nowMs(): number
}

export function sideOf(connection: ChargeConnection, nowMs: () => number, prefix: string): Side {
  const time = { now: nowMs, forget() {} }
  return {
    nowMs,
    inTime: redisChargeStore(connection, prefix, time),
    late: redisChargeStore({ ...connection, commandTimeoutMs: -LATE_MS }, prefix, time),
  }
}

export const advanceMs = (step: Extract<Step, { kind: 'advance' }>) => (step.halves * LEASE_MS) / 2 + 1

/** What the store answers to a step that is a move, and how it rejects. */
export async function answerTo(side: Side, hold: Hold, step: Exclude<Step, { kind: 'advance' }>) {
  const store = 'late' in step && step.late ? side.late : side.inTime
  try {
    return { answer: await made(store, hold, step, side.nowMs()) }
  } catch (cause) {
    return { rejected: cause instanceof Error ? cause.message : String(cause) }
  }
}

function made(
  store: UnitsChargeStore,
  hold: Hold,
  step: Exclude<Step, { kind: 'advance' }>,
  nowMs: number,
): Promise<unknown> {
  const { slot } = hold
  switch (step.kind) {
    case 'take': {
      const { bodyHash, take } = step
      return store.open({ ...hold, claim: { ...hold.claim!, bodyHash }, leaseMs: LEASE_MS, take })
    }
    case 'count': {
      const { answer, charge } = step
      return store.count({ ...hold, how: 'complete', answer, charge, retentionMs: WINDOW_MS })
    }
    case 'sell':
      return store.sell({ slot, units: step.units, expiresAtMs: nowMs + (step.halves * LEASE_MS) / 2 })
    case 'drop':
      return store.drop(slot)
    case 'open': {
      const claim = hold.claim && { ...hold.claim, bodyHash: step.bodyHash }
      const { isBearer, caller, answerName } = step
      return store.open({ ...hold, claim, leaseMs: LEASE_MS, isBearer, caller, answerName })
    }
    case 'record': {
      const payment = { txId: hold.payment ?? 'p1', firstValid: 1n, lastValid: 2n ** 53n + 1n }
      const recorded = { answer: step.answer, ...(step.isReadable && { payment }) }
      return store.record({ ...hold, ...LIVES, recorded })
    }
    case 'close':
      return store.close({ ...hold, ...step, ...{ kind: undefined, retentionMs: WINDOW_MS } })
    case 'renew':
      return store.renew([hold], LEASE_MS)
    case 'resolve': {
      const { verdict, txId } = step
      return store.resolve({ ...hold, verdict, txId, retentionMs: WINDOW_MS, leaseMs: LEASE_MS })
    }
  }
}
