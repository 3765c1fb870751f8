/** How MCP answers each final state of a call, by the kind of its outcome. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { contentOf } from '../../domain/handler-answer.js'
import { OUTCOMES, type OutcomeKind } from '../../domain/machines/charge.machine.js'
import { subscriptionTold } from '../../domain/subscription-terms.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import { contentResult, errorResult } from './tool-result-content.js'

export const PAYMENT_META = 'x402/payment'
/** The payer's proof, in the same base64 as the header `SIGN-IN-WITH-X`. */
export const PROOF_META = 'x402/sign-in-with-x'
export const RECEIPT_META = 'x402/payment-response'
/**
 * The name of a window's key: the caller sends it in a call's `_meta`, and the answer of the call that bought it
 * carries it in its `_meta`.
 */
export const SUBSCRIPTION_META = 'svc/subscription'
export const IDEMPOTENCY_KEY_META = 'svc/idempotency-key'

const RESULTS = { answer: delivered, payment: paymentRequired, problem } as const satisfies Record<
  OutcomeKind,
  (outcome: ChargeOutcome) => CallToolResult
>

export function resultOf(outcome: ChargeOutcome): CallToolResult {
  return RESULTS[OUTCOMES[outcome.final].kind](outcome)
}

function delivered(outcome: ChargeOutcome): CallToolResult {
  const { final, answer, receipt } = outcome
  const subscription = subscriptionTold(outcome)
  const meta = {
    ...(receipt && { [RECEIPT_META]: receipt }),
    ...(subscription && { [SUBSCRIPTION_META]: subscription }),
    ...(final === 'replayed' && { 'svc/replayed': true }),
  }
  return { ...contentResult(contentOf(answer!)), ...(Object.keys(meta).length > 0 && { _meta: meta }) }
}

/** Paying clients look for the challenge in one of these two places, and all of them need `isError`. */
function paymentRequired(outcome: ChargeOutcome): CallToolResult {
  if (!outcome.challenge) return problem(outcome)
  const { required } = outcome.challenge
  return {
    isError: true,
    structuredContent: { ...required },
    content: [{ type: 'text', text: JSON.stringify(required) }],
  }
}

function problem({ final, problem, answer, retryAfterMs }: ChargeOutcome): CallToolResult {
  const { code } = OUTCOMES[final]
  if (answer) return { ...contentResult(contentOf(answer)), isError: true }
  return errorResult(problem?.code ?? code, problem?.message ?? code, {
    ...problem?.fields,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}
