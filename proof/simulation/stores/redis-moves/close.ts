import { CLOSING_EVENTS } from '../../../../src/domain/machines/claim-and-payment.rules.js'
import type { CloseMove } from '../../../../src/ports/charge-store.js'
import type { Move } from '../redis-model.js'
import { CLAIM, PAYMENT } from './prelude.js'

/** `lua/close.ts`. */
export const close: Move = (records, [, , asked, retentionMs, given]) => {
  const { hashes, key, token } = records
  let how = asked as CloseMove['how']
  const answer = given
  const claim = records.find(CLAIM, key.c)
  const payment = records.find(PAYMENT, key.p)
  const recordedByUs = () =>
    !records.lists(claim!, 'orphaned') || hashes.get(claim!.name, 'recordedBy') === token
  const claimOurs = claim?.token === token && recordedByUs()
  const paymentOurs = payment?.token === token && (how !== 'release' || !key.c || claimOurs)

  const paymentMoved = paymentOurs && records.moveAlong(payment, CLOSING_EVENTS[how].payment)
  let claimMoved = false
  if (claimOurs) {
    if (answer === undefined && hashes.get(claim.name, 'answer') === null) how = 'release'
    claimMoved = records.moveAlong(claim, CLOSING_EVENTS[how].claim)
  }

  if (claimMoved && how === 'forfeit' && key.n && hashes.get(key.n, 'state') === null) {
    records.storeFinal({ ...claim!, name: key.n, state: 'completed' }, claim!.name, retentionMs!, answer)
  }
  if (claimMoved) records.keepFinal(claim!, retentionMs!, answer)
  if (paymentMoved) records.keep(payment)
  return (!key.c || claimMoved) && (!key.p || paymentMoved) ? 'closed' : 'superseded'
}
