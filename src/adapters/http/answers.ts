/** How HTTP says each way in which a call can end. The map is total: a new final state does not compile without one. */
import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import { encodeHeader, PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import { errorBody } from './refusal.js'

type Render = (ctx: Context, outcome: ChargeOutcome) => void

const RENDER = {
  settled: delivered,
  served: delivered,
  replayed,
  failed: (ctx, outcome) => (outcome.answer ? delivered : problem)(ctx, outcome),
  quoted: quote,
  refused: quote,
  unsettled: quote,
  limited: problem,
  invalid: problem,
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
  shuttingDown(ctx, outcome) {
    ctx.set('Connection', 'close')
    problem(ctx, outcome)
  },
} as const satisfies Record<ChargeFinal, Render>

export function render(ctx: Context, outcome: ChargeOutcome): void {
  // Paid bytes are for one payer, once: no cache may keep them or hand them to anybody else.
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Vary', 'PAYMENT-SIGNATURE, X-PAYMENT, X-SVC-SUBSCRIPTION, Idempotency-Key')
  if (outcome.receipt) ctx.set(PAYMENT_RESPONSE_HEADER, encodeHeader(outcome.receipt))
  if (outcome.retryAfterMs !== undefined) {
    ctx.set('Retry-After', String(Math.max(1, Math.ceil(outcome.retryAfterMs / 1_000))))
  }
  RENDER[outcome.final](ctx, outcome)
  if (outcome.final !== 'quoted') ctx.set('traceparent', `00-${outcome.traceId}-${newSpanId()}-01`)
}

function delivered(ctx: Context, { answer, subscription }: ChargeOutcome): void {
  const { status, headers, body } = answer!
  ctx.status = status
  for (const name in headers) if (name !== 'cache-control' && name !== 'vary') ctx.set(name, headers[name]!)
  ctx.body = body
  if (headers['content-type'] === undefined) ctx.remove('Content-Type')
  if (subscription !== undefined) {
    ctx.set('x-svc-subscription', subscription.key)
    ctx.set('x-svc-subscription-expires', new Date(subscription.expiresAtMs).toISOString())
  }
}

function replayed(ctx: Context, outcome: ChargeOutcome): void {
  delivered(ctx, outcome)
  ctx.set('Idempotency-Replayed', 'true')
}

/** A 402's body is the empty object: all that it says is in the header. */
function quote(ctx: Context, { final, challenge }: ChargeOutcome): void {
  ctx.status = OUTCOMES[final].status
  if (challenge !== undefined) ctx.set(PAYMENT_REQUIRED_HEADER, challenge.header)
  ctx.type = 'application/json'
  ctx.body = '{}'
}

function problem(ctx: Context, { final, problem }: ChargeOutcome): void {
  const { status, code } = OUTCOMES[final]
  ctx.status = problem?.status ?? status
  ctx.body = errorBody(problem?.code ?? code, problem?.message ?? code, problem?.fields)
}

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}
