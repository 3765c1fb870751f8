import type { PaymentPayload, PaymentRequirements } from '../domain/x402.js'

/**
 * The three operations of an x402 facilitator. A refusal, an outage and an answer that decides nothing are different
 * verdicts, because only a refusal may be reported to a payer as "no". No method throws or retries.
 */
export interface Facilitator {
  readonly url: string

  /**
   * What the facilitator last reported as supported for this network, without waiting where it is known. `undefined`
   * until it has reported it once.
   */
  supported(): Supported | undefined | Promise<Supported | undefined>

  /**
   * Verifies the payment against *our* requirements, never against the payer's copy of them. Moves no money.
   *
   * @param sponsor who must sign before the payment's group is complete, as the signed group says it
   */
  verify(payment: PaymentPayload, requirements: PaymentRequirements, sponsor?: string): Promise<Verification>

  /**
   * Submits the payment. The payment itself makes this idempotent: a group lands only once, so the same payload may
   * be sent again after `unknown`. `refused` means that this call submitted nothing: only verdicts that come before
   * submission say it. It decides nothing about an earlier call.
   */
  settle(payment: PaymentPayload, requirements: PaymentRequirements): Promise<Settlement>
}

export interface Supported {
  /** The network id exactly as the facilitator spells it; requests to the facilitator use it. */
  readonly network: string
  /** The address that sponsors network fees, where the facilitator offers this. */
  readonly feePayer?: string
}

export type Verification =
  | { readonly verdict: 'valid'; readonly payer?: string }
  | { readonly verdict: 'refused'; readonly reason: string }
  /** The payment is in the ledger already, whatever code the facilitator has for this. */
  | { readonly verdict: 'spent'; readonly reason: string }
  /** `down: false`: what failed is this request. Otherwise it may be the facilitator, or what this payment contains. */
  | { readonly verdict: 'unreachable'; readonly cause: string; readonly down?: boolean }

export type Settlement =
  | {
      readonly verdict: 'settled'
      readonly txId?: string
      readonly network?: string
      readonly payer?: string
    }
  | { readonly verdict: 'refused'; readonly reason: string }
  /**
   * The payment is in the ledger or on its way there, perhaps by an earlier attempt of this server: the chain knows
   * its outcome. `submittedBefore`: the facilitator knows that it was submitted before this attempt.
   */
  | { readonly verdict: 'spent'; readonly reason: string; readonly submittedBefore?: true }
  | { readonly verdict: 'unknown'; readonly cause: string }
