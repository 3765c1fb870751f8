/** How MCP says each way in which a call can end. The map is total: a new final state does not compile without one. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { contentOf } from '../../domain/answer-content.js'
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import { contentResult, failure } from './results.js'

export const PAYMENT_META = 'x402/payment'
export const RECEIPT_META = 'x402/payment-response'
/** A window's key: presented in a call's `_meta`, and shown in that of the call that bought it. */
export const SUBSCRIPTION_META = 'svc/subscription'
export const IDEMPOTENCY_KEY_META = 'svc/idempotency-key'

type Tell = (outcome: ChargeOutcome) => CallToolResult

const TELL = {
  settled: delivered,
  served: delivered,
  replayed: delivered,
  quoted: paymentRequired,
  refused: paymentRequired,
  unsettled: paymentRequired,
  failed: problem,
  invalid: problem,
  answerNotKept: problem,
  limited: problem,
  tooManyUnpaid: problem,
  inProgress: problem,
  keyReused: problem,
  paymentInUse: problem,
  paymentSpent: problem,
  superseded: problem,
  abandoned: problem,
  unpriced: problem,
  broken: problem,
  unavailable: problem,
  undecided: problem,
  inDoubt: problem,
  timedOut: problem,
  shuttingDown: problem,
} as const satisfies Record<ChargeFinal, Tell>

export function resultOf(outcome: ChargeOutcome): CallToolResult {
  return TELL[outcome.final](outcome)
}

function delivered({ final, answer, receipt, subscription }: ChargeOutcome): CallToolResult {
  const meta = {
    ...(receipt && { [RECEIPT_META]: receipt }),
    ...(subscription && {
      [SUBSCRIPTION_META]: {
        key: subscription.key,
        expiresAt: new Date(subscription.expiresAtMs).toISOString(),
      },
    }),
    ...(final === 'replayed' && { 'svc/replayed': true }),
  }
  return { ...contentResult(contentOf(answer!)), ...(Object.keys(meta).length > 0 && { _meta: meta }) }
}

/** Paying clients look for the challenge in either place, and each of them needs `isError`. */
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
  return failure(problem?.code ?? code, problem?.message ?? code, {
    ...problem?.fields,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}
