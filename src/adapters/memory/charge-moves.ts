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
  nameIn,
  newClaim,
  type Payment,
} from './charge-records.js'

export function open(records: ChargeRecords, move: OpenMove): Opened {
  const { claims, payments, nowMs } = records
  const claim = claims.find(claimKey(move), nowMs)
  const payment = payments.find(move.payment, nowMs)
  const seen = claim && move.isBearer ? seenByBearer(records, move, claim, payment) : claim
  if (seen === 'unsure') return { verdict: 'unsure' }
  const refused =
    answerOf(records, move, payment) ??
    (seen && openClaim(records, move, seen)) ??
    openPayment(records, move, payment)
  if (refused) return refused
  if (!hasRoom(records, move, { claim, payment })) return { verdict: 'full' }
  holdClaim(records, move, claim, claim ? ['reopened'] : ['opened'])
  holdPayment(records, move)
  if (move.claim) claims.find(claimKey(move), nowMs)!.caller = move.caller
  return { verdict: 'opened' }
}

/** `undefined`: to this caller the claim counts as absent. */
function seenByBearer(
  records: ChargeRecords,
  move: OpenMove,
  claim: Claim,
  payment: Payment | undefined,
): Claim | 'unsure' | undefined {
  if (!claim.kept && payment?.token === claim.token) return claim
  const { caller } = move
  const isInDoubt =
    claim.kept?.by !== undefined && (!isCompleted(records.claims, claim) || claim.kept.by !== claim.token)
  const isSame = caller !== undefined && caller === claim.caller && claim.kept?.payment?.txId === move.payment
  if (payment && isInDoubt && isSame) return claim
  return presented(records, move, payment) === 'opened' ? 'unsure' : undefined
}

/** The answer that a spent payment has under its own name. It comes before the claim, whose key another payment may have since. */
function answerOf(records: ChargeRecords, move: OpenMove, payment: Payment | undefined): Opened | undefined {
  const { claims, nowMs } = records
  const { slot, claim: asked, answerName, isBearer } = move
  if (isBearer || !asked || answerName === undefined) return undefined
  if (presented(records, move, payment) !== 'spent') return undefined
  const kept = claims.find(nameIn(slot, answerName), nowMs)
  return kept?.bodyHash === asked.bodyHash && isCompleted(claims, kept) ? replay(kept) : undefined
}

function replay({ kept }: Claim): Opened {
  const { answer, payment } = kept!
  if (answer) return { verdict: 'replayable', answer: copyOf(answer) }
  return { verdict: 'notKept', ...(payment && { txId: payment.txId }) }
}

function openClaim({ claims, nowMs }: ChargeRecords, move: OpenMove, claim: Claim): Opened | undefined {
  if (claim.bodyHash !== move.claim!.bodyHash) return { verdict: 'reused' }
  if (isCompleted(claims, claim)) return replay(claim)
  if (claim.token !== move.token && nowMs < claim.leaseEndsMs) {
    return { verdict: 'inProgress', retryAfterMs: claim.leaseEndsMs - nowMs }
  }
  if (!claims.lists(claim, 'orphaned')) return undefined
  claims.move(claim, 'orphaned')
  claim.token = move.token
  claim.leaseEndsMs = nowMs + move.leaseMs
  const { answer, payment } = claim.kept!
  return {
    verdict: 'orphaned',
    recorded: { answer: copyOf(answer!), ...(payment && { payment: { ...payment } }) },
  }
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
    const { answer, payment } = move.recorded
    claim.kept = { answer: copyOf(answer), payment: payment && { ...payment }, by: move.token }
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
    claim.kept = { ...claim.kept, answer: copyOf(recorded.answer) }
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
  if (move.answer && !isCompleted(claims, claim)) claim.kept = { ...claim.kept, answer: copyOf(move.answer) }
  // Without an answer there is nothing to replay, so the key is released.
  const how = claim.kept ? move.how : 'release'
  const moved = claims.moveAlong(claim, CLOSING_EVENTS[how].claim)
  if (moved) claims.expireAt(claim, nowMs + move.retentionMs)
  if (moved && how === 'forfeit' && move.answerName !== undefined) {
    fileUnder(nameIn(move.slot, move.answerName), claims, claim, move, nowMs)
  }
  return moved
}

/** The answer lost its key, and is kept under its payment's own name. */
function fileUnder(
  key: string,
  claims: ChargeRecords['claims'],
  { bodyHash, kept }: Claim,
  move: CloseMove,
  nowMs: number,
): void {
  if (claims.find(key, nowMs)) return
  const filed = newClaim(key, { ...move, claim: { name: '', bodyHash, isOfPayment: true } })
  filed.kept = kept
  claims.move(filed, 'kept')
  claims.expireAt(filed, nowMs + move.retentionMs)
}

export function resolve(records: ChargeRecords, move: ResolveMove): Resolved {
  const { claims, payments, nowMs } = records
  const claim = claims.find(claimKey(move), nowMs)
  if (claim?.token !== move.token) return 'moved'
  if (isCompleted(claims, claim)) return 'completed'
  if (!claims.lists(claim, 'orphaned')) return resolvedBefore(records, move)
  if (claim.kept!.payment?.txId !== move.txId) return 'moved'
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
