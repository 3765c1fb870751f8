/** The headers of every answer to a paid call, on every transport. */
import { encodeHeader, PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import { retryAfterSeconds } from '../../ports/transport.js'

/** Names and values in turn. */
export function chargeReplyHeaders(outcome: ChargeOutcome): string[] {
  const { final, challenge, receipt, subscription, callsLeft, retryAfterMs } = outcome
  const headers: string[] = []
  if (challenge) headers.push(PAYMENT_REQUIRED_HEADER, challenge.header)
  if (receipt) headers.push(PAYMENT_RESPONSE_HEADER, encodeHeader(receipt))
  if (retryAfterMs !== undefined) headers.push('Retry-After', retryAfterSeconds(retryAfterMs))
  if (subscription) {
    headers.push('x-svc-subscription', subscription.key)
    headers.push('x-svc-subscription-expires', new Date(subscription.expiresAtMs).toISOString())
  }
  if (callsLeft !== undefined) headers.push('x-svc-subscription-remaining', String(callsLeft))
  if (final === 'replayed') headers.push('Idempotency-Replayed', 'true')
  if (final === 'shuttingDown') headers.push('Connection', 'close')
  if (final !== 'quoted') headers.push('traceparent', `00-${outcome.traceId}-${outcome.spanId}-01`)
  return headers
}
