/** The manifest: what a stranger needs to know to call and pay this agent. */
import type { AgentDef } from './agent.js'
import type { EndpointDef, JSONSchema, Method } from './endpoint.js'
import { formatUsd, usdToBaseUnits } from './money.js'
import { CAIP2, type Network, USDC_ASSET_ID, USDC_DECIMALS } from './network.js'

/** What an agent says of itself, at `/.well-known/svc.json`. */
export interface Manifest {
  /** For people. */
  readonly name: string
  /** Unique on the network. */
  readonly handle: string
  /** What it does, in a line. */
  readonly description: string
  /** The agent's own version. */
  readonly version: string
  /** What it is good at, in words of its own. */
  readonly skills: readonly string[]
  /** The network that it is paid on. */
  readonly network: Network
  /** The Algorand address that is paid. */
  readonly payTo: string
  /** Those that are listed. */
  readonly endpoints: readonly ManifestEndpoint[]
  /** How it is paid; a served manifest has it. */
  readonly x402?: ManifestX402
  /** Who vouches for it, where somebody does. */
  readonly signature?: ManifestSignature
}

/** Who vouches for a manifest: over the canonical JSON (RFC 8785) of all of it but this block, in UTF-8. */
export interface ManifestSignature {
  /** The one algorithm there is. */
  readonly alg: 'ed25519'
  /** The Algorand address whose key signed. */
  readonly address: string
  /** Base64 of 64 bytes. */
  readonly value: string
}

/** One endpoint, as strangers see it. */
export interface ManifestEndpoint {
  /** As its route is called. */
  readonly name: string
  /** What it does, in a line. */
  readonly description: string
  /** Absolute. */
  readonly url: string
  /** HTTP method. */
  readonly method: Method
  /** USD, such as `$0.01`; for a price function its hint, else `dynamic`. */
  readonly price: string
  /** Whether `price` is what every call costs, depends on the call, or buys a window. */
  readonly pricing: 'fixed' | 'dynamic' | 'subscription'
  /** How long a window stays open, such as `30d`; of subscriptions only. */
  readonly period?: string
  /** JSON Schema of the body, or of the query of a GET; `{}` where anything is taken. */
  readonly input: JSONSchema
  /** What it is about. */
  readonly tags: readonly string[]
}

/** Through whom, where and in what the agent is paid. */
export interface ManifestX402 {
  /** The URL of the facilitator that the seller prefers. */
  readonly facilitator: string
  /** CAIP-2 id. */
  readonly network: string
  /** USDC, as this network has it. */
  readonly asset: {
    /** As in {@link USDC_ASSET_ID}. */
    readonly id: number
    /** For people. */
    readonly symbol: 'USDC'
    /** How many digits of an amount in base units come after the point: 6. */
    readonly decimals: number
  }
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
