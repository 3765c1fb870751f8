/** One process. The records of claims and payments. */
import type { ClaimDrawing, ClaimState } from '../../domain/machines/claim.machine.js'
import type { PaymentDrawing, PaymentState } from '../../domain/machines/payment.machine.js'
import type { Hold, RecordedPayment } from '../../ports/charge-store.js'
import type { LifecycleRecord, LifecycleRecords } from './lifecycle-records.js'

export interface Claim extends LifecycleRecord<ClaimState> {
  readonly slot: string
  readonly bodyHash: string
  /** Whether its name is the payment's own. */
  readonly isOfPayment: boolean
  /** The caller that opened it, where only its address is known. */
  caller?: string | undefined
  kept?: Kept | undefined
}

export interface Kept {
  /** Absent after the owner's budget dropped it. */
  readonly answer?: Uint8Array
  readonly payment?: RecordedPayment | undefined
  /** The token of the call that recorded it. Absent where a window covered the call. */
  readonly by?: string | undefined
}

export interface Payment extends LifecycleRecord<PaymentState> {}

/** The records that a move reads and changes, and the time of the move. */
export interface ChargeRecords {
  readonly claims: LifecycleRecords<ClaimDrawing, Claim>
  readonly payments: LifecycleRecords<PaymentDrawing, Payment>
  /** The most calls that may be at work without having recorded anything. */
  readonly callsMax: number
  /** The most bytes of answers whose payments are not decided. */
  readonly settlingBytesMax: number
  readonly nowMs: number
}

/** A claim's name is unique within its payer's slot. A transaction id is unique by itself. */
export function claimKey({ slot, claim }: Hold): string | undefined {
  return claim && nameIn(slot, claim.name)
}

export function nameIn(slot: string, name: string): string {
  return JSON.stringify([slot, name])
}

export function newClaim(key: string, { slot, token, claim }: Hold): Claim {
  const { bodyHash, isOfPayment = false } = claim!
  return { key, slot, bodyHash, isOfPayment, state: 'absent', token, leaseEndsMs: 0, expiresAtMs: 0 }
}

export function newPayment(key: string, token: string): Payment {
  return { key, state: 'free', token, leaseEndsMs: 0, expiresAtMs: 0 }
}

/** Bytes are copied on their way in and out, so that no caller can change the answer of another. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}
