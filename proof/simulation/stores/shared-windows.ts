/** Sold windows in a store that outlives the processes of its calls, as on Redis: their reservations end with their leases. */
import type { CountingSubscriptionStore, SubscriptionRecord } from '../../../src/index.js'
import { LeasedCalls } from './leased-calls.js'

interface Window {
  readonly record: SubscriptionRecord
  readonly calls: LeasedCalls | undefined
}

export function sharedWindows(nowMs: () => number): CountingSubscriptionStore {
  const windows = new Map<string, Window>()
  const open = (id: string): Window | undefined => {
    const window = windows.get(id)
    return window && nowMs() < window.record.expiresAtMs ? window : undefined
  }
  return {
    get(id) {
      const window = open(id)
      return window?.calls ? { ...window.record, callsLeft: window.calls.left(nowMs()) } : window?.record
    },
    putIfAbsent(id, { endpoint, expiresAtMs, callsLeft }) {
      if (windows.has(id) || expiresAtMs <= nowMs()) return
      const calls = callsLeft === undefined ? undefined : new LeasedCalls(callsLeft)
      windows.set(id, { record: { endpoint, expiresAtMs }, calls })
    },
    /** By the moment that it is given, as a seller's own store may. */
    sweep(endedMs) {
      for (const [id, { record }] of windows) if (record.expiresAtMs < endedMs) windows.delete(id)
    },
    delete(id) {
      windows.delete(id)
    },
    take(id, { endpoint, token, leaseMs }) {
      const window = open(id)
      if (window?.record.endpoint !== endpoint) return { verdict: 'none' }
      if (!window.calls) return { verdict: 'taken' }
      if (!window.calls.take(token, nowMs(), nowMs() + leaseMs)) return { verdict: 'usedUp' }
      return { verdict: 'taken', callsLeft: window.calls.left(nowMs()) }
    },
    use(id, token) {
      windows.get(id)?.calls?.use(token)
    },
    giveBack(id, token) {
      const calls = open(id)?.calls
      calls?.giveBack(token)
      return calls?.left(nowMs())
    },
  }
}
