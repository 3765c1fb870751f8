/**
 * One process. Claims and payments in maps; each move is one synchronous step and therefore atomic. Nothing survives a
 * restart: several replicas, or a server that must not forget, need the store on Redis.
 */
import { claimTable } from '../../domain/machines/claim.machine.js'
import { paymentTable } from '../../domain/machines/payment.machine.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import { renewHold } from './charge-holds.js'
import { close, open, record, resolve } from './charge-moves.js'
import type { ChargeRecords, Claim } from './charge-records.js'
import { KeptAnswers } from './kept-answers.js'
import { LifecycleRecords } from './lifecycle-records.js'

export interface MemoryChargeStoreOptions {
  readonly clock?: Pick<Clock, 'monotonic'>
  /**
   * The most completed answers of each kind: paid with a key, paid without one, and covered by a window. The oldest answer of the
   * owner that has the most makes room; a key stays without its answer. @default 500
   */
  readonly max?: number
  /**
   * The most calls at work that have recorded nothing. Answers have a bound of their own: with one bound for both, 520
   * unfunded payments pushed paid answers out. @default 10000
   */
  readonly callsMax?: number
  /**
   * The most bytes of answers whose payments are not decided. They stay, so above it new calls are refused. A call that works
   * already may go beyond it. @default 268435456
   */
  readonly settlingBytesMax?: number
}

/** A claim and its payment take this besides the answer, as measured on Node 20. */
const RECORD_BYTES = 1_750

export function memoryChargeStore(options: MemoryChargeStoreOptions = {}): ChargeStore {
  const { clock = systemClock, max = 500, callsMax = 10_000 } = options
  const { settlingBytesMax = 256 * 1_024 * 1_024 } = options
  const answers = new KeptAnswers<Claim>({
    max,
    // An answer that a window covered must not push out one that was paid for by itself, nor one without a key one with a key.
    kindOf: ({ kept, isOfPayment }) => (kept!.by === undefined ? 'covered' : isOfPayment ? 'payment' : 'key'),
    ownerOf: ({ slot }) => slot,
    bytesOf: ({ kept }) => kept!.answer?.byteLength ?? 0,
    drop(claim) {
      const { answer: _, ...rest } = claim.kept!
      claim.kept = rest
      return !claim.isOfPayment
    },
  })
  const claims: ChargeRecords['claims'] = new LifecycleRecords(claimTable, {
    answers,
    settlingBytesOf: ({ kept }) => kept!.answer!.byteLength + RECORD_BYTES,
  })
  const payments: ChargeRecords['payments'] = new LifecycleRecords(paymentTable)
  const recordsNow = (): ChargeRecords => {
    const nowMs = clock.monotonic()
    claims.collect(nowMs)
    payments.collect(nowMs)
    return { claims, payments, callsMax, settlingBytesMax, nowMs }
  }
  return {
    open: async move => open(recordsNow(), move),
    record: async move => record(recordsNow(), move),
    renew: async (holds, leaseMs) => {
      const records = recordsNow()
      return holds.map(hold => renewHold(records, { ...hold, leaseMs }))
    },
    close: async move => close(recordsNow(), move),
    resolve: async move => resolve(recordsNow(), move),
  }
}
