/** Makes the moves of a trace of the model on a store, lets time pass as the trace has it, and compares every answer. */
import { expect } from 'vitest'
import { FIRST } from '../../proof/model/effects.js'
import { heldBy, isLeased, lapsedOf } from '../../proof/model/outside.js'
import type { Trace } from '../../proof/model/shortest-traces.js'
import type { Deed } from '../../proof/model/steps.js'
import { answeredBy, argumentsOf, type StoreMove } from '../../proof/model/store-moves.js'
import { type Moment, NOW_MS } from '../../proof/model/world.js'
import type { OpenMove } from '../../src/domain/charge-store/moves.js'
import * as transition from '../../src/domain/charge-store/transition.js'
import { LAPSED_KEPT_MS } from '../../src/domain/machines/claim-and-payment.rules.js'
import type { ChargeStore, Hold } from '../../src/ports/charge-store.js'

export interface TimedStore {
  readonly store: ChargeStore
  advance(ms: number): Promise<void> | void
}

/** Short beside the time that an unrecorded record is kept, so that several can end while others stay. */
const LEASE_MS = 1_000
/** The payments that a trace forgets end one after the other, far apart; what it keeps outlives them all. */
const APART_MS = 10_000_000
const FOREVER_MS = 100_000_000_000

/**
 * The model forgets one record at a time. Time forgets all whose life is over: a trace in which another one would go too cannot
 * happen so, and is left out.
 */
export function canHappen(trace: Trace): boolean {
  return momentsOf(trace).every(
    ({ before, deed }) =>
      deed.kind !== 'forget' ||
      trace.world.holds.every(
        ({ token }) => ('token' in deed && deed.token === token) || lapsedOf(before, token).length === 0,
      ),
  )
}

/** @throws Error where the store answers otherwise than the model, on the way or at the end */
export async function replay(trace: Trace, timed: TimedStore): Promise<void> {
  const { store, advance } = timed
  let elapsedMs = 0
  const pass = async (ms: number, { before, deed, after }: Moments) => {
    await renew(store, liveHolds(before, 'token' in deed ? deed.token : undefined), ms + LEASE_MS)
    await advance(ms)
    elapsedMs += ms
    await renew(store, liveHolds(after), LEASE_MS)
  }
  const moments = momentsOf(trace)
  const forgotten = moments.flatMap(({ deed }) => ('txId' in deed ? deed.txId : []))
  for (const [at, moment] of moments.entries()) {
    const { before, deed } = moment
    if (deed.kind !== 'move') {
      const kept = 'txId' in deed ? endOf(forgotten, deed.txId) - elapsedMs : LAPSED_KEPT_MS
      await pass(deed.kind === 'lapse' ? LEASE_MS : kept, moment)
    } else {
      const txId = trace.world.holds[deed.move.call]!.payment
      const isForgotten = moments.slice(at).some(({ deed }) => 'txId' in deed && deed.txId === txId)
      const paymentTtlMs = isForgotten ? endOf(forgotten, txId!) - elapsedMs : FOREVER_MS
      const lives = { leaseMs: LEASE_MS, paymentTtlMs, claimTtlMs: FOREVER_MS, retentionMs: FOREVER_MS }
      expect(await made(store, before, deed.move, lives)).toEqual(deed.answered)
    }
  }
  await probe(store, trace.steps.at(-1)!.after)
}

interface Moments {
  readonly before: Moment
  readonly deed: Deed
  readonly after: Moment
}

function momentsOf({ world, steps }: Trace): readonly Moments[] {
  return steps.flatMap(({ deeds, after }, at) => {
    const before = steps[at - 1]?.after ?? world.start(FIRST)
    return deeds.map(deed => ({ before, deed, after }))
  })
}

const endOf = (forgotten: readonly string[], txId: string) => APART_MS * (forgotten.indexOf(txId) + 1)

/** What the calls hold under a lease, but for the one whose lease ends. */
function liveHolds(moment: Moment, but?: string): readonly Hold[] {
  return moment.world.holds.flatMap(({ slot, token, claim, payment }) => {
    const held = heldBy(moment, token).filter(isLeased)
    if (token === but || held.length === 0) return []
    const hasPayment = held.some(record => 'txId' in record)
    const hasClaim = held.some(record => !('txId' in record))
    return [{ slot, token, ...(hasClaim && { claim }), ...(hasPayment && { payment }) }]
  })
}

async function renew(store: ChargeStore, holds: readonly Hold[], leaseMs: number): Promise<void> {
  if (holds.length > 0) expect(await store.renew(holds, leaseMs)).toEqual(holds.map(() => true))
}

async function made(store: ChargeStore, before: Moment, move: StoreMove, lives: object) {
  const args = { ...argumentsOf(before, move), ...lives }
  if (move.kind !== 'renew') return answeredBy(await store[move.kind](args as never))
  const [isRenewed] = await store.renew([args as Hold], LEASE_MS)
  return answeredBy(isRenewed)
}

/** What the end leaves: each call's request comes once more, as another one's. */
async function probe(store: ChargeStore, end: Moment): Promise<void> {
  const moment = end.copy()
  for (const call of moment.world.plan.calls.keys()) {
    const args = { ...argumentsOf(moment, { kind: 'open', call }), token: `probe ${call}` } as OpenMove
    const { verdict, claims, payments } = transition.open(moment, args, NOW_MS)
    for (const claim of claims) moment.setClaim(claim)
    for (const payment of payments) moment.setPayment(payment)
    expect(answeredBy(await store.open({ ...args, leaseMs: LEASE_MS }))).toEqual(answeredBy(verdict))
  }
}
