/** The observers of every ended call: runs, metrics, the log, webhooks. None of them can delay an answer. */
import { requestLog } from '../../adapters/log/request-log.js'
import { memoryRuns } from '../../adapters/memory/recent-runs.js'
import {
  type Metrics,
  type MetricsSources,
  prometheusMetrics,
} from '../../adapters/metrics/prometheus-metrics.js'
import { settlementWebhook } from '../../adapters/webhook/settlement-webhook.js'
import type { CallObserver } from '../../ports/call-observer.js'
import { silentLogger } from '../../ports/logger.js'
import type { Runs } from '../../ports/recent-runs.js'
import type { Settings } from './settings-from-options.js'

export interface Observers {
  readonly runs: Runs
  readonly metrics: Metrics
  readonly callObservers: readonly CallObserver[]
  /** Waits for running webhooks, for a limited time. */
  close(): Promise<unknown>
}

/** Added to the time that calls have to drain. */
const WEBHOOK_GRACE_MS = 5_000

/** @throws SvcError `invalid_options` for a webhook that cannot be delivered. */
export function observersOf(settings: Settings, sources: MetricsSources): Observers {
  const { logger } = settings
  const runs = settings.stores.runs ?? memoryRuns(settings.runsCapacity)
  const metrics = prometheusMetrics(sources)
  const webhooks = settings.webhooks.map(webhook => settlementWebhook(webhook, logger))
  const logged = logger === silentLogger ? [] : [requestLog(logger)]
  return {
    runs,
    metrics,
    callObservers: [runs, metrics, ...logged, ...webhooks],
    close: () => Promise.all(webhooks.map(webhook => webhook.close(WEBHOOK_GRACE_MS))),
  }
}
