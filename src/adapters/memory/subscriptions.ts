/** One process. Sold windows in a map. Each is deleted when it ends. */
import { type Clock, systemClock } from '../../ports/clock.js'
import type { SubscriptionRecord, SubscriptionStore } from '../../ports/subscriptions.js'
import { CallCount } from './call-count.js'
import { Expiry } from './expiry-by-second.js'

interface Window {
  readonly id: string
  readonly record: SubscriptionRecord
  readonly expiresAtMs: number
  /** `undefined` where only time ends the window. */
  readonly calls: CallCount | undefined
}

export function memorySubscriptions({ clock = systemClock }: { readonly clock?: Pick<Clock, 'now'> } = {}) {
  const windows = new Map<string, Window>()
  const expiry = new Expiry<Window>()
  const forget = (window: Window | undefined): void => {
    if (!window) return
    windows.delete(window.id)
    expiry.drop(window)
  }
  const open = (id: string): Window | undefined => {
    const window = windows.get(id)
    if (window && clock.now() < window.expiresAtMs) return window
    forget(window)
    return undefined
  }
  return {
    get(id) {
      const window = open(id)
      return window?.calls ? { ...window.record, callsLeft: window.calls.left(clock.now()) } : window?.record
    },
    putIfAbsent(id, { endpoint, expiresAtMs, callsLeft }) {
      const nowMs = clock.now()
      expiry.collect(nowMs, forget)
      if (open(id) || expiresAtMs <= nowMs) return
      const calls = callsLeft === undefined ? undefined : new CallCount(callsLeft)
      const window = { id, record: Object.freeze({ endpoint, expiresAtMs }), expiresAtMs, calls }
      windows.set(id, window)
      expiry.file(window)
    },
    sweep(nowMs) {
      expiry.collect(nowMs, forget)
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
