/** Time, so that tests can own it. `now` is milliseconds since the epoch. */
export interface Clock {
  /** The time, in milliseconds since the epoch. */
  now(): number
}

export const systemClock: Clock = { now: Date.now }
