/** Functions that wait, built from a clock's timers and a caller's signal. */
import { SdkError } from '../domain/errors.js'
import type { Cancel, Clock } from './clock.js'

type Timers = Pick<Clock, 'after'>

/** Resolves after `ms` milliseconds. */
export function sleep(clock: Timers, ms: number): Promise<void> {
  return new Promise(resolve => clock.after(ms, resolve))
}

/** Calls back every `ms` milliseconds, until cancelled. */
export function every(clock: Timers, ms: number, callback: () => void): Cancel {
  const tick = () => {
    cancel = clock.after(ms, tick)
    callback()
  }
  let cancel = clock.after(ms, tick)
  return () => cancel()
}

/** The promise's value, or a rejection with `late` after `ms` milliseconds. The work continues. */
export function withTimeout<T>(
  clock: Timers,
  ms: number,
  promise: Promise<T>,
  late = `no answer within ${ms} ms`,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(late)))
    // `finally` would make two promises more, for every command of a store.
    promise.then(
      value => {
        cancel()
        resolve(value)
      },
      cause => {
        cancel()
        reject(cause)
      },
    )
  })
}

/**
 * The promise's value, or a rejection with `aborted` and this message as soon as the signal aborts. The work
 * continues.
 *
 * @throws SvcError `aborted`
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  message: string,
): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(new SdkError(message, 'aborted'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

export interface Deadline {
  /** Aborts after `ms` milliseconds, or when `signal` does. */
  readonly signal: AbortSignal
  /** Call it when the work has ended; otherwise a busy client collects minutes of timers. */
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
