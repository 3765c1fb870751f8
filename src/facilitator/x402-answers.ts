/** What a facilitator is asked and answers, in the protocol's words. The sandbox's facilitator says much of it alike. */
import { ENVELOPE_BOUNDS, isWithin } from '../domain/json.js'
import { isRecord, PAYMENT_BOUNDS, X402_VERSION } from '../domain/x402.js'
import type { SettleAnswer, SupportedAnswer, VerifyAnswer } from '../ports/facilitator.js'
import type { Refused } from './official-group-checks.js'

export const BUDGET_EXHAUSTED = 'sponsor_budget_exhausted'
export const SIMULATION_FAILED = 'invalid_exact_avm_simulation_failed'
export const SETTLEMENT_FAILED = 'invalid_exact_avm_settlement_failed'
export const CONFIRMATION_FAILED = 'invalid_exact_avm_confirmation_failed'
/** It stands alone, without the prefix of the scheme. */
export const INVALID_REQUIREMENTS = 'invalid_payment_requirements'
const PENDING = 'settlement_pending'

export const USED_UP = "The sponsor's fee limit for today is used up"

export type Settled =
  | { readonly outcome: 'settled' }
  | (Submitted & { readonly elsewhere: boolean })
  /** `refused` is a final no: nobody has submitted the payment. `failed` proves nothing. */
  | { readonly outcome: 'refused' | 'failed'; readonly code: string; readonly words: string }

export type Submitted =
  | { readonly outcome: 'landed' }
  /** It is in the pool, or nobody knows. */
  | { readonly outcome: 'pending'; readonly words: string }

export interface Asked {
  readonly network: string
  readonly txId: string | undefined
  readonly payer?: string
}

export function settleAnswer(settled: Settled, { network, txId = '', payer }: Asked): SettleAnswer {
  const unsettled = { success: false, transaction: txId, network }
  switch (settled.outcome) {
    case 'settled':
      return { success: true, transaction: txId, network, payer }
    case 'landed': {
      const errorMessage = `transaction already in ledger: ${txId}`
      return { ...unsettled, errorReason: SETTLEMENT_FAILED, errorMessage, ...before(settled) }
    }
    case 'pending':
      return { ...unsettled, errorReason: PENDING, errorMessage: settled.words, ...before(settled) }
    // A transaction's id would say that something was submitted.
    case 'refused':
      return { ...unsettled, transaction: '', errorReason: settled.code, errorMessage: settled.words }
    case 'failed':
      return { ...unsettled, errorReason: settled.code, errorMessage: settled.words }
  }
}

function before({ elsewhere }: { readonly elsewhere: boolean }): { readonly submittedBefore?: true } {
  return elsewhere ? { submittedBefore: true } : {}
}

export interface Question {
  readonly payload: Record<string, unknown>
  readonly requirements: Record<string, unknown>
}

/** What a body asks, or what is wrong with it. */
export function questionIn(body: unknown): Question | string {
  const { paymentPayload: payload, paymentRequirements: requirements } = isRecord(body) ? body : {}
  if (!isRecord(payload) || !isRecord(requirements))
    return 'The body has the objects paymentPayload and paymentRequirements'
  // An answer repeats some of it.
  const isRead = isWithin(payload, PAYMENT_BOUNDS) && isWithin(requirements, ENVELOPE_BOUNDS)
  return isRead ? { payload, requirements } : 'The payment, or its requirements, are larger than they can be'
}

/** By each of these ids of a network: a server looks for the exact text that it quotes. */
export function supportedAnswer(networks: readonly string[], feePayer: string): SupportedAnswer {
  const kind = { x402Version: X402_VERSION, scheme: 'exact', extra: { feePayer } }
  return {
    kinds: networks.map(network => ({ ...kind, network })),
    extensions: ['bazaar'],
    signers: { 'algorand:*': [feePayer] },
  }
}

export function invalid(invalidReason: string, invalidMessage?: string): VerifyAnswer {
  return { isValid: false, invalidReason, invalidMessage }
}

export function codeOf({ reason }: Pick<Refused, 'reason'>): string {
  return reason === INVALID_REQUIREMENTS ? reason : `invalid_exact_avm_${reason}`
}
