/** Who is told of every call when it has ended: runs, metrics, the log, webhooks. None of them can delay an answer. */
import { requestLog } from '../../adapters/log/request-log.js'
import { memoryRuns } from '../../adapters/memory/runs.js'
import { type Metrics, type MetricsSources, prometheusMetrics } from '../../adapters/metrics/prometheus.js'
import { settlementWebhook } from '../../adapters/webhook/settlement-webhook.js'
import type { Logger } from '../../ports/logger.js'
import type { Runs } from '../../ports/runs.js'
import type { Witness } from '../../ports/witness.js'
import { positive, type ServerOptions } from './options.js'

export interface Observers {
  readonly runs: Runs
  readonly metrics: Metrics
  readonly witnesses: readonly Witness[]
  /** Waits for webhooks that are under way, for a bounded while. */
  close(): Promise<unknown>
}

const RUNS_CAPACITY_DEFAULT = 100
/** On top of the time that calls have to drain. */
const WEBHOOK_GRACE_MS = 5_000

/** @throws SvcError `invalid_options` */
export function observersOf(options: ServerOptions, logger: Logger, sources: MetricsSources): Observers {
  const capacity = positive('runsCapacity', options.runsCapacity ?? RUNS_CAPACITY_DEFAULT)
  const runs = options.stores?.runs ?? memoryRuns(capacity)
  const metrics = prometheusMetrics(sources)
  const webhooks = (options.webhooks ?? []).map(webhook => settlementWebhook(webhook, logger))
  const logged = options.logger === undefined ? [] : [requestLog(logger)]
  return {
    runs,
    metrics,
    witnesses: [runs, metrics, ...logged, ...webhooks],
    close: () => Promise.all(webhooks.map(webhook => webhook.close(WEBHOOK_GRACE_MS))),
  }
}
