/** Keeps a window store from growing for ever: what has ended is dropped once a minute. */
import type { Clock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import { every } from '../../ports/waiting.js'
import { windowsNow } from '../charge/subscription-key.js'

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
