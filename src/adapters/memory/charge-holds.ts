/** One process. Gives a call the lease of a claim and a payment, and renews that lease. */
import { LAPSED_KEPT_MS } from '../../domain/machines/claim-and-payment.rules.js'
import type { Hold } from '../../ports/charge-store.js'
import {
  type ChargeRecords,
  type Claim,
  claimKey,
  newClaim,
  newPayment,
  type Payment,
} from './charge-records.js'
import type { LifecycleRecord } from './lifecycle-records.js'

type LeasedHold = Hold & { readonly leaseMs: number }

interface Found {
  readonly claim: Claim | undefined
  readonly payment: Payment | undefined
}

/** Applies `events` to the claim. The last of them gives the claim to this call. */
export function holdClaim(
  { claims, nowMs }: ChargeRecords,
  hold: LeasedHold,
  found: Claim | undefined,
  events: readonly string[],
): void {
  if (!hold.claim) return
  const claim = found ?? newClaim(claimKey(hold)!, hold)
  for (const event of events) claims.move(claim, event)
  claim.token = hold.token
  claim.kept = undefined
  claim.leaseEndsMs = nowMs + hold.leaseMs
  claims.expireAt(claim, claim.leaseEndsMs + LAPSED_KEPT_MS)
}

export function holdPayment({ payments, nowMs }: ChargeRecords, hold: LeasedHold): void {
  if (!hold.payment) return
  const payment = payments.find(hold.payment, nowMs) ?? newPayment(hold.payment, hold.token)
  payments.move(payment, 'opened')
  payment.token = hold.token
  payment.leaseEndsMs = nowMs + hold.leaseMs
  payments.expireAt(payment, payment.leaseEndsMs + LAPSED_KEPT_MS)
}

/**
 * Whether one more call may be at work. There are two bounds: calls that have recorded nothing, and the bytes of answers whose
 * payments are not decided. Such answers must stay, so when they fill the memory, no new call may begin.
 */
export function hasRoom(records: ChargeRecords, hold: Hold, found: Found): boolean {
  const { claims, payments, callsMax, settlingBytesMax } = records
  const isFull = claims.unrecorded >= callsMax || claims.settlingBytes >= settlingBytesMax
  if (hold.claim && !found.claim && isFull) return false
  return !hold.payment || found.payment !== undefined || payments.unrecorded < callsMax
}

/** Renews the claim and the payment together, or neither. Returns whether it renewed them. */
export function renewHold(records: ChargeRecords, hold: LeasedHold): boolean {
  const { claims, payments, nowMs } = records
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
