/** Reads a price in USD as a number, for people and dashboards, never for payment. */
import { parseBaseUnits, usdToBaseUnits } from './money.js'
import { isIdOf, type Network, type NetworkFacts, USDC_ASSET_ID, USDC_DECIMALS } from './network.js'
import { networkFacts } from './network-definition.js'
import { isRecord } from './x402.js'

const USDC_IDS: ReadonlySet<string> = new Set(Object.values(USDC_ASSET_ID).map(String))

/**
 * The price in USD of a challenge, an `accepts` array, one of its entries, or any object with `price` (USD), `amount`
 * or `maxAmountRequired` (base units), as text or as a number. `null` where no price can be read, or where the asset
 * is not USDC: that of a public network, or of the given one.
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
  const { price, amount, maxAmountRequired, asset } = requirements
  if (typeof price === 'string') return usdOf(price)
  // Digits beyond base units come from floating point.
  if (typeof price === 'number') return usdOf(price.toFixed(USDC_DECIMALS))
  if (asset !== undefined && !USDC_IDS.has(String(asset)) && !isOwn(requirements, own)) return null
  const stated = amount ?? maxAmountRequired
  const baseUnits = parseBaseUnits(Number.isSafeInteger(stated) ? String(stated) : stated)
  return baseUnits === undefined ? null : usdNumber(baseUnits)
}

/** The USD number of an amount in base units, for display. */
export function usdNumber(baseUnits: bigint): number {
  return Number(baseUnits) / 10 ** USDC_DECIMALS
}

/** The same number is another asset on another network. */
function isOwn({ asset, network }: Record<string, unknown>, own: NetworkFacts | undefined): boolean {
  return own !== undefined && String(asset) === own.usdcId && isIdOf(own, network)
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
