/** How HTTP says each way in which a call can end. The map is total: a new final state does not compile without one. */
import type { Context } from 'koa'
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import { setCallHeaders } from './call-headers.js'
import { errorBody } from './refusal.js'

type Render = (ctx: Context, outcome: ChargeOutcome) => void

const RENDER = {
  settled: delivered,
  served: delivered,
  replayed: delivered,
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
  shuttingDown: problem,
} as const satisfies Record<ChargeFinal, Render>

export function render(ctx: Context, outcome: ChargeOutcome): void {
  setCallHeaders(ctx, outcome)
  RENDER[outcome.final](ctx, outcome)
}

function delivered(ctx: Context, { answer }: ChargeOutcome): void {
  const { status, headers, body } = answer!
  ctx.status = status
  for (const name in headers) if (name !== 'cache-control' && name !== 'vary') ctx.set(name, headers[name]!)
  // Koa renders a Uint8Array that is no Buffer as a JSON object.
  ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (headers['content-type'] === undefined) ctx.remove('Content-Type')
}

/** A 402's body is the empty object: all that it says is in the header. */
function quote(ctx: Context, { final }: ChargeOutcome): void {
  ctx.status = OUTCOMES[final].status
  ctx.type = 'application/json'
  ctx.body = '{}'
}

function problem(ctx: Context, { final, problem }: ChargeOutcome): void {
  const { status, code } = OUTCOMES[final]
  ctx.status = problem?.status ?? status
  ctx.body = errorBody(problem?.code ?? code, problem?.message ?? code, problem?.fields)
}
