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

/**
 * A facilitator that answers in the words of the protocol, in this process. What it is asked is hostile until it has checked it.
 *
 * `verify` and `settle` reject only where nothing was submitted by this call: its node did not answer, or it is closed.
 */
export interface ProtocolFacilitator {
  /** The address that sponsors the network's fees. */
  readonly sponsor: string
  /** What `/supported` answers. */
  supported(): SupportedAnswer
  /** What `/verify` answers. Moves no money. */
  verify(payload: unknown, requirements: unknown): Promise<VerifyAnswer>
  /**
   * What `/settle` answers. At most one call for a payment is answered `success: true`.
   *
   * @param payload The payer's payment, as it came.
   * @param requirements The seller's own terms, never the payer's copy of them.
   * @param asker Who asks. Without it, `submittedBefore` is never said.
   */
  settle(payload: unknown, requirements: unknown, asker?: Asker): Promise<SettleAnswer>
  /** Whether payments to this address are settled. */
  pays(payTo: string): boolean
  /** For metrics. No secret is in it. */
  condition(): FacilitatorCondition
  /** The same after asking the node, for health. Never rejects. */
  check(): Promise<CheckedCondition>
  /** Waits for settlements that have begun, at most about 15 seconds, and ends the connections. Later questions reject. */
  close(): Promise<void>
}

/** Who asks a facilitator. */
export interface Asker {
  /** A random text that one server process has for itself. */
  readonly id: string
  /** The question is a call in this process, so it comes once. A network may deliver a question twice. */
  readonly inProcess: boolean
}

/** The header in which a server that asks over REST names itself: 16 to 64 letters, digits, hyphens or underscores. */
export const ASKER_HEADER = 'svc-asker'

/** What `/supported` answers. */
export interface SupportedAnswer {
  readonly kinds: readonly {
    readonly x402Version: number
    readonly scheme: string
    readonly network: string
    readonly extra: { readonly feePayer: string }
  }[]
  readonly extensions: readonly string[]
  readonly signers: Readonly<Record<string, readonly string[]>>
}

/** What `/verify` answers. */
export interface VerifyAnswer {
  /** Whether the payment would settle now. */
  readonly isValid: boolean
  /** A code, for programs. */
  readonly invalidReason?: string
  /** For people; often the node's words. */
  readonly invalidMessage?: string
  /** The payer's address. */
  readonly payer?: string
}

/** What `/settle` answers. */
export interface SettleAnswer {
  /** Whether this call settled the payment. `false` does not say that it did not land: `transaction` and the reason do. */
  readonly success: boolean
  /** The payment's id; empty where nothing was submitted, by this call or an earlier one. */
  readonly transaction: string
  /** The network's id as the requirements spell it. */
  readonly network: string
  /** The payer's address. */
  readonly payer?: string
  /** A code, for programs. */
  readonly errorReason?: string
  /** For people; often the node's words. */
  readonly errorMessage?: string
  /**
   * The payment was submitted because another asker asked for it. A server that asks for the first time learns that another
   * server sells its answer. Not of the protocol: other facilitators do not say it.
   */
  readonly submittedBefore?: true
}

/** The condition of a facilitator. */
export interface FacilitatorCondition {
  /** Whether the node answers, and is of the network. */
  readonly node: 'unasked' | 'ok' | 'unanswered' | 'wrongNetwork'
  /** Microalgos of fees that were submitted since midnight, UTC. A restart forgets them. */
  readonly feesToday: number
  /** How many there may be. */
  readonly feePerDayMax: number
}

/** The condition of a facilitator whose node was just asked. */
export interface CheckedCondition extends FacilitatorCondition {
  /** What the sponsor has left for fees: its microalgos above what its account must keep. `null` where the node did not say. */
  readonly sponsorMicroAlgos: number | null
}
