/** Reads a price in USD as a number, for people and dashboards, never for payment. */
import { parseBaseUnits, usdToBaseUnits } from './money.js'
import { USDC_ASSET_ID, USDC_DECIMALS } from './network.js'
import { isRecord } from './x402.js'

const USDC_IDS: ReadonlySet<string> = new Set(Object.values(USDC_ASSET_ID).map(String))

/**
 * The price in USD of a challenge, an `accepts` array, one of its entries, or any object with `price` (USD), `amount`
 * or `maxAmountRequired` (base units), as text or as a number. `null` where no price can be read, or where the asset
 * is not USDC.
 *
 * @example
 * const { requirements } = await client.quote('https://agent.example/summarize')
 * console.log(priceOf(requirements)) // 0.02
 */
export function priceOf(requirements: unknown): number | null {
  if (Array.isArray(requirements)) return first(requirements)
  if (!isRecord(requirements)) return null
  if (Array.isArray(requirements.accepts)) return first(requirements.accepts)
  const { price, amount, maxAmountRequired, asset } = requirements
  if (typeof price === 'string') return usdOf(price)
  // Digits beyond base units come from floating point.
  if (typeof price === 'number') return usdOf(price.toFixed(USDC_DECIMALS))
  if (asset !== undefined && !USDC_IDS.has(String(asset))) return null
  const stated = amount ?? maxAmountRequired
  const baseUnits = parseBaseUnits(Number.isSafeInteger(stated) ? String(stated) : stated)
  return baseUnits === undefined ? null : usdNumber(baseUnits)
}

/** The USD number of an amount in base units, for display. */
export function usdNumber(baseUnits: bigint): number {
  return Number(baseUnits) / 10 ** USDC_DECIMALS
}

function first(entries: readonly unknown[]): number | null {
  for (const entry of entries) {
    const usd = priceOf(entry)
    if (usd !== null) return usd
  }
  return null
}

function usdOf(price: string): number | null {
  try {
    return usdNumber(usdToBaseUnits(price))
  } catch {
    return null
  }
}
