/** How long a window or a balance lasts, and for how long an answer is kept. */
import { SvcError, shown } from './errors.js'

const DAY_MS = 86_400_000
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS } as const

const PERIOD = /^([1-9]\d{0,8})(ms|s|m|h|d|w)$/

/** Ten years: later dates can be invalid in stores and headers. */
const PERIOD_MAX_MS = 3_653 * DAY_MS

/** @throws SvcError `invalid_endpoint` for any value except a positive whole number of ms, s, m, h, d or w, up to ten years. */
export function periodMs(period: unknown): number {
  const ms = readPeriodMs(period)
  if (ms !== undefined) return ms
  const message = `A period is a whole number and a unit (ms, s, m, h, d, w), at most ten years, such as '30d', not ${shown(period)}`
  throw new SvcError(message, 'invalid_endpoint')
}

/** As {@link periodMs}, for what another party says: `undefined` where it is no period. */
export function readPeriodMs(period: unknown): number | undefined {
  const match = typeof period === 'string' ? PERIOD.exec(period) : null
  const ms = match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : Number.POSITIVE_INFINITY
  return ms <= PERIOD_MAX_MS ? ms : undefined
}

/** Such as ` for 30d`, and ` for 30d or 100 calls`; empty where a payment buys one call. */
export function windowShown({ period, calls }: { period?: unknown; calls?: unknown }): string {
  // A manifest's are a stranger's.
  if (typeof period !== 'string' || period === '') return ''
  if (typeof calls !== 'number') return ` for ${period}`
  return ` for ${period} or ${calls} ${calls === 1 ? 'call' : 'calls'}`
}
