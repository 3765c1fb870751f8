import type { Move } from '../redis-model.js'
import { CLAIM, PAYMENT } from './prelude.js'

/** `lua/record.ts`. */
export const record: Move = (records, argv) => {
  const [, , deadlineMs, leaseMs, claimTtlMs, paymentTtlMs, answer, txId, firstValid, lastValid] = argv
  const { hashes, key, nowMs, token } = records
  if (records.isLate(deadlineMs)) return ['late', nowMs]
  const leaseEndsMs = nowMs + Number(leaseMs)
  const claim = records.find(CLAIM, key.c)
  const payment = records.find(PAYMENT, key.p)

  if (key.c && claim?.token !== token) return 'superseded'
  if (key.p && payment?.token !== token) return 'superseded'

  const claimReady = !claim || records.lists(claim, 'recorded')
  const paymentReady = !payment || records.lists(payment, 'recorded')
  if (!claimReady || !paymentReady) {
    if (claim && hashes.get(claim.name, 'recordedBy') !== token) return 'superseded'
    if (claim && records.lists(claim, 'completed')) hashes.set(claim.name, 'answer', answer!)
    return 'recorded'
  }

  if (claim) records.move(claim, 'recorded')
  if (payment) records.move(payment, 'recorded')
  if (claim) {
    records.keep(claim, 'leaseEndsMs', leaseEndsMs, 'recordedBy', token, 'answer', answer!)
    if (txId !== undefined) {
      hashes.set(claim.name, 'txId', txId, 'firstValid', firstValid!, 'lastValid', lastValid!)
    }
    hashes.expire(claim.name, claimTtlMs!)
  }
  if (payment) {
    records.keep(payment, 'leaseEndsMs', leaseEndsMs)
    hashes.expire(payment.name, paymentTtlMs!)
  }
  return 'recorded'
}
