/** Time. Only implementations of this port read a clock or set a timer, so that tests and simulations can control time. */
export interface Clock {
  /** The time of day, in milliseconds since the epoch. It may be set back. */
  now(): number
  /**
   * Milliseconds since an arbitrary moment, with fractions. Never set back: for durations and deadlines within one
   * process.
   */
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
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/**
 * For clients: its timers keep the process alive, because a program that waits for an answer or a retry is not
 * finished.
 */
export const wakefulClock: Clock = {
  ...systemClock,
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}
