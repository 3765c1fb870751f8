/** One process. A fixed window a key, opened by its first call; the least recently seen keys make way for new ones. */
import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { RateLimit } from '../../ports/rate-limit.js'

export interface MemoryRateLimitOptions {
  readonly clock?: Clock
  /** Keys held at most. One that made way begins again from zero. @default 100000 */
  readonly max?: number
  /** What the port calls a minute; shorter where a test cannot wait for one. @default 60000 */
  readonly windowMs?: number
}

interface Window {
  readonly endsAtMs: number
  calls: number
}

export function memoryRateLimit(options: MemoryRateLimitOptions = {}): RateLimit {
  const { clock = systemClock, max = 100_000, windowMs = 60_000 } = options
  const windows = new LRUCache<string, Window>({ max })
  return {
    take(key, perMinute) {
      const nowMs = clock.now()
      let window = windows.get(key)
      if (!window || nowMs >= window.endsAtMs) {
        window = { endsAtMs: nowMs + windowMs, calls: 0 }
        windows.set(key, window)
      }
      if (window.calls >= perMinute) return { admitted: false, retryAfterMs: window.endsAtMs - nowMs }
      window.calls++
      return { admitted: true }
    },
  }
}
