import type { PaymentPayload, PaymentRequirements } from '../domain/x402.js'

/**
 * The three verbs of an x402 facilitator. A refusal, an outage and an answer that decides nothing are different
 * verdicts, because only the first may be told to a payer as "no". Nothing here throws or retries.
 */
export interface Facilitator {
  readonly url: string

  /** What the facilitator last said it supports for our network, at once where it is known; `undefined` until it has ever said so. */
  supported(): Supported | undefined | Promise<Supported | undefined>

  /** Asked about *our* requirements, never about the payer's copy of them. Moves no money. */
  verify(payment: PaymentPayload, requirements: PaymentRequirements): Promise<Verification>

  /**
   * Submits the payment. Idempotent by the payment itself: a group lands only once, so the same payload may be sent
   * again after `unknown`. `refused` means that nothing was submitted by this call: it is said only for verdicts that
   * are given before anything is submitted. It decides nothing about an earlier call.
   */
  settle(payment: PaymentPayload, requirements: PaymentRequirements): Promise<Settlement>
}

export interface Supported {
  /** The network id exactly as the facilitator spells it; used when speaking to it. */
  readonly network: string
  /** The address that sponsors network fees, where the facilitator offers to. */
  readonly feePayer?: string
}

export type Verification =
  | { readonly verdict: 'valid'; readonly payer?: string }
  | { readonly verdict: 'refused'; readonly reason: string }
  /** The payment is in the ledger already, by whatever name the facilitator calls it. */
  | { readonly verdict: 'spent'; readonly reason: string }
  /** `down`: the trouble is the facilitator's own, whatever payment it is asked about. */
  | { readonly verdict: 'unreachable'; readonly cause: string; readonly down?: boolean }

export type Settlement =
  | {
      readonly verdict: 'settled'
      readonly txId?: string
      readonly network?: string
      readonly payer?: string
    }
  | { readonly verdict: 'refused'; readonly reason: string }
  /** In the ledger or on its way there, perhaps by an earlier attempt of ours: the chain says what became of it. */
  | { readonly verdict: 'spent'; readonly reason: string }
  | { readonly verdict: 'unknown'; readonly cause: string }
