import type { RecordedPayment } from '../domain/charge-store/moves.js'
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '../domain/x402.js'

/**
 * Signs exactly the given requirements, once. Two payments for equal terms in the same instant are two transactions
 * (each has a random note), never one that is presented twice. The keys stay inside the signer.
 */
export interface PaymentSigner {
  readonly address: string
  sign(challenge: PaymentRequired, accepted: PaymentRequirements): Promise<SignedPayment>
  /**
   * Signs a text that proves who paid, with the key of the payments: over `MX`, with which no transaction begins, and the text.
   * `undefined` where the key's holder does not sign bytes, or signed something else.
   */
  signText?(text: Uint8Array): Promise<Uint8Array | undefined>
}

export interface SignedPayment extends RecordedPayment {
  readonly payload: PaymentPayload
}

/** The holder of the key: this process, a key service, a person's wallet. It sees what it signs, and may refuse. */
export type Signer = ByteSigner | GroupSigner

/** A signer of bytes: a key service, a hardware module. */
export interface ByteSigner {
  /** The paying address. */
  readonly address: string
  /** A plain ed25519 signature (64 bytes) over exactly these bytes, which are `TX` and one transaction. */
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
  /** As for a {@link GroupSigner}. */
  signBytes?(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** A signer of transaction groups: wallets offer it (ARC-1), and the official x402 client accepts it. */
export interface GroupSigner {
  /**
   * Signs as algosdk's `signBytes`: `MX` and these bytes, which is never a transaction. With it, the client proves to a seller who
   * paid where an answer that was paid for was lost, and gets that answer. Without it, it does not.
   */
  signBytes?(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
  /** The paying address. */
  readonly address: string
  /** Takes unsigned transactions. Returns the signed ones at these indexes, and `null` at the others. */
  signTransactions(
    transactions: Uint8Array[],
    indexesToSign: number[],
  ): Promise<readonly (Uint8Array | null)[]>
}
