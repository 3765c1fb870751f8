/**
 * Counts, for each key, the calls of a minute or the runs of a payer that are not settled.
 *
 * `take` decides and counts in one move, so that only one of two callers gets the last place, in all processes that share
 * the counters. A `take` that is refused changes nothing. A key whose period is over is unknown, and begins anew at zero.
 * Memory is bounded for any number of keys. A counter that rejects cannot count: its caller decides what then happens.
 */
export interface Counters {
  /** Counts one more under this key, unless `max` are counted. */
  take(key: string, terms: CounterTerms): Counted | Promise<Counted>
  /** The answer that `take` would give now. Counts nothing. */
  peek(key: string, terms: CounterTerms): Counted | Promise<Counted>
  /** Counts so many fewer, and never fewer than `floor`. Does nothing to a key that is unknown. */
  giveBack(key: string, count: number, terms: CounterTerms): void | Promise<void>
}

/** What is counted under a key. Each key has the same terms in all moves, but that `max` may differ. */
export interface CounterTerms {
  /** The most that are counted at once, at least 1. */
  readonly max: number
  /** The lowest count that giving back may reach. Below zero, more can be given back than was taken. */
  readonly floor: number
  /** The length of the period, in milliseconds. */
  readonly periodMs: number
  /** Whether each change begins the period anew. If not, the first count begins it. */
  readonly isRenewed: boolean
}

/** Whether one more was counted, and if not, when the period ends. */
export type Counted =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly retryAfterMs: number }

/** The terms of a limit of calls in a minute. */
export function perMinute(max: number): CounterTerms {
  return { max, floor: 0, periodMs: 60_000, isRenewed: false }
}
