import type { Period } from './incoming-transfers.js'

/** Clocks differ, and the payment of a call before midnight may land after it. */
const SLACK_MS = 600_000

export function within(ms: number, { fromMs, toMs }: Period): boolean {
  return ms >= fromMs && ms < toMs
}

/** A period that is long enough to have the transaction of each run, and the run of each transaction. */
export function widened({ fromMs, toMs }: Period): Period {
  return { fromMs: fromMs - SLACK_MS, toMs: toMs + SLACK_MS }
}

/** When what landed by this time is known to have landed, by a clock that differs. */
export function landedBy(ms: number): number {
  return ms + SLACK_MS
}

export function spanning(a: Period, b: Period): Period {
  return { fromMs: Math.min(a.fromMs, b.fromMs), toMs: Math.max(a.toMs, b.toMs) }
}

/** Whether a payment that landed at that time can be of a run of this time, given that clocks differ. */
export function isNear(landedMs: number, { fromMs, toMs }: Period): boolean {
  return landedMs >= fromMs - SLACK_MS && landedMs <= toMs + SLACK_MS
}
