const NUMBER = new Intl.NumberFormat('en-US')
const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const SHARE = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 })

export function count(value: number): string {
  return value < 100_000 ? NUMBER.format(value) : SHORT.format(value)
}

/** 100 % only where nothing is missing. */
export function percent(share: number): string {
  return SHARE.format(share === 1 ? 1 : Math.min(share, 0.999))
}

export function duration(ms: number): string {
  // The server's clock may have whole milliseconds only.
  if (ms === 0) return '<1 ms'
  if (ms < 0.0995) return `${Math.round(ms * 1_000)} µs`
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  return ms < 9_950 ? `${(ms / 1_000).toFixed(1)} s` : `${NUMBER.format(Math.round(ms / 1_000))} s`
}

export function usd(baseUnits: bigint): string {
  const digits = baseUnits.toString().padStart(7, '0')
  return `$${NUMBER.format(BigInt(digits.slice(0, -6)))}.${digits.slice(-6).replace(/0{1,4}$/, '')}`
}

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const

/** A span of time of a plot: `10 minutes`. */
export function span(ms: number): string {
  const [unitMs, unit] = UNITS.find(([unitMs]) => ms >= unitMs)!
  return ms === unitMs ? unit : `${ms / unitMs} ${unit}s`
}

/** An address that people compare by its ends. */
export function shortened(address: string): string {
  return address.length <= 20 ? address : `${address.slice(0, 8)}…${address.slice(-6)}`
}

/** The reader's own time zone: all times of the page are in it. */
export const TIME_ZONE = (() => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' }).formatToParts()
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return timeZone === 'UTC' ? timeZone : `${timeZone} (${offset})`
})()

export function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB')
}

export function dateAndTime(ms: number): string {
  return new Date(ms).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}

export function dateAndMinute(ms: number): string {
  return moment(ms, 60_000, DAY_MS)
}

const DAY_MS = 86_400_000

/** A moment on an axis whose marks are `stepMs` apart, of a plot that is `spanMs` long. */
export function moment(ms: number, stepMs: number, spanMs: number): string {
  const day = spanMs >= DAY_MS && ({ day: 'numeric', month: 'short' } as const)
  const time = stepMs < DAY_MS && ({ hour: '2-digit', minute: '2-digit' } as const)
  const seconds = stepMs < 60_000 && ({ second: '2-digit' } as const)
  return new Date(ms).toLocaleString('en-GB', { ...day, ...time, ...seconds })
}
