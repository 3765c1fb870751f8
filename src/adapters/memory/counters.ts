/** One process. A count for each key. The keys that were used longest ago make room for new ones, and begin anew. */
import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { Counted, Counters, CounterTerms } from '../../ports/counters.js'

export interface MemoryCountersOptions {
  readonly clock?: Pick<Clock, 'monotonic'>
  /** The most keys. @default 100000 */
  readonly max?: number
}

interface Counter {
  count: number
  endsAtMs: number
}

const ADMITTED = { admitted: true } as const

export function memoryCounters({ clock = systemClock, max = 100_000 }: MemoryCountersOptions = {}) {
  // `max` would take the memory of all entries at once, and 20 ms of each seller's start.
  const counters = new LRUCache<string, Counter>({ maxSize: max, sizeCalculation: () => 1 })
  const known = (key: string, nowMs: number): Counter | undefined => {
    const counter = counters.get(key)
    return counter && nowMs < counter.endsAtMs ? counter : undefined
  }
  const verdictOf = (counter: Counter | undefined, terms: CounterTerms, nowMs: number): Counted =>
    counter && counter.count >= terms.max
      ? { admitted: false, retryAfterMs: counter.endsAtMs - nowMs }
      : ADMITTED
  return {
    take(key, terms) {
      const nowMs = clock.monotonic()
      const counter = known(key, nowMs)
      const verdict = verdictOf(counter, terms, nowMs)
      if (!verdict.admitted) return verdict
      if (counter === undefined) counters.set(key, { count: 1, endsAtMs: nowMs + terms.periodMs })
      else {
        counter.count++
        if (terms.isRenewed) counter.endsAtMs = nowMs + terms.periodMs
      }
      return verdict
    },
    peek(key, terms) {
      const nowMs = clock.monotonic()
      return verdictOf(known(key, nowMs), terms, nowMs)
    },
    giveBack(key, count, { floor, isRenewed, periodMs }) {
      const nowMs = clock.monotonic()
      const counter = known(key, nowMs)
      if (counter === undefined) return
      counter.count = Math.max(floor, counter.count - count)
      if (isRenewed) counter.endsAtMs = nowMs + periodMs
    },
  } satisfies Counters
}
