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
import type { ChargeRecords } from './charge-records.js'
import { LifecycleRecords } from './lifecycle-records.js'

export interface MemoryChargeStoreOptions {
  readonly clock?: Pick<Clock, 'monotonic'>
  /** The most completed answers of each kind: paid, and covered by a window. The oldest makes room. @default 500 */
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
  const { clock = systemClock, max: evictableMax = 500, callsMax = 10_000 } = options
  const { settlingBytesMax = 256 * 1_024 * 1_024 } = options
  const claims: ChargeRecords['claims'] = new LifecycleRecords(claimTable, {
    evictableMax,
    // An answer that a window covered must not push out one that was paid for by itself.
    kindOf: ({ kept }) => kept!.by === undefined,
    settlingBytesOf: ({ kept }) => kept!.recorded.answer.byteLength + RECORD_BYTES,
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
