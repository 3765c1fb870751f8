import type { CallObserver } from '../../ports/call-observer.js'
import type { Logger } from '../../ports/logger.js'

/** Tells each observer. One that throws is logged, and keeps nothing from the others. */
export function tellObservers(
  callObservers: readonly CallObserver[],
  logger: Logger,
  what: (observer: CallObserver) => void,
): void {
  for (const observer of callObservers) {
    try {
      what(observer)
    } catch (cause) {
      logger.error({ err: cause }, 'an observer of calls threw')
    }
  }
}
