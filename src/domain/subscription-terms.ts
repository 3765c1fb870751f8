/** What a window is sold for: its price, how long it lasts, and how many calls it has. */
import { SvcError, shown } from './errors.js'
import { refuseUnknown } from './option-checks.js'

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

/** Its price is read where the endpoint is defined. @throws SvcError `invalid_endpoint` */
export function checkSubscription(subscription: unknown, refuse: (why: string) => never): void {
  if (typeof subscription !== 'object' || subscription === null)
    refuse('subscription is not {price, period, calls?}')
  refuseUnknown(subscription as object, ['price', 'period', 'calls'], 'subscription', refuse)
  const { period, calls } = subscription as { period?: unknown; calls?: unknown }
  periodMs(period)
  const isCount = Number.isInteger(calls) && (calls as number) >= 1 && (calls as number) <= CALLS_MAX
  if (calls !== undefined && !isCount)
    refuse(`subscription.calls is a whole number from 1 to ${CALLS_MAX}, not ${shown(calls)}`)
}

/** Such as ` for 30d`, and ` for 30d or 100 calls`; empty where a payment buys one call. */
export function windowShown({ period, calls }: Partial<Subscription>): string {
  // A manifest's are a stranger's.
  if (typeof period !== 'string' || period === '') return ''
  if (typeof calls !== 'number') return ` for ${period}`
  return ` for ${period} or ${calls} ${calls === 1 ? 'call' : 'calls'}`
}

const DAY_MS = 86_400_000
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS } as const

const PERIOD = /^([1-9]\d{0,8})(ms|s|m|h|d|w)$/

/** Ten years: later dates can be invalid in stores and headers. */
const PERIOD_MAX_MS = 3_653 * DAY_MS

/** @throws SvcError `invalid_endpoint` for any value except a positive whole number of ms, s, m, h, d or w, up to ten years. */
export function periodMs(period: unknown): number {
  const ms = readPeriodMs(period)
  if (ms !== undefined) return ms
  throw new SvcError(
    `A period is a whole number and a unit (ms, s, m, h, d, w), at most ten years, such as '30d', not ${shown(period)}`,
    'invalid_endpoint',
  )
}

/** As {@link periodMs}, for what another party says: `undefined` where it is no period. */
export function readPeriodMs(period: unknown): number | undefined {
  const match = typeof period === 'string' ? PERIOD.exec(period) : null
  const ms = match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : Number.POSITIVE_INFINITY
  return ms <= PERIOD_MAX_MS ? ms : undefined
}
