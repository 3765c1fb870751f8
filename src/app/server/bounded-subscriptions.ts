import type { Clock } from '../../ports/clock.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import { withTimeout } from '../../ports/waiting.js'

/**
 * A seller's own store of windows, which counts as down where it does not answer in time. A call that waited for it for
 * ever would hold its key and its payment for as long.
 */
export function boundedSubscriptions(
  store: SubscriptionStore,
  timeoutMs: number,
  clock: Pick<Clock, 'after'>,
): SubscriptionStore {
  const bounded = <T>(answer: T): T =>
    answer instanceof Promise ? (withTimeout(clock, timeoutMs, answer) as T) : answer
  return {
    get: id => bounded(store.get(id)),
    put: (id, record) => bounded(store.put(id, record)),
    sweep: nowMs => bounded(store.sweep(nowMs)),
    ...(store.now && { now: () => bounded(store.now!()) }),
    ...(store.delete && { delete: (id: string) => bounded(store.delete!(id)) }),
  }
}
