/** Counts calls for Prometheus. The labels are names of endpoints and statuses, so the number of series is bounded. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Audit } from '../app/server/server-environment.js'
import { recentBookings } from '../domain/income-bookings.js'
import { usdNumber } from '../domain/money.js'
import type { EndedCall } from '../ports/call-observer.js'

/** Buckets from a quote to the slowest handler, in seconds. */
const DURATION_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** @param journal `undefined` where there is none */
export function prometheusMetrics(inFlight: () => number, journal: Audit['journal']) {
  const registry = new Registry()
  const registers = [registry]
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const gauge = (name: string, help: string, now: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(now())
      },
    })
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
  gauge('svc_requests_in_flight', 'Calls of paid endpoints that have not ended.', inFlight)
  const duration = new Histogram({
    name: 'svc_request_duration_seconds',
    help: 'How long calls of paid endpoints took, quotes among them.',
    buckets: DURATION_BUCKETS,
    registers,
  })
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
  if (journal) {
    new Counter({
      name: 'svc_journal_lost_total',
      help: 'Ended calls that the journal could not keep.',
      registers,
      collect() {
        this.reset()
        this.inc(journal()?.lost ?? 0)
      },
    })
    gauge(
      'svc_journal_waiting',
      'Ended calls that are not on the journal’s disk yet.',
      () => journal()?.waiting ?? 0,
    )
  }
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
    /** The text that Prometheus reads: our metrics, then Node's. */
    text: async () => (await Promise.all([registry.metrics(), processRegistry().metrics()])).join('\n'),
  }
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
