/** One process. Taking a claim and a payment for a call, under a lease. */
import type { Hold } from '../../ports/charge-store.js'
import { type Books, type Claim, newClaim, newPayment } from './charge-records.js'

/** How long a lapsed holder may still record, if nobody took its place, before its record is collected. */
const LAPSED_KEPT_MS = 60_000

type LeasedHold = Hold & { readonly leaseMs: number }

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

/** Completed claims only make way: an unfinished one protects money that may be moving. */
export function makeRoom({ claims, claimsMax }: Books): boolean {
  return claims.size < claimsMax || claims.evictOne()
}
