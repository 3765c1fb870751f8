/** Counts calls for Prometheus. The labels are names of endpoints and statuses, so the number of series is bounded. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { recentBookings } from '../../domain/income-bookings.js'
import { usdNumber } from '../../domain/money.js'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'

export interface Metrics extends CallObserver {
  /** The text that Prometheus reads: our metrics, then Node's. */
  text(): Promise<string>
}

/** Buckets from a quote to the slowest handler, in seconds. */
const DURATION_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export interface MetricsSources {
  readonly inFlight: () => number
  /** The calls that wait for the journal, and the calls that it lost; `undefined` where there is no journal. */
  readonly journal?: () => { readonly waiting: number; readonly lost: number } | undefined
}

export function prometheusMetrics({ inFlight, journal }: MetricsSources): Metrics {
  const registry = new Registry()
  const registers = [registry]
  /** Counted here and copied when Prometheus reads: the library hashes the labels at each increment. */
  const ended = new Map<string, Map<number, number>>()
  new Counter({
    name: 'svc_requests_total',
    help: 'Calls of paid endpoints that have ended, by endpoint and HTTP status.',
    labelNames: ['endpoint', 'status'],
    registers,
    collect() {
      this.reset()
      for (const [endpoint, counts] of ended)
        for (const [status, count] of counts) this.inc({ endpoint, status }, count)
    },
  })
  new Gauge({
    name: 'svc_requests_in_flight',
    help: 'Calls of paid endpoints that have not ended.',
    registers,
    collect() {
      this.set(inFlight())
    },
  })
  const duration = new Histogram({
    name: 'svc_request_duration_seconds',
    help: 'How long calls of paid endpoints took, quotes among them.',
    buckets: DURATION_BUCKETS,
    registers,
  })
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const settled = counter(
    'svc_settled_total',
    'Payments that landed: settled by their call, or found landed by a later one.',
  )
  const settledUsd = counter(
    'svc_settled_usd_total',
    'What these payments moved, in US dollars; for dashboards, not for accounting.',
  )
  const brokenStreams = counter(
    'svc_stream_broken_total',
    'Streams that were charged, or covered by a window, and whose callers did not get all of them.',
  )
  const mismatches = counter(
    'svc_settlement_mismatch_total',
    'Settlements in which the facilitator named another transaction, network or payer than was asked for.',
  )
  if (journal) journalMetrics(journal, registers)
  const books = recentBookings()
  return {
    ended(call: EndedCall) {
      const { endpoint, status, ms, amount, mismatch, streamBroken } = call
      const counts = ended.get(endpoint) ?? new Map<number, number>()
      if (counts.size === 0) ended.set(endpoint, counts)
      counts.set(status, (counts.get(status) ?? 0) + 1)
      // The sum may only grow, also when the clock is set back.
      duration.observe(Math.max(0, ms) / 1_000)
      if (books(call)) {
        settled.inc()
        settledUsd.inc(usdNumber(BigInt(amount ?? 0)))
      }
      if (mismatch !== undefined) mismatches.inc()
      if (streamBroken) brokenStreams.inc()
    },
    text: async () => (await Promise.all([registry.metrics(), processRegistry().metrics()])).join('\n'),
  }
}

function journalMetrics(condition: NonNullable<MetricsSources['journal']>, registers: Registry[]): void {
  new Counter({
    name: 'svc_journal_lost_total',
    help: 'Ended calls that the journal could not keep.',
    registers,
    collect() {
      this.reset()
      this.inc(condition()?.lost ?? 0)
    },
  })
  new Gauge({
    name: 'svc_journal_waiting',
    help: 'Ended calls that are not on the journal’s disk yet.',
    registers,
    collect() {
      this.set(condition()?.waiting ?? 0)
    },
  })
}

/** Gauges whose names Prometheus' linter refuses. Each has a twin without `_total` and with the same value. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

let ofProcess: Registry | undefined

/** Node's metrics are of the whole process, whatever number of servers it has. The first reader starts their observers. */
function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
    for (const name of MISNAMED) ofProcess.removeSingleMetric(name)
  }
  return ofProcess
}
