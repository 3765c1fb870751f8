/** One process. Taking a claim and a payment for a call under a lease, and renewing that lease. */
import type { Hold } from '../../ports/charge-store.js'
import { type Books, type Claim, claimKey, newClaim, newPayment, type Payment } from './charge-records.js'
import type { LifecycleRecord } from './lifecycle-records.js'

/** How long a lapsed holder may still record, if nobody took its place, before its record is collected. */
const LAPSED_KEPT_MS = 60_000

type LeasedHold = Hold & { readonly leaseMs: number }

interface Found {
  readonly claim: Claim | undefined
  readonly payment: Payment | undefined
}

/** Moves the claim along `events`, the last of which puts it to work for this call. */
export function holdClaim(
  { claims, nowMs }: Books,
  hold: LeasedHold,
  found: Claim | undefined,
  events: readonly string[],
): void {
  if (!hold.claim) return
  const claim = found ?? newClaim(hold, hold.claim)
  for (const event of events) claims.move(claim, event)
  claim.token = hold.token
  claim.kept = undefined
  claim.leaseEndsMs = nowMs + hold.leaseMs
  claims.expireAt(claim, claim.leaseEndsMs + LAPSED_KEPT_MS)
}

export function holdPayment({ payments, nowMs }: Books, hold: LeasedHold): void {
  if (!hold.payment) return
  const payment = payments.find(hold.payment, nowMs) ?? newPayment(hold.payment, hold.token)
  payments.move(payment, 'opened')
  payment.token = hold.token
  payment.leaseEndsMs = nowMs + hold.leaseMs
  payments.expireAt(payment, payment.leaseEndsMs + LAPSED_KEPT_MS)
}

/** Room for calls at work. What was recorded is not counted: nothing paid ever makes way for what is not paid. */
export function hasRoom({ claims, payments, callsMax }: Books, hold: Hold, found: Found): boolean {
  if (hold.claim && !found.claim && claims.unrecorded >= callsMax) return false
  return !hold.payment || found.payment !== undefined || payments.unrecorded < callsMax
}

/** Renews the whole hold or nothing of it; says whether it did. */
export function renewHold(books: Books, hold: LeasedHold): boolean {
  const { claims, payments, nowMs } = books
  const claim = claims.find(claimKey(hold), nowMs)
  const payment = payments.find(hold.payment, nowMs)
  const isOurs = (record: LifecycleRecord<string> | undefined) => record?.token === hold.token
  if (hold.claim && !(isOurs(claim) && claims.lists(claim!, 'renewed'))) return false
  if (hold.payment && !(isOurs(payment) && payments.lists(payment!, 'renewed'))) return false
  if (claim) {
    claims.move(claim, 'renewed')
    claim.leaseEndsMs = nowMs + hold.leaseMs
    if (claims.lists(claim, 'recorded')) claims.expireAt(claim, claim.leaseEndsMs + LAPSED_KEPT_MS)
  }
  if (payment) {
    payments.move(payment, 'renewed')
    payment.leaseEndsMs = nowMs + hold.leaseMs
    if (payments.lists(payment, 'recorded')) payments.expireAt(payment, payment.leaseEndsMs + LAPSED_KEPT_MS)
  }
  return true
}
