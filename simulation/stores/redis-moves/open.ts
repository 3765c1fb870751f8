import type { Move, Reply } from '../redis-model.js'
import { CLAIM, PAYMENT } from './prelude.js'

/** `lua/open.ts`. */
export const open: Move = (records, [, , deadlineMs, bodyHash, lease]): Reply => {
  const { hashes, key, nowMs, token } = records
  if (records.isLate(deadlineMs)) return ['late', nowMs]
  const leaseMs = Number(lease)
  let claim = records.find(CLAIM, key.c)
  let payment = records.find(PAYMENT, key.p)

  if (claim) {
    const { name } = claim
    if (hashes.get(name, 'bodyHash') !== bodyHash) return ['reused']
    if (records.lists(claim, 'evicted')) return ['replayable', hashes.get(name, 'answer')]
    if (claim.token !== token && nowMs < claim.leaseEndsMs) return ['inProgress', claim.leaseEndsMs - nowMs]
    if (records.lists(claim, 'orphaned')) {
      records.move(claim, 'orphaned')
      records.keep(claim, 'token', token, 'leaseEndsMs', nowMs + leaseMs)
      const kept = ['answer', 'txId', 'firstValid', 'lastValid'].map(field => hashes.get(name, field))
      return ['orphaned', ...kept]
    }
  }

  const verdict = records.presented(payment)
  if (verdict !== 'opened') return [verdict, Math.max(0, payment!.leaseEndsMs - nowMs)]

  if (key.c) {
    const event = claim ? 'reopened' : 'opened'
    claim ??= records.fresh(CLAIM, key.c)
    records.move(claim, event)
  }
  if (key.p) {
    payment ??= records.fresh(PAYMENT, key.p)
    records.move(payment, 'opened')
  }
  if (claim) records.hold(claim, leaseMs, 'bodyHash', bodyHash!)
  if (payment) records.hold(payment, leaseMs)
  return ['opened']
}
