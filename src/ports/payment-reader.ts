import type { Network } from '../domain/network.js'
import type { PaymentPayload } from '../domain/x402.js'

/**
 * Reads the signed transaction inside a payment payload, so that one payment can be told from another.
 *
 * Promise: `txId` is computed over the canonical encoding of the decoded transaction, so the same payment re-encoded
 * (base64 padding, key order, white space, unsorted msgpack) reads as the same id. `undefined` means that no signed
 * payment transaction can be read: nothing about such a payload may be relied on. Never throws, whatever the payload.
 */
export interface PaymentReader {
  read(payload: PaymentPayload): ReadPayment | undefined
}

export interface ReadPayment {
  readonly txId: string
  readonly payer: string
  readonly receiver: string
  readonly amount: bigint
  /** Decimal asset id. */
  readonly asset: string
  readonly firstValid: bigint
  readonly lastValid: bigint
  /** The network whose genesis hash the transaction names; `undefined` for any other chain. */
  readonly network: Network | undefined
  /** The payer's ed25519 signature in base64; `undefined` for other kinds. In no store of ours; public once it landed. */
  readonly signature: string | undefined
  /** Whether a transaction of the payment's group has this id; the others' ids are worked out on first use. Never throws. */
  isOfGroup(txId: string): boolean
  /** Whether the ed25519 signature is the payer's own over these bytes. Computed on first use (about 150 µs). */
  proven(): boolean
}
