import type { Move } from '../redis-model.js'
import { CLAIM, PAYMENT } from './records.js'

/** Written out here and not read from the script, so that the two can be found to differ. */
const CLOSED_BY: Readonly<Record<string, { claim: readonly string[]; payment: readonly string[] }>> = {
  complete: { claim: ['completed', 'served'], payment: ['completed', 'released'] },
  forfeit: { claim: ['forfeited'], payment: ['completed', 'released'] },
  release: { claim: ['released'], payment: ['released'] },
}

/** `lua/close.ts`. */
export const close: Move = (records, [, , asked, windowMs, given]) => {
  const { hashes, key, token } = records
  let [how, answer] = [asked!, given]
  const claim = records.find(CLAIM, key.c)
  const payment = records.find(PAYMENT, key.p)
  const recordedByUs = () =>
    !records.lists(claim!, 'orphaned') || hashes.get(claim!.name, 'recordedBy') === token
  const claimOurs = claim?.token === token && recordedByUs()
  const paymentOurs = payment?.token === token && (how !== 'release' || !key.c || claimOurs)

  const paymentMoved = paymentOurs && records.moveAlong(payment, CLOSED_BY[how]!.payment)
  let claimMoved = false
  if (claimOurs) {
    const answered = hashes.get(claim.name, 'answer') !== null
    if (answered) answer = undefined
    if (!answered && answer === undefined) how = 'release'
    claimMoved = records.moveAlong(claim, CLOSED_BY[how]!.claim)
  }

  if (claimMoved) records.keepFinal(claim!, windowMs!, ...(answer === undefined ? [] : ['answer', answer]))
  if (paymentMoved) records.keep(payment)
  return (!key.c || claimMoved) && (!key.p || paymentMoved) ? 'closed' : 'superseded'
}
