/** One process. A counter for each payer; the payers that changed longest ago make room for new ones. */
import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { CreditStore } from '../../ports/handler-credit.js'

export interface MemoryCreditOptions {
  readonly clock?: Pick<Clock, 'monotonic'>
  /** The most payers. @default 100000 */
  readonly max?: number
}

interface Counter {
  left: number
  changedMs: number
}

export function memoryCredit({ clock = systemClock, max = 100_000 }: MemoryCreditOptions = {}): CreditStore {
  const counters = new LRUCache<string, Counter>({ max })
  const known = (payer: string, idleMs: number, nowMs: number): Counter | undefined => {
    const counter = counters.peek(payer)
    return counter && nowMs - counter.changedMs < idleMs ? counter : undefined
  }
  return {
    take(payer, { start, idleMs }) {
      const nowMs = clock.monotonic()
      const left = known(payer, idleMs, nowMs)?.left ?? start
      if (left < 1) return false
      counters.set(payer, { left: left - 1, changedMs: nowMs })
      return true
    },
    give(payer, runs, { max: earnedMax, idleMs }) {
      const nowMs = clock.monotonic()
      const counter = known(payer, idleMs, nowMs)
      // A payer whose counter made room for another has begun anew already.
      if (counter) counters.set(payer, { left: Math.min(earnedMax, counter.left + runs), changedMs: nowMs })
    },
  }
}
