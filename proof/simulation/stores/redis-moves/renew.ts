import { LAPSED_KEPT_MS } from '../../../../src/domain/machines/claim-and-payment.rules.js'
import type { Move } from '../redis-model.js'
import { CLAIM, PAYMENT, type Stored } from './prelude.js'

/** `lua/renew.ts`. */
export const renew: Move = (records, [, , lease]) => {
  const { hashes, key, nowMs, token } = records
  const leaseMs = Number(lease)
  const claim = records.find(CLAIM, key.c)
  const payment = records.find(PAYMENT, key.p)
  const ours = (record: Stored | undefined) =>
    record !== undefined && record.token === token && records.lists(record, 'renewed')

  if (key.c && !ours(claim)) return 0
  if (key.p && !ours(payment)) return 0
  for (const record of [claim, payment]) {
    if (!record) continue
    records.move(record, 'renewed')
    records.keep(record, 'leaseEndsMs', nowMs + leaseMs)
    if (records.lists(record, 'recorded')) hashes.expire(record.name, leaseMs + LAPSED_KEPT_MS)
  }
  return 1
}
