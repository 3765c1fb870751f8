import type { Move } from '../redis-model.js'
import { CLAIM, PAYMENT } from './prelude.js'

/** `lua/resolve.ts`. */
export const resolve: Move = (records, [, , deadlineMs, verdict, txId, retentionMs, lease]) => {
  const { hashes, key, nowMs, token } = records
  if (records.isLate(deadlineMs)) return ['late', nowMs]
  const leaseMs = Number(lease)
  const claim = records.find(CLAIM, key.c)
  const recorded = records.find(PAYMENT, key.r)
  let payment = key.p === key.r ? recorded : records.find(PAYMENT, key.p)

  if (claim?.token !== token) return 'moved'
  if (records.lists(claim, 'evicted')) return 'completed'
  if (!records.lists(claim, 'orphaned')) return !key.p || payment?.token === token ? 'opened' : 'moved'
  if (hashes.get(claim.name, 'txId') !== txId) return 'moved'

  const decides = recorded !== undefined && records.lists(recorded, 'found')
  if (decides) records.move(recorded, verdict!)

  if (verdict === 'found') {
    records.move(claim, 'found')
    records.keepFinal(claim, retentionMs!)
    if (decides) records.keep(recorded)
    return 'completed'
  }

  const said = records.presented(payment)
  if (said !== 'opened') {
    records.move(claim, 'released')
    if (decides) records.keep(recorded)
    records.keep(claim)
    return said === 'spent' ? 'spent' : 'moved'
  }

  records.move(claim, 'dead')
  if (key.p) {
    payment ??= records.fresh(PAYMENT, key.p)
    records.move(payment, 'opened')
  }
  records.hold(claim, leaseMs)
  if (decides && recorded !== payment) records.keep(recorded)
  if (payment) records.hold(payment, leaseMs)
  return 'opened'
}
