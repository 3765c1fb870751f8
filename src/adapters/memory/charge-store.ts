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
import type { Books } from './charge-records.js'
import { LifecycleRecords } from './lifecycle-records.js'

export interface MemoryChargeStoreOptions {
  readonly clock?: Pick<Clock, 'monotonic'>
  /** Completed answers kept at most, and as many of calls that a window covered; the oldest makes way. @default 500 */
  readonly max?: number
  /**
   * Calls at work at most, before they are recorded. They are counted apart from the answers: 520 unfunded payments
   * pushed paid answers out where one bound was for both. @default 10000
   */
  readonly callsMax?: number
}

export function memoryChargeStore(options: MemoryChargeStoreOptions = {}): ChargeStore {
  const { clock = systemClock, max: evictableMax = 500, callsMax = 10_000 } = options
  const claims: Books['claims'] = new LifecycleRecords(claimTable, {
    evictableMax,
    // What a window covered cost nothing more, and pushes no answer out that was paid for by itself.
    kindOf: ({ kept }) => kept!.by === undefined,
  })
  const payments: Books['payments'] = new LifecycleRecords(paymentTable)
  const books = (): Books => {
    const nowMs = clock.monotonic()
    claims.collect(nowMs)
    payments.collect(nowMs)
    return { claims, payments, callsMax, nowMs }
  }
  return {
    open: async move => open(books(), move),
    record: async move => record(books(), move),
    renew: async (holds, leaseMs) => {
      const now = books()
      return holds.map(hold => renewHold(now, { ...hold, leaseMs }))
    },
    close: async move => close(books(), move),
    resolve: async move => resolve(books(), move),
  }
}
