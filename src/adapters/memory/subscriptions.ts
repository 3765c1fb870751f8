/**
 * One process. Sold windows in a map. The time of day decides whether a window is open. It is deleted by the monotonic clock: a time
 * of day that is set ahead, and back again, ends no window that was paid for.
 *
 * A reserved call has no lease: the process whose death would end it takes the store with it. By a lease, a clock that was set ahead
 * or a process that stood still gave back the calls that were at work, and five were delivered of two.
 */
import { type Clock, systemClock } from '../../ports/clock.js'
import type { SubscriptionRecord, SubscriptionStore } from '../../ports/subscriptions.js'
import { announceStore } from './announce-store.js'
import { Expiry } from './expiry-by-second.js'

interface Window {
  readonly id: string
  readonly record: SubscriptionRecord
  /** On the monotonic clock. */
  readonly expiresAtMs: number
  /** `undefined` where only time ends the window. */
  readonly calls: Calls | undefined
}

interface Calls {
  unused: number
  /** The tokens of the calls at work. */
  readonly reserved: Set<string>
}

function leftOf({ unused, reserved }: Calls): number {
  return unused - reserved.size
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
  const store = {
    get(id) {
      const window = open(id)
      return window?.calls ? { ...window.record, callsLeft: leftOf(window.calls) } : window?.record
    },
    putIfAbsent(id, { endpoint, expiresAtMs, callsLeft }) {
      const leftMs = expiresAtMs - clock.now()
      const nowMs = clock.monotonic()
      expiry.collect(nowMs, forget)
      if (windows.has(id) || leftMs <= 0) return
      const calls = callsLeft === undefined ? undefined : { unused: callsLeft, reserved: new Set<string>() }
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
    take(id, { endpoint, token }) {
      const window = open(id)
      if (window?.record.endpoint !== endpoint) return { verdict: 'none' }
      const { calls } = window
      if (!calls) return { verdict: 'taken' }
      if (leftOf(calls) < 1 && !calls.reserved.has(token)) return { verdict: 'usedUp' }
      calls.reserved.add(token)
      return { verdict: 'taken', callsLeft: leftOf(calls) }
    },
    use(id, token) {
      const calls = windows.get(id)?.calls
      if (calls?.reserved.delete(token)) calls.unused--
    },
    giveBack(id, token) {
      // Also when the clock says that the window has ended: the clock may be wrong, and nothing else gives this call back.
      const calls = windows.get(id)?.calls
      calls?.reserved.delete(token)
      return calls && open(id) && leftOf(calls)
    },
  } satisfies SubscriptionStore
  announceStore<[string, SubscriptionRecord][]>({
    name: 'subscriptions',
    // Whoever takes these has ended: no call is at work.
    records: () =>
      [...windows].map(([id, { record, calls }]) => [
        id,
        { ...record, ...(calls && { callsLeft: calls.unused }) },
      ]),
    restore: records => records.forEach(([id, record]) => void store.putIfAbsent(id, record)),
  })
  return store
}
