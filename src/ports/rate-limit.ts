/**
 * Counts calls per key in a minute. Bounded memory whatever the number of keys; where several processes share it, a
 * limit of N admits N among all of them. Rejects when it cannot count: the caller decides whether to fail open.
 */
export interface RateLimit {
  /** Counts one more call under this key, unless that would be more than `perMinute`. */
  take(key: string, perMinute: number): Promise<RateVerdict> | RateVerdict
  /** What `take` would answer now. Counts nothing. */
  peek(key: string, perMinute: number): Promise<RateVerdict> | RateVerdict
  /** Takes one call back that was counted in the minute that is running; nothing where that minute is over. */
  giveBack(key: string, perMinute: number): Promise<void> | void
}

/** Whether a call was counted, and if not, when the next one may come. */
export type RateVerdict =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly retryAfterMs: number }
