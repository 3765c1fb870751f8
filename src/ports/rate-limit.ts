/**
 * Counts calls per key in a minute. Memory is bounded for any number of keys. If several processes share the limit, a
 * limit of N admits N calls in all of them together. Rejects when it cannot count: the caller decides whether to
 * admit the call.
 */
export interface RateLimit {
  /** Counts one more call under this key, unless that would be more than `perMinute`. */
  take(key: string, perMinute: number): Promise<RateVerdict> | RateVerdict
  /** The verdict that `take` would give now. Counts nothing. */
  peek(key: string, perMinute: number): Promise<RateVerdict> | RateVerdict
  /** Uncounts one call that was counted in the current minute. Does nothing if that minute is over. */
  giveBack(key: string, perMinute: number): Promise<void> | void
}

/** Whether a call was counted, and if not, when the next one may come. */
export type RateVerdict =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly retryAfterMs: number }
