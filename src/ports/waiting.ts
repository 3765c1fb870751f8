/** What everybody builds from a clock's timers. */
import type { Cancel, Clock } from './clock.js'

type Timers = Pick<Clock, 'after'>

/** Resolves after `ms` milliseconds. */
export function sleep(clock: Timers, ms: number): Promise<void> {
  return new Promise(resolve => clock.after(ms, resolve))
}

/** Calls back every `ms` milliseconds, until it is told to stop. */
export function every(clock: Timers, ms: number, callback: () => void): Cancel {
  const tick = () => {
    cancel = clock.after(ms, tick)
    callback()
  }
  let cancel = clock.after(ms, tick)
  return () => cancel()
}

/** The promise's value, or after `ms` milliseconds a rejection with `late`. The work itself goes on. */
export function withTimeout<T>(
  clock: Timers,
  ms: number,
  promise: Promise<T>,
  late = `no answer within ${ms} ms`,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(late)))
    promise.then(resolve, reject).finally(cancel)
  })
}

export interface Deadline {
  /** Aborts after `ms` milliseconds, or when `signal` does. */
  readonly signal: AbortSignal
  /** To be called when the work has ended: a busy client would collect minutes of timers. */
  clear(): void
}

export function deadline(clock: Timers, ms: number, signal?: AbortSignal): Deadline {
  const ended = new AbortController()
  const abort = () => ended.abort(signal?.reason)
  const cancel = clock.after(ms, () => ended.abort(new Error(`no answer within ${ms} ms`)))
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  return {
    signal: ended.signal,
    clear() {
      cancel()
      signal?.removeEventListener('abort', abort)
    },
  }
}
