/** The headers of every answer to a paid call, whatever language its body speaks. */
import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import { encodeHeader, PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'

export function setCallHeaders(ctx: Context, outcome: ChargeOutcome): void {
  const { final, challenge, receipt, subscription, retryAfterMs } = outcome
  // Paid bytes are for one payer, once: no cache may keep them or hand them to anybody else.
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Vary', 'PAYMENT-SIGNATURE, X-PAYMENT, X-SVC-SUBSCRIPTION, Idempotency-Key')
  if (challenge) ctx.set(PAYMENT_REQUIRED_HEADER, challenge.header)
  if (receipt) ctx.set(PAYMENT_RESPONSE_HEADER, encodeHeader(receipt))
  if (retryAfterMs !== undefined) {
    ctx.set('Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1_000))))
  }
  if (subscription) {
    ctx.set('x-svc-subscription', subscription.key)
    ctx.set('x-svc-subscription-expires', new Date(subscription.expiresAtMs).toISOString())
  }
  if (final === 'replayed') ctx.set('Idempotency-Replayed', 'true')
  if (final === 'shuttingDown') ctx.set('Connection', 'close')
  if (final !== 'quoted') ctx.set('traceparent', `00-${outcome.traceId}-${newSpanId()}-01`)
}

/** Tells the call whether its answer reached the socket: its idempotency key depends on it. */
export function handOver(ctx: Context, outcome: ChargeOutcome): void {
  const { res } = ctx
  if (res.closed) outcome.handedOver(false)
  else res.once('close', () => outcome.handedOver(res.writableFinished))
}

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}
