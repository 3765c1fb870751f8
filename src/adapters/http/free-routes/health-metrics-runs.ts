/** For operators of the agent: its health, its readiness and its last calls. Names no payer. */

import type { EndedCall, Runs } from '../../../ports/call-observer.js'
import { jsonReply, type Reply } from '../reply.js'
import type { FreeRoute } from '../route-types.js'
import { admitToOperations, type Hosts } from './metrics-and-runs-access.js'
import { privateRoute } from './private-route.js'
import { UNCACHED } from './uncached.js'

export interface OperationsRoutesOptions {
  health(): Promise<Condition>
  readiness(): Promise<Condition>
  readonly metrics: { readonly contentType: string; text(): Promise<string> }
  readonly runs: Runs
  /** Public names under which metrics and runs are answered. */
  readonly operationsHosts: Hosts
}

/** A body, and whether it reports a good condition. */
interface Condition {
  readonly ok: boolean
  readonly [field: string]: unknown
}

/** Long enough to cause little load, short enough to notice soon when a process becomes ready. */
const RETRY_SECONDS = '5'

export function operationsRoutes(options: OperationsRoutesOptions): readonly FreeRoute[] {
  const { metrics, runs, operationsHosts } = options
  const get = (path: string, handle: FreeRoute['handle']): FreeRoute => {
    return { path, method: 'GET', headers: UNCACHED, handle }
  }
  const guarded = (path: string, handle: FreeRoute['handle']): FreeRoute => {
    return privateRoute(path, request => admitToOperations(request, operationsHosts), handle)
  }
  return [
    get('/health', async () => tell(await options.health())),
    get('/ready', async () => tell(await options.readiness())),
    guarded('/metrics', async () => {
      return { status: 200, headers: ['Content-Type', metrics.contentType], body: await metrics.text() }
    }),
    guarded('/_svc/runs', () => jsonReply(200, runs.list().map(run))),
  ]
}

function tell(condition: Condition): Reply {
  return condition.ok ? jsonReply(200, condition) : jsonReply(503, condition, ['Retry-After', RETRY_SECONDS])
}

/** Exactly these fields, all of them always. A call without a payment has no transaction. */
function run({ id, endpoint, status, ms, txId }: EndedCall) {
  return { id, endpoint, status, ms, txId: txId ?? null }
}
