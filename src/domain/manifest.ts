/** The manifest: what a stranger needs to know to call and pay this agent. */
import type { AgentDef } from './agent.js'
import type { EndpointDef, JSONSchema, Method } from './endpoint.js'
import { formatUsd, usdToBaseUnits } from './money.js'
import { CAIP2, type Network, USDC_ASSET_ID, USDC_DECIMALS } from './network.js'

export interface Manifest {
  readonly name: string
  readonly handle: string
  readonly description: string
  readonly version: string
  readonly skills: readonly string[]
  readonly network: Network
  readonly payTo: string
  readonly endpoints: readonly ManifestEndpoint[]
  readonly x402?: ManifestX402
  readonly signature?: ManifestSignature
}

/** Who vouches for a manifest: over the canonical JSON (RFC 8785) of all of it but this block, in UTF-8. */
export interface ManifestSignature {
  readonly alg: 'ed25519'
  /** The Algorand address whose key signed. */
  readonly address: string
  /** Base64 of 64 bytes. */
  readonly value: string
}

export interface ManifestEndpoint {
  readonly name: string
  readonly description: string
  readonly url: string
  readonly method: Method
  /** USD, such as `$0.01`; for a price function its hint, else `dynamic`. */
  readonly price: string
  readonly pricing: 'fixed' | 'dynamic' | 'subscription'
  readonly period?: string
  readonly input: JSONSchema
  readonly tags: readonly string[]
}

export interface ManifestX402 {
  readonly facilitator: string
  readonly network: string
  readonly asset: { readonly id: number; readonly symbol: 'USDC'; readonly decimals: number }
}

/** The manifest of an agent whose endpoints are reached under `baseUrl` (an absolute URL, with or without a trailing slash). */
export function manifest(agent: AgentDef, baseUrl: string): Manifest {
  const base = baseUrl.replace(/\/+$/, '')
  const { name, handle, description, version, skills, network, payTo } = agent
  const endpoints = agent.endpoints.filter(def => def.listed).map(def => entry(def, `${base}/${def.name}`))
  return { name, handle, description, version, skills, network, payTo, endpoints }
}

export function manifestX402(network: Network, facilitatorUrl: string): ManifestX402 {
  return {
    facilitator: facilitatorUrl,
    network: CAIP2[network],
    asset: { id: USDC_ASSET_ID[network], symbol: 'USDC', decimals: USDC_DECIMALS },
  }
}

function entry(def: EndpointDef, url: string): ManifestEndpoint {
  const { name, description, method, tags, input = {} } = def
  return { name, description, url, method, ...priceShown(def), input, tags }
}

/** How an endpoint's price is shown wherever it is shown: the manifest, the card, the command line. */
export function priceShown(def: EndpointDef): Pick<ManifestEndpoint, 'price' | 'pricing' | 'period'> {
  if (def.subscription) {
    const { price, period } = def.subscription
    return { price: formatUsd(usdToBaseUnits(price)), pricing: 'subscription', period }
  }
  if (typeof def.price === 'string') return { price: formatUsd(usdToBaseUnits(def.price)), pricing: 'fixed' }
  return { price: def.priceHint ?? 'dynamic', pricing: 'dynamic' }
}
