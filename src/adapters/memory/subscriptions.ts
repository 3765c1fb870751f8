/**
 * One process. Sold windows in a map. The time of day decides whether a window is open. It is deleted by the monotonic clock: a time
 * of day that is set ahead, and back again, ends no window that was paid for.
 */
import { type Clock, systemClock } from '../../ports/clock.js'
import type { SubscriptionRecord, SubscriptionStore } from '../../ports/subscriptions.js'
import { CallCount } from './call-count.js'
import { Expiry } from './expiry-by-second.js'

interface Window {
  readonly id: string
  readonly record: SubscriptionRecord
  /** On the monotonic clock. */
  readonly expiresAtMs: number
  /** `undefined` where only time ends the window. */
  readonly calls: CallCount | undefined
}

export function memorySubscriptions({
  clock = systemClock,
}: {
  readonly clock?: Pick<Clock, 'now' | 'monotonic'>
} = {}) {
  const windows = new Map<string, Window>()
  const expiry = new Expiry<Window>()
  const forget = (window: Window | undefined): void => {
    if (!window) return
    windows.delete(window.id)
    expiry.drop(window)
  }
  const open = (id: string): Window | undefined => {
    const window = windows.get(id)
    return window && clock.now() < window.record.expiresAtMs ? window : undefined
  }
  return {
    get(id) {
      const window = open(id)
      return window?.calls ? { ...window.record, callsLeft: window.calls.left(clock.now()) } : window?.record
    },
    putIfAbsent(id, { endpoint, expiresAtMs, callsLeft }) {
      const leftMs = expiresAtMs - clock.now()
      const nowMs = clock.monotonic()
      expiry.collect(nowMs, forget)
      if (windows.has(id) || leftMs <= 0) return
      const calls = callsLeft === undefined ? undefined : new CallCount(callsLeft)
      const record = Object.freeze({ endpoint, expiresAtMs })
      const window = { id, record, expiresAtMs: nowMs + leftMs, calls }
      windows.set(id, window)
      expiry.file(window)
    },
    sweep() {
      expiry.collect(clock.monotonic(), forget)
    },
    delete(id) {
      forget(windows.get(id))
    },
    take(id, { endpoint, token, leaseMs }) {
      const window = open(id)
      if (window?.record.endpoint !== endpoint) return { verdict: 'none' }
      if (!window.calls) return { verdict: 'taken' }
      const nowMs = clock.now()
      if (!window.calls.take(token, nowMs, nowMs + leaseMs)) return { verdict: 'usedUp' }
      return { verdict: 'taken', callsLeft: window.calls.left(nowMs) }
    },
    use(id, token) {
      windows.get(id)?.calls?.use(token)
    },
    giveBack(id, token) {
      const calls = open(id)?.calls
      calls?.giveBack(token)
      return calls?.left(clock.now())
    },
  } satisfies SubscriptionStore
}
