/** The store of subscription windows, kept from waiting for ever and from growing for ever. */
import type { Clock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import { every, withTimeout } from '../../ports/waiting.js'
import { windowsNow } from '../charge/subscription-key.js'

/** What a seller's own store may take to answer. */
const STORE_TIMEOUT_MS = 5_000

/**
 * A seller's own store of windows, which counts as down where it does not answer in time. A call that waited for it for
 * ever would hold its key and its payment for as long.
 */
export function boundedSubscriptions(
  store: SubscriptionStore,
  clock: Pick<Clock, 'after'>,
): SubscriptionStore {
  const bounded = <T>(answer: T): T =>
    answer instanceof Promise ? (withTimeout(clock, STORE_TIMEOUT_MS, answer) as T) : answer
  return {
    get: id => bounded(store.get(id)),
    put: (id, record) => bounded(store.put(id, record)),
    sweep: nowMs => bounded(store.sweep(nowMs)),
    ...(store.now && { now: () => bounded(store.now!()) }),
    ...(store.delete && { delete: (id: string) => bounded(store.delete!(id)) }),
  }
}

const SWEEP_EVERY_MS = 60_000

/** Sweeps until told to stop. The timer keeps no process alive, and a store that fails is asked again next time. */
export function sweeping(store: SubscriptionStore, clock: Clock, logger: Logger): () => void {
  const sweep = async () => {
    try {
      // By the store's time, as windows end: a replica whose clock is ahead swept windows that were still open.
      await store.sweep(await windowsNow({ subscriptions: store, clock }))
    } catch (cause) {
      logger.warn({ err: cause }, 'the window store was not swept')
    }
  }
  return every(clock, SWEEP_EVERY_MS, () => void sweep())
}
