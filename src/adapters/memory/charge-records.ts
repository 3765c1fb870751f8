/** One process. What the store keeps of a claim and of a payment. */
import type { ClaimDrawing, ClaimState } from '../../domain/machines/claim.machine.js'
import type { PaymentDrawing, PaymentState } from '../../domain/machines/payment.machine.js'
import type { Hold, Recorded } from '../../ports/charge-store.js'
import type { LifecycleRecord, LifecycleRecords } from './lifecycle-records.js'

export interface Claim extends LifecycleRecord<ClaimState> {
  readonly bodyHash: string
  kept?: {
    readonly recorded: Recorded
    /** The token that recorded it: not a successor's, and nobody's where a window covered the call. */
    readonly by?: string
  }
}

export interface Payment extends LifecycleRecord<PaymentState> {}

/** Everything that a move may look at or change, at the moment of the move. */
export interface Books {
  readonly claims: LifecycleRecords<ClaimDrawing, Claim>
  readonly payments: LifecycleRecords<PaymentDrawing, Payment>
  /** Calls that have recorded nothing yet, at most. */
  readonly callsMax: number
  readonly nowMs: number
}

/** A claim's name means something in its payer's slot only; a transaction id is one payment wherever it is presented. */
export function claimKey({ slot, claim }: Hold): string | undefined {
  return claim && JSON.stringify([slot, claim.name])
}

export function newClaim(hold: Hold, { name, bodyHash }: { name: string; bodyHash: string }): Claim {
  const key = claimKey({ ...hold, claim: { name, bodyHash } })!
  return { key, bodyHash, state: 'absent', token: hold.token, leaseEndsMs: 0, expiresAtMs: 0 }
}

export function newPayment(key: string, token: string): Payment {
  return { key, state: 'free', token, leaseEndsMs: 0, expiresAtMs: 0 }
}

/** Bytes are copied on their way in and out, as a wire would: no caller can change what another is answered. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}

export function copyOfRecorded({ answer, payment }: Recorded): Recorded {
  return { answer: copyOf(answer), ...(payment && { payment: { ...payment } }) }
}
