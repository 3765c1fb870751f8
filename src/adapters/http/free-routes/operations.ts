/** For whoever runs the agent: is it well, is it ready, what has it done. Readable by strangers, so no payer is in it. */
import type { Context } from 'koa'
import type { Runs } from '../../../ports/runs.js'
import type { EndedCall } from '../../../ports/witness.js'
import type { FreeRoute } from '../app.js'

export interface OperationsRoutesOptions {
  health(): Promise<Condition>
  readiness(): Promise<Condition>
  readonly metrics: { readonly contentType: string; text(): Promise<string> }
  readonly runs: Runs
}

/** A body, and whether it is good news. */
interface Condition {
  readonly ok: boolean
  readonly [field: string]: unknown
}

/** Long enough not to be a burden, short enough that a process which became ready is soon found to be. */
const RETRY_SECONDS = 5

export function operationsRoutes(options: OperationsRoutesOptions): readonly FreeRoute[] {
  const { metrics, runs } = options
  return [
    { path: '/health', method: 'GET', handle: async ctx => tell(ctx, await options.health()) },
    { path: '/ready', method: 'GET', handle: async ctx => tell(ctx, await options.readiness()) },
    {
      path: '/metrics',
      method: 'GET',
      async handle(ctx) {
        ctx.set('Content-Type', metrics.contentType)
        ctx.body = await metrics.text()
      },
    },
    {
      path: '/_svc/runs',
      method: 'GET',
      handle(ctx) {
        ctx.body = runs.list().map(run)
      },
    },
  ]
}

function tell(ctx: Context, condition: Condition): void {
  ctx.status = condition.ok ? 200 : 503
  if (!condition.ok) ctx.set('Retry-After', String(RETRY_SECONDS))
  ctx.body = condition
}

/** Exactly these fields, all of them always. A call without a payment has no transaction. */
function run({ id, endpoint, status, ms, txId }: EndedCall) {
  return { id, endpoint, status, ms, txId: txId ?? null }
}
