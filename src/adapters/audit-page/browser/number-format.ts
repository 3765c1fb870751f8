/** Formats numbers, durations and amounts for people. */

const NUMBER = new Intl.NumberFormat('en-US')
const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export function count(value: number): string {
  return value < 100_000 ? NUMBER.format(value) : SHORT.format(value)
}

export function duration(ms: number): string {
  // The server's clock may have whole milliseconds only.
  if (ms === 0) return '<1 ms'
  if (ms < 0.0995) return `${Math.round(ms * 1_000)} µs`
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  return `${(ms / 1_000).toFixed(1)} s`
}

export function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB')
}

/** Base units of USDC. */
export function usd(baseUnits: bigint): string {
  const digits = baseUnits.toString().padStart(7, '0')
  return `$${NUMBER.format(BigInt(digits.slice(0, -6)))}.${digits.slice(-6).replace(/0{1,4}$/, '')}`
}
