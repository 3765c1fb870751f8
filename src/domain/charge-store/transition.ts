/**
 * The charge store's decision: what a move answers, and the records that it leaves. Memory runs these functions; the scripts on
 * Redis are held to them by random histories.
 *
 * A store runs one at a time over its records and its own time, and stores all that it leaves, or nothing. The bounds of a store's
 * memory are not decided here.
 */
import { LAPSED_KEPT_MS } from '../machines/claim-and-payment.rules.js'
import { type Decision, leaving, NONE, unchanged } from './decision.js'
import type { LeasedHold, Opened, OpenMove, RecordMove, Resolved, ResolveMove } from './moves.js'
import {
  type Claim,
  claimAfter,
  claimLists,
  findClaim,
  findPayment,
  holdClaim,
  holdPayment,
  isCompleted,
  type Payment,
  paymentAfter,
  paymentLists,
  type Records,
  verdictOn,
} from './records.js'
import { findUnits, outlasting, reserve } from './units.js'

export { close, count } from './closing.js'
export { drop, look, sell } from './units.js'

export function open(records: Records, move: OpenMove, nowMs: number): Decision<Opened> {
  const claim = findClaim(records, move, nowMs)
  const payment = findPayment(records, move.payment, nowMs)
  const presented = verdictOn(payment, move)
  const filed = presented === 'spent' ? answerOfPayment(records, move, nowMs) : undefined
  if (filed) return unchanged(replay(filed))
  if (claim && (!move.isBearer || opensForBearer(claim, payment, move))) {
    if (claim.bodyHash !== move.claim!.bodyHash) return unchanged({ verdict: 'reused' })
    if (isCompleted(claim)) return unchanged(replay(claim))
    if (claim.token !== move.token && nowMs < claim.leaseEndsMs) {
      return unchanged({ verdict: 'inProgress', retryAfterMs: claim.leaseEndsMs - nowMs })
    }
    if (claimLists(claim, 'orphaned')) return takeOver(claim, move, nowMs)
  } else if (claim && presented === 'opened') return unchanged({ verdict: 'unsure' })
  if (presented === 'spent') return unchanged({ verdict: presented })
  if (presented === 'inUse') {
    return unchanged({ verdict: presented, retryAfterMs: Math.max(0, payment!.leaseEndsMs - nowMs) })
  }
  const event = claim ? 'reopened' : 'opened'
  const heldClaim = move.claim && holdClaim(claim, move, nowMs, event, move.caller)
  const heldPayment = move.payment ? holdPayment(payment, move, nowMs) : undefined
  if (heldClaim && move.take !== undefined)
    return reserve(records, { ...move, take: move.take }, claim, heldClaim, heldPayment, nowMs)
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
  if (isCompleted(claim) && (claim.kept!.by === undefined || claim.kept!.by === claim.token)) return false
  return caller !== undefined && caller === claim.caller && claim.kept!.payment?.txId === txId
}

/** The answer that a spent payment has under its own name. It comes before the claim, whose key another payment may have since. */
function answerOfPayment(records: Records, move: OpenMove, nowMs: number): Claim | undefined {
  const { answerName, claim, isBearer } = move
  if (isBearer || !claim || answerName === undefined) return undefined
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
export function renew(records: Records, move: LeasedHold, nowMs: number): Decision<boolean> {
  const claim = findClaim(records, move, nowMs)
  const payment = findPayment(records, move.payment, nowMs)
  if (move.claim && !(claim?.token === move.token && claimLists(claim, 'renewed'))) return unchanged(false)
  if (move.payment && !(payment?.token === move.token && paymentLists(payment, 'renewed')))
    return unchanged(false)
  const leaseEndsMs = nowMs + move.leaseMs
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
  const units = claim?.reserved === undefined ? undefined : findUnits(records, move, nowMs)
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
