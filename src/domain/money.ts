/** Money is a bigint of base units (millionths of a dollar, for USDC). No amount is ever a floating-point number. */
import { SvcError, shown } from './errors.js'
import { USDC_DECIMALS } from './network.js'

const USD = /^\$?(\d{1,13})(?:\.(\d{1,6}))?$/

/** Algorand's amounts are unsigned 64-bit integers. */
export const BASE_UNITS_MAX = 2n ** 64n - 1n

/**
 * Base units of a USD amount: `$0.01` and `0.01` are both `10000n`.
 *
 * @throws SvcError `invalid_price` for anything that is not a plain positive decimal of at most 6 places: what would
 * have to be rounded is refused, never rounded.
 */
export function usdToBaseUnits(usd: unknown): bigint {
  const match = typeof usd === 'string' ? USD.exec(usd) : null
  const baseUnits = match ? BigInt(match[1]! + (match[2] ?? '').padEnd(USDC_DECIMALS, '0')) : 0n
  if (baseUnits > 0n && baseUnits <= BASE_UNITS_MAX) return baseUnits
  const message = `A price is a positive USD amount of at most ${USDC_DECIMALS} decimals, such as '$0.01', not ${shown(usd)}`
  throw new SvcError(message, 'invalid_price')
}

const COST = /^\$?(\d{1,13})(?:\.(\d{1,30}))?$/

/** What something cost, such as `$0.0000213`, in base units, rounded up; `undefined` for what is no plain amount of zero or more. */
export function costInBaseUnits(usd: unknown): bigint | undefined {
  const match = typeof usd === 'string' ? COST.exec(usd) : null
  if (!match) return undefined
  const decimals = (match[2] ?? '').padEnd(USDC_DECIMALS, '0')
  const isAbove = /[1-9]/.test(decimals.slice(USDC_DECIMALS))
  return BigInt(match[1]! + decimals.slice(0, USDC_DECIMALS)) + (isAbove ? 1n : 0n)
}

/** `10000n` is `$0.01`; at least two decimals, no trailing zeros beyond them. */
export function formatUsd(baseUnits: bigint): string {
  const digits = baseUnits.toString().padStart(USDC_DECIMALS + 1, '0')
  const cents = digits.slice(-USDC_DECIMALS).replace(/0{1,4}$/, '')
  return `$${digits.slice(0, -USDC_DECIMALS)}.${cents}`
}

/** The USD number of an amount in base units, for display, never for payment. */
export function usdNumber(baseUnits: bigint): number {
  return Number(baseUnits) / 10 ** USDC_DECIMALS
}

const BASE_UNITS = /^(0|[1-9]\d{0,19})$/

/** Reads the wire's integer string; `undefined` for anything else (a number, a sign, a fraction, above 64 bits). */
export function parseBaseUnits(text: unknown): bigint | undefined {
  if (typeof text !== 'string' || !BASE_UNITS.test(text)) return undefined
  const baseUnits = BigInt(text)
  return baseUnits <= BASE_UNITS_MAX ? baseUnits : undefined
}
