import { SdkError } from '../domain/errors.js'

/** Time. Only implementations of this port read a clock or set a timer, so that tests and simulations can control time. */
export interface Clock {
  /** The time of day, in milliseconds since the epoch. It may be set back. */
  now(): number
  /** Milliseconds since an arbitrary moment, with fractions. Never set back: for durations and deadlines within one process. */
  monotonic(): number
  /** Calls back once after `ms` milliseconds. The returned function cancels the timer. */
  after(ms: number, callback: () => void): Cancel
}

/** Cancels a timer. */
export type Cancel = () => void

/** For servers: its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback) => timerOf(ms, callback, true),
}

/** For clients: its timers keep the process alive, because a program that waits for an answer or a retry is not finished. */
export const wakefulClock: Clock = {
  ...systemClock,
  after: (ms, callback) => timerOf(ms, callback, false),
}

function timerOf(ms: number, callback: () => void, isIdle: boolean): Cancel {
  // For a longer time Node and browsers call back at once.
  const timer = setTimeout(callback, Math.min(ms, 2 ** 31 - 1))
  if (isIdle) timer.unref()
  return () => clearTimeout(timer)
}

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
  late: string | Error = `no answer within ${ms} ms`,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(late instanceof Error ? late : new Error(late)))
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
