/** How a call's claim and payment are closed, and how what it cost is counted. */
import { claimTable } from '../machines/claim.machine.js'
import { CLOSING_EVENTS } from '../machines/claim-and-payment.rules.js'
import { next } from '../state-machine/transition-table.js'
import { type Decision, NONE, unchanged } from './decision.js'
import type { Closed, CloseMove, UnitsCounted } from './moves.js'
import {
  type Claim,
  claimAfter,
  claimLists,
  findClaim,
  findPayment,
  isCompleted,
  paymentAfter,
  paymentLists,
  type Records,
} from './records.js'
import { charged, findUnits } from './units.js'

export function close(records: Records, move: CloseMove, nowMs: number): Decision<Closed> {
  const claim = findClaim(records, move, nowMs)
  const payment = findPayment(records, move.payment, nowMs)
  // A call that took a recorded claim over may resolve it but not close it: another call recorded the answer.
  const claimOurs =
    claim?.token === move.token && (!claimLists(claim, 'orphaned') || claim.kept!.by === move.token)
  // This count is sent again.
  if (claimOurs && move.charge !== undefined && isCompleted(claim)) return unchanged('closed')
  // Another call took the claim over and asks the chain about this payment. Our release would free the payment too early.
  const paymentOurs = payment?.token === move.token && (move.how !== 'release' || !move.claim || claimOurs)
  const claims = claimOurs ? closeClaim(records, claim, move, nowMs) : NONE
  const event = paymentOurs && CLOSING_EVENTS[move.how].payment.find(event => paymentLists(payment, event))
  const payments = event ? [{ ...payment!, state: paymentAfter(payment!, event) }] : NONE
  const isClosed = (!move.claim || claims.length > 0) && (!move.payment || payments.length > 0)
  const isCounted = move.charge !== undefined && claims[0] !== undefined && isCompleted(claims[0])
  const units = isCounted ? charged(findUnits(records, move, nowMs), move.charge) : undefined
  return { verdict: isClosed ? 'closed' : 'superseded', claims, payments, units }
}

export function count(records: Records, move: CloseMove, nowMs: number): Decision<UnitsCounted> {
  const { verdict, ...left } = close(records, move, nowMs)
  const units = left.units ?? findUnits(records, move, nowMs)
  return { ...left, verdict: units ? { verdict, unused: units.unused } : { verdict } }
}

function closeClaim(records: Records, claim: Claim, move: CloseMove, nowMs: number): readonly Claim[] {
  const { answer, answerName, charge, retentionMs } = move
  const keeps = answer !== undefined || (charge !== undefined && !claim.kept)
  const kept = keeps ? { answer, payment: claim.kept?.payment, by: claim.kept?.by } : claim.kept
  // Without an answer there is nothing to replay, so the key is released. What was charged for stays.
  const how = kept ? move.how : 'release'
  const event = CLOSING_EVENTS[how].claim.find(event => claimLists(claim, event))
  if (!event) return NONE
  const state = claimAfter(claim, event)
  const closed = { ...claim, state, kept, expiresAtMs: nowMs + retentionMs, reserved: undefined }
  if (how !== 'forfeit' || answerName === undefined) return [closed]
  // The answer lost its key, and is kept under its payment's own name. A call that stopped there before it recorded makes room.
  const named = findClaim(records, move, nowMs, answerName)
  if (named && !(claimLists(named, 'recorded') && named.leaseEndsMs <= nowMs)) return [closed]
  const filed = next(claimTable, claimTable.initial, 'kept')
  return [closed, { ...closed, name: answerName, state: filed, isOfPayment: true, caller: undefined }]
}
