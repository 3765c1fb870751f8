/** How HTTP answers each final state of a call, by the kind of its outcome. */
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import {
  BALANCE_KEY_HEADER,
  encodeHeader,
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
} from '../../domain/x402.js'
import { type BalanceTold, type ChargeOutcome, retryAfterSeconds } from '../../ports/charge.js'
import { errorBody, jsonReply, jsonTextReply, type Reply } from './reply.js'

/** @param taken lower-case names of headers that the route sets already: a handler's `Response` does not set them again. */
export function replyToOutcome(outcome: ChargeOutcome, taken: ReadonlySet<string>): Reply {
  const { status, kind, charged, closing } = OUTCOMES[outcome.final]
  // A quote's body is the empty object: the header carries everything.
  if (kind === 'payment') return jsonTextReply(status, '{}', chargeReplyHeaders(outcome))
  const reply = outcome.answer ? delivered(outcome, taken) : problem(outcome)
  if (charged === 'no' && closing === 'release') return reply
  return { instead: () => unwrittenReply(outcome), ...reply }
}

/** For an answer that cannot be written: how the call ended, with its receipt and the key of a window that it bought. */
export function unwrittenReply(outcome: ChargeOutcome): Reply {
  const { status, code, message, fields } = unwritten(outcome)
  return jsonReply(status, errorBody(code, message, fields), chargeReplyHeaders(outcome))
}

function delivered(outcome: ChargeOutcome, taken: ReadonlySet<string>): Reply {
  const { status, headers, cookies = [], body, stream } = outcome.answer!
  const all = chargeReplyHeaders(outcome)
  for (const name in headers) if (!taken.has(name)) all.push(name, headers[name]!)
  for (const cookie of cookies) all.push('set-cookie', cookie)
  return { status, headers: all, body: stream ?? body }
}

function problem(outcome: ChargeOutcome): Reply {
  const { final, problem } = outcome
  const { status, code } = OUTCOMES[final]
  const body = errorBody(problem?.code ?? code, problem?.message ?? code, problem?.fields)
  return jsonReply(problem?.status ?? status, body, chargeReplyHeaders(outcome))
}

/** The headers of every answer to a paid call, on every transport: names and values in turn. */
export function chargeReplyHeaders(outcome: ChargeOutcome): string[] {
  const { final, challenge, receipt, subscription, callsLeft, balance, retryAfterMs } = outcome
  const headers: string[] = []
  if (challenge) headers.push(PAYMENT_REQUIRED_HEADER, challenge.header)
  if (receipt) headers.push(PAYMENT_RESPONSE_HEADER, encodeHeader(receipt))
  if (retryAfterMs !== undefined) headers.push('Retry-After', retryAfterSeconds(retryAfterMs))
  if (subscription) {
    const name = subscription.units === undefined ? 'x-svc-subscription' : 'x-svc-balance'
    headers.push(subscription.units === undefined ? name : BALANCE_KEY_HEADER, subscription.key)
    headers.push(`${name}-expires`, new Date(subscription.expiresAtMs).toISOString())
  }
  if (callsLeft !== undefined) headers.push('x-svc-subscription-remaining', String(callsLeft))
  if (balance) pushBalance(headers, balance, outcome)
  if (final === 'replayed') headers.push('Idempotency-Replayed', 'true')
  if (final === 'shuttingDown') headers.push('Connection', 'close')
  if (final !== 'quoted') headers.push('traceparent', `00-${outcome.traceId}-${outcome.spanId}-01`)
  return headers
}

function pushBalance(headers: string[], balance: BalanceTold, { final, traceId }: ChargeOutcome): void {
  const { id, charged, reserved, left } = balance
  if (reserved !== undefined) headers.push('x-svc-reserved', String(reserved))
  if (charged !== undefined) headers.push('x-svc-charged', String(charged))
  if (left !== undefined) headers.push('x-svc-balance', String(left))
  if (final === 'counted' && charged !== undefined)
    headers.push('x-svc-receipt', encodeHeader({ balance: id, call: traceId, charged, left }))
}

/** The error instead of an answer that cannot be written: 500 for a delivered one; any other end keeps its status and its code. */
export function unwritten({ final, receipt, problem }: Pick<ChargeOutcome, 'final' | 'receipt' | 'problem'>) {
  const { kind, status, code, charged } = OUTCOMES[final]
  const txId = receipt?.txId || problem?.fields?.txId
  const delivered = kind === 'answer'
  return {
    status: delivered ? 500 : status,
    code: delivered ? 'answer_not_written' : code,
    message: `The call has ended (${code}), and its answer cannot be written. ${MONEY[charged]}`,
    fields: { outcome: code, charged, ...(txId !== undefined && { txId }) },
  }
}

const MONEY = {
  no: 'You were not charged.',
  yes: 'You were charged: look txId up, and do not pay again before that.',
  earlier: 'An earlier call was charged for it, and this one was not.',
  balance: 'It was taken from the balance: send the same request again with the same Idempotency-Key.',
  maybe: 'You may have been charged: look txId up, and do not pay again before that.',
} as const satisfies Record<(typeof OUTCOMES)[ChargeFinal]['charged'], string>
