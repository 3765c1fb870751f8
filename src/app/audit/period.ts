/** Which moments an audit is about. */
import type { Period } from '../../ports/incoming-transfers.js'

/** Clocks differ, and what was asked for before midnight may land after it. */
const SLACK_MS = 600_000

export function within(ms: number, { fromMs, toMs }: Period): boolean {
  return ms >= fromMs && ms < toMs
}

/** So much longer that every run of the period has its transaction in it, and every transaction its run. */
export function widened({ fromMs, toMs }: Period): Period {
  return { fromMs: fromMs - SLACK_MS, toMs: toMs + SLACK_MS }
}

/** The shortest that holds both. */
export function spanning(a: Period, b: Period): Period {
  return { fromMs: Math.min(a.fromMs, b.fromMs), toMs: Math.max(a.toMs, b.toMs) }
}

/** Whether a payment that landed then can belong to a run of this time, as far as clocks agree. */
export function isNear(landedMs: number, { fromMs, toMs }: Period): boolean {
  return landedMs >= fromMs - SLACK_MS && landedMs <= toMs + SLACK_MS
}
