/**
 * Counts calls per key in a minute. Bounded memory whatever the number of keys; where several processes share it, a
 * limit of N admits N among all of them. Rejects when it cannot count: the caller decides whether to fail open.
 */
export interface RateLimit {
  take(key: string, perMinute: number): Promise<RateVerdict> | RateVerdict
}

export type RateVerdict =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly retryAfterMs: number }
