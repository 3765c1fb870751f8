import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '../domain/x402.js'

/**
 * Signs exactly the requirements it is given, once. Two payments signed for equal terms in the same instant are two
 * transactions (a random note), never one presented twice. Keys do not leave it.
 */
export interface PaymentSigner {
  readonly address: string
  sign(challenge: PaymentRequired, accepted: PaymentRequirements): Promise<SignedPayment>
}

export interface SignedPayment {
  readonly payload: PaymentPayload
  readonly txId: string
  readonly firstValid: bigint
  readonly lastValid: bigint
}

/** Who holds the key: this process, a key service, a person's wallet. It is shown what it signs, and may refuse. */
export type Signer = ByteSigner | GroupSigner

/** Whoever signs bytes: a key service, a hardware module. */
export interface ByteSigner {
  /** The paying address. */
  readonly address: string
  /** A plain ed25519 signature (64 bytes) over exactly these bytes, which are `TX` and one transaction. */
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** What wallets offer (ARC-1), and the official x402 client takes. */
export interface GroupSigner {
  /** The paying address. */
  readonly address: string
  /** Given unsigned transactions, answers the signed ones at these indexes, and `null` at others. */
  signTransactions(
    transactions: Uint8Array[],
    indexesToSign: number[],
  ): Promise<readonly (Uint8Array | null)[]>
}
