/** Time, so that tests can own it. */
export interface Clock {
  /** The time of day, in milliseconds since the epoch. It may be set back. */
  now(): number
  /** Milliseconds since some moment, with fractions. Never set back: for durations and deadlines of one process. */
  monotonic(): number
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() }
