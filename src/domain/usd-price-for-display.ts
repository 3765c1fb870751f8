/** Reads a price in USD as a number, for people and dashboards, never for payment. */
import { parseBaseUnits, usdToBaseUnits } from './money.js'
import { type Network, type NetworkFacts, networkOf, USDC_ASSET_ID, USDC_DECIMALS } from './network.js'
import { networkFacts } from './network-definition.js'
import { isRecord } from './x402.js'

const USDC_IDS: ReadonlySet<string> = new Set(Object.values(USDC_ASSET_ID).map(String))

/**
 * The price in USD of a challenge, an `accepts` array, one of its entries, or any object with `amount` or
 * `maxAmountRequired` (base units) or `price` (USD), as text or as a number. An amount is what is paid, so a price beside
 * it is not read. `null` where no price can be read, or where the asset is not USDC on the entry's `network`: a public
 * one, or the given one. An entry without a network may name the USDC of either public network.
 *
 * @example
 * const { requirements } = await client.quote('https://agent.example/summarize')
 * console.log(priceOf(requirements)) // 0.02
 */
export function priceOf(requirements: unknown, network?: Network): number | null {
  return priceIn(requirements, network === undefined ? undefined : networkFacts(network))
}

function priceIn(requirements: unknown, own: NetworkFacts | undefined): number | null {
  if (Array.isArray(requirements)) return first(requirements, own)
  if (!isRecord(requirements)) return null
  if (Array.isArray(requirements.accepts)) return first(requirements.accepts, own)
  const { price, amount, maxAmountRequired } = requirements
  const stated = amount ?? maxAmountRequired
  if (stated !== undefined && stated !== null) {
    const baseUnits = parseBaseUnits(Number.isSafeInteger(stated) ? String(stated) : stated)
    return baseUnits === undefined || !isInUsdc(requirements, own) ? null : usdNumber(baseUnits)
  }
  if (typeof price === 'string') return usdOf(price)
  // Digits beyond base units come from floating point.
  return typeof price === 'number' ? usdOf(price.toFixed(USDC_DECIMALS)) : null
}

/** The USD number of an amount in base units, for display. */
export function usdNumber(baseUnits: bigint): number {
  return Number(baseUnits) / 10 ** USDC_DECIMALS
}

/** One number is different assets on different networks. */
function isInUsdc({ asset, network }: Record<string, unknown>, own: NetworkFacts | undefined): boolean {
  if (network === undefined) return asset === undefined || USDC_IDS.has(String(asset))
  const known = networkOf(network, own)
  return known !== undefined && (asset === undefined || String(asset) === known.usdcId)
}

function first(entries: readonly unknown[], own: NetworkFacts | undefined): number | null {
  for (const entry of entries) {
    const usd = priceIn(entry, own)
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
