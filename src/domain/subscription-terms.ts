/** What a window is sold for: its price, how long it lasts, and how many calls it has. */
import { asGiven, between, holding, type Option, optional, readOptions } from './option-checks.js'
import { periodMs } from './period.js'

/**
 * A window that one payment buys instead of one call. Calls in the window are free. It ends with its period, or with the
 * last of its `calls`, whichever is first.
 */
export interface Subscription {
  /** The price of one window in USD, such as `$5`. */
  readonly price: string
  /** How long a window stays open: a whole number of `ms`, `s`, `m`, `h`, `d` or `w`, such as `30d`; ten years at most. */
  readonly period: string
  /**
   * How many calls a window has, the call that buys it included: 1 to 1,000,000,000. A call that fails does not count.
   * Without it, only the period ends a window.
   */
  readonly calls?: number
}

/** A window that lasts ten years and is called three times a second has fewer. */
export const CALLS_MAX = 1_000_000_000

const WINDOW = {
  // Read where the endpoint is defined.
  price: asGiven<string>(),
  period: periodMs,
  calls: optional(between(1, CALLS_MAX)),
} satisfies Record<keyof Subscription, Option<unknown>>

export const soldWindow = holding(WINDOW, (given, name): Subscription | undefined => {
  if (given === undefined) return undefined
  readOptions(given as object, WINDOW, name)
  return Object.freeze({ ...(given as Subscription) })
})
