/** Reads a quote for people and dashboards, never for payment: its price as a number, and its networks by their names. */
import { shown } from './errors.js'
import { parseBaseUnits, usdNumber, usdToBaseUnits } from './money.js'
import { type Network, type NetworkFacts, networkOf, USDC_ASSET_ID, USDC_DECIMALS } from './network.js'
import { networkFacts } from './network-definition.js'
import { primitiveText } from './untrusted-text.js'
import { isRecord, X402_VERSION } from './x402.js'

const USDC_IDS: ReadonlySet<string> = new Set(Object.values(USDC_ASSET_ID).map(String))

/**
 * The price in USD of a challenge, an `accepts` array, one of its entries, or any object with `amount` or
 * `maxAmountRequired` (base units) or `price` (USD), as text or as a number. An amount is what is paid, so a price beside
 * it is not read. Of several entries it is the price that `SvcClient` pays: the cheapest, of those that sell one call before those
 * that sell a window.
 *
 * `null` where no price can be read, or where the asset is not USDC on the entry's `network`: a public one, or the given one. An
 * entry without a network may name the USDC of either public network. `null` too where the first price that can be read would not
 * be paid: in version 1 of x402, under another scheme than `exact`, or in a flow that takes the money before the work.
 *
 * @example
 * const { requirements } = await client.quote('https://agent.example/summarize')
 * console.log(priceOf(requirements)) // 0.02
 */
export function priceOf(requirements: unknown, network?: Network): number | null {
  return priceIn(requirements, network === undefined ? undefined : networkFacts(network))
}

function priceIn(requirements: unknown, own: NetworkFacts | undefined): number | null {
  if (Array.isArray(requirements)) return cheapestIn(requirements, own)
  if (!isRecord(requirements)) return null
  const { x402Version: version = X402_VERSION, accepts } = requirements
  if (Array.isArray(accepts)) return version === X402_VERSION ? cheapestIn(accepts, own) : null
  return isPaid(requirements) ? statedIn(requirements, own) : null
}

function statedIn(requirements: Record<string, unknown>, own: NetworkFacts | undefined): number | null {
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

/** One number is different assets on different networks. */
function isInUsdc({ asset, network }: Record<string, unknown>, own: NetworkFacts | undefined): boolean {
  const known = network === undefined ? undefined : networkOf(network, own)
  if (network !== undefined && known === undefined) return false
  if (asset === undefined) return true
  const id = primitiveText(asset)
  return id !== undefined && (known === undefined ? USDC_IDS.has(id) : id === known.usdcId)
}

function cheapestIn(entries: readonly unknown[], own: NetworkFacts | undefined): number | null {
  const priced = entries.filter(isRecord).flatMap(entry => {
    const usd = statedIn(entry, own)
    return usd === null ? [] : { usd, isPaid: isPaid(entry), sellsWindow: isForWindow(entry) }
  })
  if (!priced[0]?.isPaid) return null
  const paid = priced.filter(entry => entry.isPaid)
  const calls = paid.filter(({ sellsWindow }) => !sellsWindow)
  return Math.min(...(calls.length > 0 ? calls : paid).map(({ usd }) => usd))
}

/** Other flows take the money before the work is done; a failed call would be charged. */
export function isPaid({ scheme = 'exact', extra }: Readonly<Record<string, unknown>>): boolean {
  const { paymentFlow = 'authorization' } = isRecord(extra) ? extra : {}
  return scheme === 'exact' && paymentFlow === 'authorization'
}

/** Whether an entry asks to be paid for a window of calls, as our sellers say in `extra`. */
export function isForWindow(entry: unknown): boolean {
  return isRecord(entry) && isRecord(entry.extra) && 'subscriptionPeriod' in entry.extra
}

function usdOf(price: string): number | null {
  try {
    return usdNumber(usdToBaseUnits(price))
  } catch {
    return null
  }
}

/** The networks of a quote, as people call them. An unknown one is a stranger's text, and shortened. */
export function quotedNetworks(accepts: readonly unknown[], own: NetworkFacts | undefined): string[] {
  const ids = accepts.flatMap(entry =>
    isRecord(entry) && typeof entry.network === 'string' ? [entry.network] : [],
  )
  return [...new Set(ids.map(id => networkOf(id, own)?.name ?? shown(id)))].slice(0, NETWORKS_SHOWN_MAX)
}

const NETWORKS_SHOWN_MAX = 5
