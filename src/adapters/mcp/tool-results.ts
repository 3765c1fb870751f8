/** How MCP answers each final state of a call, by the kind of its outcome. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { textOf } from '../../domain/bytes.js'
import { type AnswerContent, contentOf } from '../../domain/handler.js'
import { jsonIn } from '../../domain/json.js'
import type { RpcError } from '../../domain/json-rpc.js'
import { OUTCOMES, type OutcomeKind } from '../../domain/machines/charge.machine.js'
import { isRecord } from '../../domain/x402.js'
import { type ChargeOutcome, endTold } from '../../ports/charge.js'

export const PAYMENT_META = 'x402/payment'
/** The payer's proof, in the same base64 as the header `SIGN-IN-WITH-X`. */
export const PROOF_META = 'x402/sign-in-with-x'
export const RECEIPT_META = 'x402/payment-response'
/** The name of a window's key, in the `_meta` of a call, and in that of the answer to the call that bought it. */
export const SUBSCRIPTION_META = 'svc/subscription'
/** The name of a balance's key: as that of a window's. An answer says under it what the call took, too. */
export const BALANCE_META = 'svc/balance'
export const MAX_CHARGE_META = 'svc/max-charge'
export const IDEMPOTENCY_KEY_META = 'svc/idempotency-key'

const RESULTS = {
  answer: ({ answer }) => contentResult(contentOf(answer!)),
  payment: paymentRequired,
  problem,
} as const satisfies Record<OutcomeKind, (outcome: ChargeOutcome) => CallToolResult>

export function resultOf(outcome: ChargeOutcome): CallToolResult {
  const result = RESULTS[OUTCOMES[outcome.final].kind](outcome)
  const { receipt, final } = outcome
  const { subscription, balance } = endTold(outcome)
  const meta = {
    ...(receipt && { [RECEIPT_META]: receipt }),
    ...(subscription && { [SUBSCRIPTION_META]: subscription }),
    ...(balance && { [BALANCE_META]: balance }),
    ...(final === 'replayed' && { 'svc/replayed': true }),
  }
  return Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result
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

/** An object as text and as structured content: some clients drop the first, others the second. */
export function objectResult(value: Readonly<Record<string, unknown>>): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(value, undefined, 2) }],
    structuredContent: { ...value },
  }
}

export function errorResult(
  code: string,
  message: string,
  fields?: Readonly<Record<string, unknown>>,
): CallToolResult {
  return { ...objectResult({ error: { code, message, ...fields } }), isError: true }
}

export function contentResult(content: AnswerContent): CallToolResult {
  switch (content.kind) {
    case 'json': {
      const { value, text } = content
      return {
        content: [{ type: 'text', text: typeof value === 'string' ? value : text }],
        ...(isRecord(value) && { structuredContent: value }),
      }
    }
    case 'text':
      return { content: [{ type: 'text', text: content.text }] }
    case 'bytes':
      return { content: [bytesBlock(content)] }
  }
}

/** The one message in an answer of a server; the answer is JSON, or the last event of a stream. */
export function messageOf(answer: Uint8Array): { readonly result?: unknown; readonly error?: RpcError } {
  const text = textOf(answer)
  const event = text.split('\n').findLast(line => line.startsWith('data:'))
  const message = jsonIn(event?.slice('data:'.length) ?? text)
  return isRecord(message) ? message : {}
}

function bytesBlock({ base64, mediaType }: Extract<AnswerContent, { kind: 'bytes' }>) {
  const [family] = mediaType.split('/', 1)
  if (family === 'image' || family === 'audio')
    return { type: family, data: base64, mimeType: mediaType } as const
  const resource = { uri: 'urn:svc:answer', blob: base64, mimeType: mediaType }
  return { type: 'resource', resource } as const
}
