/** One process. Sold windows in a map. Each is deleted when it ends. */
import { type Clock, systemClock } from '../../ports/clock.js'
import type { SubscriptionRecord, SubscriptionStore } from '../../ports/subscriptions.js'
import { Expiry } from './expiry-by-second.js'

interface Window {
  readonly id: string
  readonly record: SubscriptionRecord
  readonly expiresAtMs: number
}

export function memorySubscriptions({ clock = systemClock }: { readonly clock?: Pick<Clock, 'now'> } = {}) {
  const windows = new Map<string, Window>()
  const expiry = new Expiry<Window>()
  const forget = (window: Window | undefined): void => {
    if (!window) return
    windows.delete(window.id)
    expiry.drop(window)
  }
  return {
    get(id) {
      const window = windows.get(id)
      if (window && clock.now() < window.expiresAtMs) return window.record
      forget(window)
      return undefined
    },
    put(id, { endpoint, expiresAtMs }) {
      const nowMs = clock.now()
      expiry.collect(nowMs, forget)
      forget(windows.get(id))
      if (expiresAtMs <= nowMs) return
      const window = { id, record: Object.freeze({ endpoint, expiresAtMs }), expiresAtMs }
      windows.set(id, window)
      expiry.file(window)
    },
    sweep(nowMs) {
      expiry.collect(nowMs, forget)
    },
    delete(id) {
      forget(windows.get(id))
    },
  } satisfies SubscriptionStore
}
