import type { PaymentPayload } from '../domain/x402.js'

/**
 * Reads the signed transaction inside a payment payload, so that payments can be told apart.
 *
 * `txId` is computed over the canonical encoding of the decoded transaction, so the same payment in another encoding
 * (base64 padding, key order, white space, unsorted msgpack) has the same id. `undefined` means that the payload has
 * no readable signed payment transaction: nothing in it may be relied on. Never throws, whatever the payload.
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
  /** Base64 of the genesis hash that the transaction names. */
  readonly genesisHash: string | undefined
  /**
   * The payer's ed25519 signature in base64; `undefined` for other kinds of signature. The stores never hold it. It
   * is public once the payment landed.
   */
  readonly signature: string | undefined
  /**
   * Whether a transaction of the payment's group has this id. The other transactions' ids are computed on first use.
   * Never throws.
   */
  isOfGroup(txId: string): boolean
  /** Whether the ed25519 signature over these bytes is the payer's own. Computed on first use (about 150 µs). */
  proven(): boolean
}
