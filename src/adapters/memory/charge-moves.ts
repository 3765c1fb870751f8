/** One process. Four of the charge store's moves, each a synchronous step over its records. */
import type { PaymentState } from '../../domain/machines/payment.machine.js'
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
import { type Books, type Claim, claimKey, copyOf, copyOfRecorded, type Payment } from './charge-records.js'

/** What is said of a payment to everybody but its holder. */
const TO_OTHERS = {
  free: 'opened',
  held: 'inUse',
  lapsed: 'opened',
  settling: 'inUse',
  spent: 'spent',
} as const satisfies Record<PaymentState, Opened['verdict']>

export function open(books: Books, move: OpenMove): Opened {
  const claim = books.claims.find(claimKey(move), books.nowMs)
  const payment = books.payments.find(move.payment, books.nowMs)
  const refused = (claim && openClaim(books, move, claim)) ?? openPayment(books, move, payment)
  if (refused) return refused
  if (!hasRoom(books, move, { claim, payment })) return { verdict: 'full' }
  holdClaim(books, move, claim, claim ? ['reopened'] : ['opened'])
  holdPayment(books, move)
  return { verdict: 'opened' }
}

function openClaim({ claims, nowMs }: Books, move: OpenMove, claim: Claim): Opened | undefined {
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

function openPayment(books: Books, move: OpenMove, payment: Payment | undefined): Opened | undefined {
  const verdict = presented(books, move, payment)
  if (verdict === 'opened') return undefined
  if (verdict === 'spent') return { verdict }
  return { verdict, retryAfterMs: Math.max(0, payment!.leaseEndsMs - books.nowMs) }
}

export function record({ claims, payments, nowMs }: Books, move: RecordMove): 'recorded' | 'superseded' {
  const claim = claims.find(claimKey(move), nowMs)
  const payment = payments.find(move.payment, nowMs)
  if (move.claim && claim?.token !== move.token) return 'superseded'
  if (move.payment && payment?.token !== move.token) return 'superseded'
  const claimReady = !claim || claims.lists(claim, 'recorded')
  const paymentReady = !payment || payments.lists(payment, 'recorded')
  if (!claimReady || !paymentReady) return !claim || claim.kept?.by === move.token ? 'recorded' : 'superseded'
  if (payment) {
    payments.move(payment, 'recorded')
    payment.leaseEndsMs = nowMs + move.leaseMs
    payments.expireAt(payment, nowMs + move.paymentTtlMs)
  }
  if (claim) {
    claims.move(claim, 'recorded')
    claim.kept = { recorded: copyOfRecorded(move.recorded), by: move.token }
    claim.leaseEndsMs = nowMs + move.leaseMs
    claims.expireAt(claim, nowMs + move.claimTtlMs)
  }
  return 'recorded'
}

/**
 * The event for each way of closing: the first that the record's state lists, and none where it lists none. A call that
 * a window covered recorded nothing: its claim is `served`, and a payment that came along is given back.
 */
const CLOSED_BY = {
  complete: { claim: ['completed', 'served'], payment: ['completed', 'released'] },
  forfeit: { claim: ['forfeited'], payment: ['completed', 'released'] },
  release: { claim: ['released'], payment: ['released'] },
} as const satisfies Record<CloseMove['how'], unknown>

export function close({ claims, payments, nowMs }: Books, move: CloseMove): Closed {
  const claim = claims.find(claimKey(move), nowMs)
  const payment = payments.find(move.payment, nowMs)
  // A call that took a recorded claim over may resolve it and never close it: the answer in it is not its own.
  const claimOurs =
    claim?.token === move.token && (!claims.lists(claim, 'orphaned') || claim.kept!.by === move.token)
  // The call that took the claim over decides by the chain's word what its payment is: our release would free it early.
  const paymentOurs = payment?.token === move.token && (move.how !== 'release' || !move.claim || claimOurs)
  const paymentMoved = paymentOurs && payments.moveAlong(payment, CLOSED_BY[move.how].payment)
  const claimMoved = claimOurs && closeClaim(claims, claim, move, nowMs)
  return (!move.claim || claimMoved) && (!move.payment || paymentMoved) ? 'closed' : 'superseded'
}

function closeClaim(claims: Books['claims'], claim: Claim, move: CloseMove, nowMs: number): boolean {
  if (move.answer) claim.kept ??= { recorded: { answer: copyOf(move.answer) } }
  // Without an answer there is nothing to replay, so the key is given back.
  const how = claim.kept ? move.how : 'release'
  const moved = claims.moveAlong(claim, CLOSED_BY[how].claim)
  if (moved) claims.expireAt(claim, nowMs + move.windowMs)
  return moved
}

export function resolve(books: Books, move: ResolveMove): Resolved {
  const { claims, payments, nowMs } = books
  const claim = claims.find(claimKey(move), nowMs)
  if (claim?.token !== move.token) return 'moved'
  if (isCompleted(claims, claim)) return 'completed'
  if (!claims.lists(claim, 'orphaned')) return resolvedBefore(books, move)
  if (claim.kept!.recorded.payment?.txId !== move.txId) return 'moved'
  const recorded = payments.find(move.txId, nowMs)
  // Only a payment that is still settling waits for this verdict; a spent one stays spent whatever a node says.
  if (recorded && payments.lists(recorded, 'found')) payments.move(recorded, move.verdict)
  if (move.verdict === 'found') {
    claims.move(claim, 'found')
    claims.expireAt(claim, nowMs + move.windowMs)
    return 'completed'
  }
  const verdict = presented(books, move, payments.find(move.payment, nowMs))
  if (verdict !== 'opened') {
    claims.move(claim, 'released')
    return verdict === 'spent' ? 'spent' : 'moved'
  }
  holdClaim(books, move, claim, ['dead'])
  holdPayment(books, move)
  return 'opened'
}

/** The answer to a resolve that was sent before, and by which the claim is at work for this call. */
function resolvedBefore({ payments, nowMs }: Books, move: ResolveMove): Resolved {
  const payment = payments.find(move.payment, nowMs)
  return !move.payment || payment?.token === move.token ? 'opened' : 'moved'
}

function presented({ payments }: Books, hold: Hold, payment: Payment | undefined) {
  if (!payment) return 'opened'
  if (payment.token === hold.token && payments.lists(payment, 'opened')) return 'opened'
  return TO_OTHERS[payment.state]
}

function isCompleted(claims: Books['claims'], claim: Claim): boolean {
  return claims.lists(claim, 'evicted')
}
