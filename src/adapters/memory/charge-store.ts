/**
 * One process. Claims and payments in maps; each move is one synchronous step and therefore atomic. Nothing survives a
 * restart: several replicas, or a server that must not forget, need the store on Redis.
 */
import { claimTable } from '../../domain/machines/claim.machine.js'
import { paymentTable } from '../../domain/machines/payment.machine.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import { close, open, record, resolve } from './charge-moves.js'
import type { Books } from './charge-records.js'
import { DrawnRecords } from './drawn-records.js'

export interface MemoryChargeStoreOptions {
  readonly clock?: Clock
  /** Claims held at most. Payments are not counted: they end with their validity. @default 500 */
  readonly max?: number
}

export function memoryChargeStore(options: MemoryChargeStoreOptions = {}): ChargeStore {
  const { clock = systemClock, max: claimsMax = 500 } = options
  const claims: Books['claims'] = new DrawnRecords(claimTable, {
    nowMs: clock.now(),
    evictableMax: claimsMax,
  })
  const payments: Books['payments'] = new DrawnRecords(paymentTable, { nowMs: clock.now() })
  const books = (): Books => {
    const nowMs = clock.now()
    claims.collect(nowMs)
    payments.collect(nowMs)
    return { claims, payments, claimsMax, nowMs }
  }
  return {
    open: async move => open(books(), move),
    record: async move => record(books(), move),
    close: async move => close(books(), move),
    resolve: async move => resolve(books(), move),
  }
}
