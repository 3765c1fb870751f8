/**
 * The list at `/.well-known/x402`: indexes of x402 read it at the root of an origin to learn what is sold there. It says
 * less than the manifest. The 402 of each call decides what is paid.
 */
import type { AgentDef } from './agent.js'
import type { EndpointDef, Method } from './endpoint.js'
import { priceShown } from './manifest.js'
import { networkFacts } from './network-definition.js'
import { pathOfEndpoint } from './path-pattern.js'
import type { QuoteExtra } from './quote-fields.js'
import { windowShown } from './subscription-terms.js'
import { X402_VERSION } from './x402.js'

export interface ResourceList {
  readonly x402Version: typeof X402_VERSION
  readonly name: string
  readonly description: string
  readonly resources: readonly ListedResource[]
}

export interface ListedResource {
  readonly url: string
  readonly method: Method
  readonly description: string
  /** The 44-character id: indexes of Algorand list and compare that form. */
  readonly network: string
  readonly asset: string
  /** Base units of a fixed price or of a window; absent where the price is worked out for each call. */
  readonly amount?: string
  readonly payTo: string
  /** The seller's own fields of the quote, such as the tag that an index counts by. */
  readonly extra?: QuoteExtra
}

/** The listed endpoints of an agent, reached under `baseUrl`, which has no trailing slash. */
export function resourceList(agent: AgentDef, baseUrl: string): ResourceList {
  const { name, description, payTo } = agent
  const { wholeHashId, usdcId } = networkFacts(agent.network)
  const terms = { network: wholeHashId, asset: usdcId }
  const resources = agent.endpoints
    .filter(def => def.listed)
    .map(def => ({
      url: baseUrl + pathOfEndpoint(def),
      method: def.method,
      description: described(def),
      ...terms,
      ...(def.amount !== undefined && { amount: def.amount }),
      payTo,
      ...extraOf(agent, def),
    }))
  return { x402Version: X402_VERSION, name, description, resources }
}

/** As a quote has them: the endpoint's win. */
function extraOf(agent: AgentDef, def: EndpointDef): { readonly extra?: QuoteExtra } {
  const extra = { ...agent.extra, ...def.extra }
  return Object.keys(extra).length > 0 ? { extra } : {}
}

/**
 * The amount alone would look like the price of one call. Without an amount there would be no price at all. So the description
 * says it.
 */
function described(def: EndpointDef): string {
  const { price, pricing, period, calls } = priceShown(def)
  if (pricing === 'fixed') return def.description
  const said = `Price: ${price}${windowShown({ period, calls })}.`
  return def.description === '' ? said : `${def.description} ${said}`
}
