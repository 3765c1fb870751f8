/**
 * The charge store's decision: what a move answers, and the records that it leaves. Memory runs these functions; the scripts on
 * Redis are held to them by random histories.
 *
 * A store runs one at a time over its records and its own time, and stores all that it leaves, or nothing. The bounds of a store's
 * memory are not decided here.
 */
import { claimTable } from '../machines/claim.machine.js'
import { CLOSING_EVENTS, LAPSED_KEPT_MS } from '../machines/claim-and-payment.rules.js'
import { next } from '../state-machine/transition-table.js'
import { charged, findUnits, outlasting, reserve } from './balance-units.js'
import type {
  Closed,
  CloseMove,
  Hold,
  Opened,
  OpenMove,
  RecordMove,
  Resolved,
  ResolveMove,
  UnitsCounted,
} from './moves.js'
import {
  type Claim,
  claimAfter,
  claimLists,
  type Decision,
  findClaim,
  findPayment,
  holdClaim,
  holdPayment,
  isCompleted,
  leaving,
  NONE,
  type Payment,
  paymentAfter,
  paymentLists,
  type Records,
  unchanged,
  verdictOn,
} from './records.js'

export { drop, sell } from './balance-units.js'

export function open(records: Records, move: OpenMove, nowMs: number): Decision<Opened> {
  const claim = findClaim(records, move, nowMs)
  const payment = findPayment(records, move.payment, nowMs)
  const presented = verdictOn(payment, move)
  const filed = presented === 'spent' ? answerOfPayment(records, move, nowMs) : undefined
  if (filed) return unchanged(replay(filed))
  if (claim && (!move.isBearer || opensForBearer(claim, payment, move))) {
    if (claim.bodyHash !== move.claim!.bodyHash) return unchanged({ verdict: 'reused' })
    if (isCompleted(claim)) return unchanged(replay(claim))
    if (claim.token !== move.token && nowMs < claim.leaseEndsMs)
      return unchanged({ verdict: 'inProgress', retryAfterMs: claim.leaseEndsMs - nowMs })
    if (claimLists(claim, 'orphaned')) return takeOver(claim, move, nowMs)
  } else if (claim && presented === 'opened') return unchanged({ verdict: 'unsure' })
  if (presented === 'spent') return unchanged({ verdict: presented })
  if (presented === 'inUse')
    return unchanged({ verdict: presented, retryAfterMs: Math.max(0, payment!.leaseEndsMs - nowMs) })
  const event = claim ? 'reopened' : 'opened'
  const heldClaim = move.claim && holdClaim(claim, move, nowMs, event, move.caller)
  const heldPayment = move.payment ? holdPayment(payment, move, nowMs) : undefined
  if (heldClaim && move.take !== undefined)
    return reserve(records, move, move.take, claim, heldClaim, heldPayment, nowMs)
  return leaving({ verdict: 'opened' }, heldClaim, heldPayment)
}

/** Whether a caller of whom only the payment's bytes and an address are known may open the claim. */
function opensForBearer(
  claim: Claim,
  payment: Payment | undefined,
  { caller, payment: txId }: OpenMove,
): boolean {
  if (!payment) return false
  if (claimLists(claim, 'recorded')) return payment.token === claim.token
  // The call that recorded has ended it: it was never in doubt.
  if (isCompleted(claim) && claim.kept!.by === claim.token) return false
  return caller !== undefined && caller === claim.caller && claim.kept!.payment?.txId === txId
}

/**
 * The answer that a spent payment has under its own name, if the call gives one, else under the call's. It comes before the claim,
 * whose key another payment may have since.
 */
function answerOfPayment(records: Records, move: OpenMove, nowMs: number): Claim | undefined {
  const { answerName, claim, isBearer } = move
  if (isBearer || !claim) return undefined
  const filed = findClaim(records, move, nowMs, answerName)
  return filed?.bodyHash === claim.bodyHash && isCompleted(filed) ? filed : undefined
}

function replay({ kept }: Claim): Opened {
  const { answer, payment } = kept!
  if (answer) return { verdict: 'replayable', answer }
  return payment ? { verdict: 'notKept', txId: payment.txId } : { verdict: 'notKept' }
}

function takeOver(claim: Claim, { token, leaseMs }: OpenMove, nowMs: number): Decision<Opened> {
  const { answer, payment } = claim.kept!
  const recorded = payment ? { answer: answer!, payment } : { answer: answer! }
  const adopted = { ...claim, state: claimAfter(claim, 'orphaned'), token, leaseEndsMs: nowMs + leaseMs }
  return leaving({ verdict: 'orphaned', recorded }, adopted)
}

export function record(
  records: Records,
  move: RecordMove,
  nowMs: number,
): Decision<'recorded' | 'superseded'> {
  const { token, recorded, leaseMs } = move
  const claim = findClaim(records, move, nowMs)
  const payment = findPayment(records, move.payment, nowMs)
  if (move.claim && claim?.token !== token) return unchanged('superseded')
  if (move.payment && payment?.token !== token) return unchanged('superseded')
  const claimReady = !claim || claimLists(claim, 'recorded')
  const paymentReady = !payment || paymentLists(payment, 'recorded')
  if (!claimReady || !paymentReady) return recordAgain(claim, move)
  const leaseEndsMs = nowMs + leaseMs
  const recordedClaim = claim && {
    ...claim,
    state: claimAfter(claim, 'recorded'),
    leaseEndsMs,
    expiresAtMs: nowMs + move.claimTtlMs,
    kept: { answer: recorded.answer, payment: recorded.payment, by: token },
  }
  const recordedPayment = payment && {
    ...payment,
    state: paymentAfter(payment, 'recorded'),
    leaseEndsMs,
    expiresAtMs: nowMs + move.paymentTtlMs,
  }
  return leaving('recorded', recordedClaim, recordedPayment)
}

/** The later answer replaces the recorded one, until the claim has its outcome. */
function recordAgain(
  claim: Claim | undefined,
  { token, recorded }: RecordMove,
): Decision<'recorded' | 'superseded'> {
  if (!claim) return unchanged('recorded')
  if (claim.kept?.by !== token) return unchanged('superseded')
  if (!claimLists(claim, 'completed')) return unchanged('recorded')
  return leaving('recorded', { ...claim, kept: { ...claim.kept, answer: recorded.answer } })
}

/** Both or neither. */
export function renew(records: Records, hold: Hold, leaseMs: number, nowMs: number): Decision<boolean> {
  const claim = findClaim(records, hold, nowMs)
  const payment = findPayment(records, hold.payment, nowMs)
  if (hold.claim && !(claim?.token === hold.token && claimLists(claim, 'renewed'))) return unchanged(false)
  if (hold.payment && !(payment?.token === hold.token && paymentLists(payment, 'renewed')))
    return unchanged(false)
  const leaseEndsMs = nowMs + leaseMs
  // What is recorded has an expiry of its own. Before that, the lease decides.
  const lapsedKeptMs = leaseEndsMs + LAPSED_KEPT_MS
  const renewedClaim = claim && {
    ...claim,
    state: claimAfter(claim, 'renewed'),
    leaseEndsMs,
    expiresAtMs: claimLists(claim, 'recorded') ? lapsedKeptMs : claim.expiresAtMs,
  }
  const renewedPayment = payment && {
    ...payment,
    state: paymentAfter(payment, 'renewed'),
    leaseEndsMs,
    expiresAtMs: paymentLists(payment, 'recorded') ? lapsedKeptMs : payment.expiresAtMs,
  }
  const units = claim?.reserved === undefined ? undefined : findUnits(records, hold, nowMs)
  return leaving(true, renewedClaim, renewedPayment, units && outlasting(units, lapsedKeptMs))
}

export function resolve(records: Records, move: ResolveMove, nowMs: number): Decision<Resolved> {
  const claim = findClaim(records, move, nowMs)
  const presented = findPayment(records, move.payment, nowMs)
  if (claim?.token !== move.token) return unchanged('moved')
  if (isCompleted(claim)) return unchanged('completed')
  if (!claimLists(claim, 'orphaned')) {
    // This resolve is sent again: the first one has given the claim to this call.
    return unchanged(!move.payment || presented?.token === move.token ? 'opened' : 'moved')
  }
  if (claim.kept!.payment?.txId !== move.txId) return unchanged('moved')
  const recorded = findPayment(records, move.txId, nowMs)
  // The verdict counts for a payment that is still settling. A spent payment stays spent, whatever a node answers.
  const isDecided = recorded !== undefined && paymentLists(recorded, 'found')
  const decided = isDecided ? [{ ...recorded, state: paymentAfter(recorded, move.verdict) }] : NONE
  if (move.verdict === 'found') {
    const completed = { ...claim, state: claimAfter(claim, 'found'), expiresAtMs: nowMs + move.retentionMs }
    return { verdict: 'completed', claims: [completed], payments: decided }
  }
  const payment = isDecided && move.payment === move.txId ? undefined : presented
  const verdict = verdictOn(payment, move)
  if (verdict !== 'opened') {
    const released = { ...claim, state: claimAfter(claim, 'released') }
    return { verdict: verdict === 'spent' ? verdict : 'moved', claims: [released], payments: decided }
  }
  return {
    verdict,
    claims: [holdClaim(claim, move, nowMs, 'dead', claim.caller)],
    payments: move.payment ? [...decided, holdPayment(payment, move, nowMs)] : decided,
  }
}

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
  const { verdict, claims, payments, units } = close(records, move, nowMs)
  const { unused } = units ?? findUnits(records, move, nowMs) ?? {}
  return { verdict: { verdict, unused }, claims, payments, units }
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
