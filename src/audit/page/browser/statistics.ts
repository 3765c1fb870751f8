/** What the overview shows of many runs: sums, shares, percentiles, and the same over time. It knows no element of the page. */
import { isQuote, type RunView } from '../page-events.js'

/** What became of a call, in the words of its seller. In the order in which plots stack them. */
export const RESULTS = ['charged', 'answered', 'inDoubt', 'failed', 'refused', 'quoted'] as const
export type Result = (typeof RESULTS)[number]

export function resultOf(run: Pick<RunView, 'charged' | 'status' | 'final' | 'landed'>): Result {
  if (run.charged === 'yes') return 'charged'
  if (isInDoubt(run)) return 'inDoubt'
  if (run.status < 400) return 'answered'
  if (run.status >= 500) return 'failed'
  return isQuote(run) ? 'quoted' : 'refused'
}

/** Not where the chain has decided the payment since. */
export function isInDoubt({ charged, landed }: Pick<RunView, 'charged' | 'landed'>): boolean {
  return charged === 'maybe' && landed === undefined
}

/** The parts of a call that somebody waits for, by the states in which the call is meanwhile. */
export const STAGES = {
  verify: ['verifying'],
  handler: ['delivering', 'serving'],
  settle: ['settling', 'reconciling'],
} as const
export type Stage = keyof typeof STAGES

/** Reads how long a run was in a stage, in milliseconds; `undefined` where it never was. */
export function stageReader(steps: readonly string[], stage: Stage): (run: RunView) => number | undefined {
  const states: readonly string[] = STAGES[stage]
  const isInside = steps.map(step => states.includes(step.slice(0, step.indexOf('.'))))
  return ({ path, timingsMs }) => {
    let ms: number | undefined
    for (const [at, step] of path.entries()) if (isInside[step]) ms = (ms ?? 0) + (timingsMs[at] ?? 0)
    return ms
  }
}

/** The smallest value that `share` of the values do not exceed. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!
}

export type Sums = ReturnType<typeof sumsOf>

/** Income is in base units of USDC. */
export function sumsOf(runs: readonly RunView[]) {
  const results = Object.fromEntries(RESULTS.map(result => [result, 0])) as Record<Result, number>
  const [endpoint, payer] = [new Map<string, bigint>(), new Map<string, bigint>()]
  const finals = new Map<string, number>()
  let income = 0n
  let payments = 0
  for (const run of runs) {
    results[resultOf(run)]++
    finals.set(run.final, (finals.get(run.final) ?? 0) + 1)
    if (!run.isBooked) continue
    const amount = BigInt(run.amount ?? 0)
    const from = run.payer ?? 'unknown'
    payments++
    income += amount
    endpoint.set(run.endpoint, (endpoint.get(run.endpoint) ?? 0n) + amount)
    payer.set(from, (payer.get(from) ?? 0n) + amount)
  }
  return { calls: runs.length, results, income, payments, incomeOf: { endpoint, payer }, finals }
}

/** Of the calls that were the seller's to answer: what a caller did wrong counts on neither side. `undefined` where there are none. */
export function successRate({ charged, answered, inDoubt, failed }: Sums['results']): number | undefined {
  const all = charged + answered + inDoubt + failed
  return all === 0 ? undefined : (charged + answered) / all
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WIDTHS_MS = [
  ...[1, 2, 5, 10, 30].map(seconds => seconds * SECOND),
  ...[1, 2, 5, 10, 30].map(minutes => minutes * MINUTE),
  ...[1, 3, 6, 12].map(hours => hours * HOUR),
  ...[1, 7, 28].map(days => days * DAY),
]

/** Equal spans of time, that begin at round times of the place where the reader is. */
export interface Spans {
  readonly beginsMs: readonly number[]
  readonly widthMs: number
  at(ms: number): number
}

export function spansOf(fromMs: number, untilMs: number, most: number): Spans {
  const lastedMs = Math.max(untilMs - fromMs, 1)
  const widthMs =
    WIDTHS_MS.find(width => lastedMs / width < most - 1) ?? Math.ceil(lastedMs / DAY / (most - 1)) * DAY
  // The time zone is read once. On days when the clocks change, spans are one hour off.
  const offsetMs = new Date(untilMs).getTimezoneOffset() * MINUTE
  const first = Math.floor((fromMs - offsetMs) / widthMs)
  const last = Math.floor((untilMs - offsetMs) / widthMs)
  const beginsMs = Array.from({ length: last - first + 1 }, (_, at) => (first + at) * widthMs + offsetMs)
  const at = (ms: number) =>
    Math.min(Math.max(Math.floor((ms - offsetMs) / widthMs) - first, 0), last - first)
  return { beginsMs, widthMs, at }
}

export function summed(spans: Spans, runs: readonly RunView[], read: (run: RunView) => number): number[] {
  const sums = spans.beginsMs.map(() => 0)
  for (const run of runs) sums[spans.at(run.startedMs)]! += read(run)
  return sums
}

/** Income of today and of yesterday, by the midnights of the place where the reader is. */
export function incomeByDay(runs: readonly RunView[], nowMs: number): Record<'today' | 'yesterday', bigint> {
  const midnight = new Date(nowMs)
  const todayMs = midnight.setHours(0, 0, 0, 0)
  const yesterdayMs = midnight.setDate(midnight.getDate() - 1)
  const income = { today: 0n, yesterday: 0n }
  for (const { isBooked, startedMs, amount = 0 } of runs) {
    if (!isBooked || startedMs < yesterdayMs) continue
    income[startedMs < todayMs ? 'yesterday' : 'today'] += BigInt(amount)
  }
  return income
}
