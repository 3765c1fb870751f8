/** One process. A fixed period for each key, begun by its first call. The least recently used keys make room for new ones. */
import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { RateLimit, RateVerdict } from '../../ports/rate-limit.js'

export interface MemoryRateLimitOptions {
  readonly clock?: Pick<Clock, 'monotonic'>
  /** The most keys. A key that made room for another begins again from zero. @default 100000 */
  readonly max?: number
  /** The length of the port's minute; shorter in tests that cannot wait. @default 60000 */
  readonly windowMs?: number
}

interface Window {
  readonly endsAtMs: number
  calls: number
}

export function memoryRateLimit(options: MemoryRateLimitOptions = {}): RateLimit {
  const { clock = systemClock, max = 100_000, windowMs = 60_000 } = options
  const windows = new LRUCache<string, Window>({ max })
  const current = (key: string, nowMs: number): Window | undefined => {
    const window = windows.get(key)
    return window && nowMs < window.endsAtMs ? window : undefined
  }
  const verdictOf = (window: Window | undefined, perMinute: number, nowMs: number): RateVerdict =>
    window && window.calls >= perMinute
      ? { admitted: false, retryAfterMs: window.endsAtMs - nowMs }
      : { admitted: true }
  return {
    take(key, perMinute) {
      const nowMs = clock.monotonic()
      const window = current(key, nowMs) ?? { endsAtMs: nowMs + windowMs, calls: 0 }
      const verdict = verdictOf(window, perMinute, nowMs)
      windows.set(key, window)
      if (verdict.admitted) window.calls++
      return verdict
    },
    peek(key, perMinute) {
      const nowMs = clock.monotonic()
      return verdictOf(current(key, nowMs), perMinute, nowMs)
    },
    giveBack(key) {
      const window = current(key, clock.monotonic())
      if (window && window.calls > 0) window.calls--
    },
  }
}
