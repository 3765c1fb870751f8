/** Time. Nothing else in the source reads a clock or sets a timer, so that tests and simulations can own it. */
export interface Clock {
  /** The time of day, in milliseconds since the epoch. It may be set back. */
  now(): number
  /** Milliseconds since some moment, with fractions. Never set back: for durations and deadlines of one process. */
  monotonic(): number
  /** Calls back once after `ms` milliseconds; the function it returns takes that back. */
  after(ms: number, callback: () => void): Cancel
}

/** Takes back what was to be called. */
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

/** For clients: a program that waits for an answer, or to ask again, is not over. */
export const wakefulClock: Clock = {
  ...systemClock,
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}
