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
