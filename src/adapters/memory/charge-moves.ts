/** One process. Four of the charge store's moves. Each is one synchronous step. */
import { CLOSING_EVENTS, VERDICT_FOR_OTHERS } from '../../domain/machines/claim-and-payment.rules.js'
import type {
  Closed,
  CloseMove,
  Hold,
  Opened,
  OpenMove,
  RecordMove,
  Resolved,
  ResolveMove,
} from '../../ports/charge-store.js'
import { hasRoom, holdClaim, holdPayment } from './charge-holds.js'
import {
  type ChargeRecords,
  type Claim,
  claimKey,
  copyOf,
  copyOfRecorded,
  type Payment,
} from './charge-records.js'

export function open(records: ChargeRecords, move: OpenMove): Opened {
  const claim = records.claims.find(claimKey(move), records.nowMs)
  const payment = records.payments.find(move.payment, records.nowMs)
  const refused = (claim && openClaim(records, move, claim)) ?? openPayment(records, move, payment)
  if (refused) return refused
  if (!hasRoom(records, move, { claim, payment })) return { verdict: 'full' }
  holdClaim(records, move, claim, claim ? ['reopened'] : ['opened'])
  holdPayment(records, move)
  return { verdict: 'opened' }
}

function openClaim({ claims, nowMs }: ChargeRecords, move: OpenMove, claim: Claim): Opened | undefined {
  if (claim.bodyHash !== move.claim!.bodyHash) return { verdict: 'reused' }
  if (isCompleted(claims, claim)) {
    return { verdict: 'replayable', answer: copyOf(claim.kept!.recorded.answer) }
  }
  if (claim.token !== move.token && nowMs < claim.leaseEndsMs) {
    return { verdict: 'inProgress', retryAfterMs: claim.leaseEndsMs - nowMs }
  }
  if (!claims.lists(claim, 'orphaned')) return undefined
  claims.move(claim, 'orphaned')
  claim.token = move.token
  claim.leaseEndsMs = nowMs + move.leaseMs
  return { verdict: 'orphaned', recorded: copyOfRecorded(claim.kept!.recorded) }
}

function openPayment(
  records: ChargeRecords,
  move: OpenMove,
  payment: Payment | undefined,
): Opened | undefined {
  const verdict = presented(records, move, payment)
  if (verdict === 'opened') return undefined
  if (verdict === 'spent') return { verdict }
  return { verdict, retryAfterMs: Math.max(0, payment!.leaseEndsMs - records.nowMs) }
}

export function record(
  { claims, payments, nowMs }: ChargeRecords,
  move: RecordMove,
): 'recorded' | 'superseded' {
  const claim = claims.find(claimKey(move), nowMs)
  const payment = payments.find(move.payment, nowMs)
  if (move.claim && claim?.token !== move.token) return 'superseded'
  if (move.payment && payment?.token !== move.token) return 'superseded'
  const claimReady = !claim || claims.lists(claim, 'recorded')
  const paymentReady = !payment || payments.lists(payment, 'recorded')
  if (!claimReady || !paymentReady) return recordAgain(claim, move, claims)
  if (payment) {
    payments.move(payment, 'recorded')
    payment.leaseEndsMs = nowMs + move.leaseMs
    payments.expireAt(payment, nowMs + move.paymentTtlMs)
  }
  if (claim) {
    claim.kept = { recorded: copyOfRecorded(move.recorded), by: move.token }
    claims.move(claim, 'recorded')
    claim.leaseEndsMs = nowMs + move.leaseMs
    claims.expireAt(claim, nowMs + move.claimTtlMs)
  }
  return 'recorded'
}

/** The later answer replaces the recorded one, until the claim has its outcome. */
function recordAgain(
  claim: Claim | undefined,
  { token, recorded }: RecordMove,
  claims: ChargeRecords['claims'],
): 'recorded' | 'superseded' {
  if (!claim) return 'recorded'
  if (claim.kept?.by !== token) return 'superseded'
  if (claims.lists(claim, 'completed')) {
    claim.kept = { recorded: { ...claim.kept.recorded, answer: copyOf(recorded.answer) }, by: token }
    claims.move(claim, 'renewed')
  }
  return 'recorded'
}

export function close({ claims, payments, nowMs }: ChargeRecords, move: CloseMove): Closed {
  const claim = claims.find(claimKey(move), nowMs)
  const payment = payments.find(move.payment, nowMs)
  // A call that took a recorded claim over may resolve it but not close it: another call recorded the answer.
  const claimOurs =
    claim?.token === move.token && (!claims.lists(claim, 'orphaned') || claim.kept!.by === move.token)
  // Another call took the claim over and asks the chain about this payment. Our release would free the payment too early.
  const paymentOurs = payment?.token === move.token && (move.how !== 'release' || !move.claim || claimOurs)
  const paymentMoved = paymentOurs && payments.moveAlong(payment, CLOSING_EVENTS[move.how].payment)
  const claimMoved = claimOurs && closeClaim(claims, claim, move, nowMs)
  return (!move.claim || claimMoved) && (!move.payment || paymentMoved) ? 'closed' : 'superseded'
}

function closeClaim(claims: ChargeRecords['claims'], claim: Claim, move: CloseMove, nowMs: number): boolean {
  if (move.answer && !isCompleted(claims, claim)) {
    claim.kept = { ...claim.kept, recorded: { ...claim.kept?.recorded, answer: copyOf(move.answer) } }
  }
  // Without an answer there is nothing to replay, so the key is released.
  const how = claim.kept ? move.how : 'release'
  const moved = claims.moveAlong(claim, CLOSING_EVENTS[how].claim)
  if (moved) claims.expireAt(claim, nowMs + move.retentionMs)
  return moved
}

export function resolve(records: ChargeRecords, move: ResolveMove): Resolved {
  const { claims, payments, nowMs } = records
  const claim = claims.find(claimKey(move), nowMs)
  if (claim?.token !== move.token) return 'moved'
  if (isCompleted(claims, claim)) return 'completed'
  if (!claims.lists(claim, 'orphaned')) return resolvedBefore(records, move)
  if (claim.kept!.recorded.payment?.txId !== move.txId) return 'moved'
  const recorded = payments.find(move.txId, nowMs)
  // The verdict counts for a payment that is still settling. A spent payment stays spent, whatever a node answers.
  if (recorded && payments.lists(recorded, 'found')) payments.move(recorded, move.verdict)
  if (move.verdict === 'found') {
    claims.move(claim, 'found')
    claims.expireAt(claim, nowMs + move.retentionMs)
    return 'completed'
  }
  const verdict = presented(records, move, payments.find(move.payment, nowMs))
  if (verdict !== 'opened') {
    claims.move(claim, 'released')
    return verdict === 'spent' ? 'spent' : 'moved'
  }
  holdClaim(records, move, claim, ['dead'])
  holdPayment(records, move)
  return 'opened'
}

/** The answer to a resolve that is sent again: the first one has given the claim to this call. */
function resolvedBefore({ payments, nowMs }: ChargeRecords, move: ResolveMove): Resolved {
  const payment = payments.find(move.payment, nowMs)
  return !move.payment || payment?.token === move.token ? 'opened' : 'moved'
}

function presented({ payments }: ChargeRecords, hold: Hold, payment: Payment | undefined) {
  if (!payment) return 'opened'
  if (payment.token === hold.token && payments.lists(payment, 'opened')) return 'opened'
  return VERDICT_FOR_OTHERS[payment.state]
}

function isCompleted(claims: ChargeRecords['claims'], claim: Claim): boolean {
  return claims.lists(claim, 'evicted')
}
