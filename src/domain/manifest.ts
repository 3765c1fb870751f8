/** The manifest: the facts that a stranger needs to call and pay this agent. */
import type { AgentDef } from './agent.js'
import type { EndpointDef } from './endpoint.js'
import type { JSONSchema } from './endpoint-schemas.js'
import { formatUsd } from './money.js'
import { type NetworkFacts, type NetworkKey, USDC_DECIMALS } from './network.js'
import { networkFacts } from './network-definition.js'
import { pathOfEndpoint } from './path-pattern.js'
import type { BalanceTerms } from './window-and-balance-terms.js'
import { BALANCE_ENDPOINT, BALANCE_KEY_HEADER } from './x402.js'

/** An agent's description of itself, at `/.well-known/svc.json`. */
export interface Manifest
  extends Pick<AgentDef, 'name' | 'handle' | 'description' | 'version' | 'skills' | 'payTo'> {
  /** The network that it is paid on: `mainnet` or `testnet`; the CAIP-2 id of any other. */
  readonly network: NetworkKey
  /** The listed endpoints. */
  readonly endpoints: readonly ManifestEndpoint[]
  /** The balances that it sells; absent where it sells none. */
  readonly balance?: ManifestBalance
  /** How the agent is paid. A manifest from a server has it. */
  readonly x402?: ManifestX402
  /** The signature of the manifest, if it is signed. */
  readonly signature?: ManifestSignature
}

/** The balances that an agent sells: money that is paid at once, from which calls take what they cost. */
export interface ManifestBalance extends BalanceTerms {
  /** The name of the endpoint that sells them. */
  readonly endpoint: string
  /** The header in which a call sends a balance's key. */
  readonly header: string
}

/** The signature of a manifest: over the canonical JSON (RFC 8785) of the whole manifest except this block, in UTF-8. */
export interface ManifestSignature {
  /** The only supported algorithm. */
  readonly alg: 'ed25519'
  /** The Algorand address whose key signed. */
  readonly address: string
  /** Base64 of 64 bytes. */
  readonly value: string
}

/** One endpoint, as strangers see it. */
export interface ManifestEndpoint
  extends Pick<EndpointDef, 'name' | 'path' | 'description' | 'method' | 'methods' | 'bodyType' | 'tags'> {
  /** The absolute URL at which it is called; of a pattern, with the names in place of the parameters. */
  readonly url: string
  /** USD, such as `$0.01`. For a price function its hint, else `dynamic`. */
  readonly price: string
  /** Whether every call costs `price`, the price depends on the call, or `price` buys a window. */
  readonly pricing: 'fixed' | 'dynamic' | 'subscription'
  /** How long a window stays open, such as `30d`. Only subscriptions have it. */
  readonly period?: string
  /** How many calls a window has. Only subscriptions with a count have it. */
  readonly calls?: number
  /** `false`: no balance pays for its calls. `only`: nothing else does. */
  readonly balance?: false | 'only'
  /** JSON Schema of the body, or of the query of a GET; `{}` where every input is accepted. */
  readonly input: JSONSchema
}

/** How the agent is paid: the facilitator, the network and the asset. */
export interface ManifestX402 {
  /** The URL of the facilitator that the seller prefers. */
  readonly facilitator: string
  /** CAIP-2 id. */
  readonly network: string
  /** USDC on this network. */
  readonly asset: {
    /** The asset's id; see {@link USDC_ASSET_ID}. */
    readonly id: number
    /** For people. */
    readonly symbol: 'USDC'
    /** How many decimals an amount in base units has: 6. */
    readonly decimals: number
  }
}

/**
 * Makes the manifest of an agent. Its endpoints are reached under `baseUrl` (an absolute URL, with or without a
 * trailing slash).
 *
 * @example
 * manifest(agent, 'https://agent.example').endpoints.map(({ url }) => url) // ['https://agent.example/summarize']
 */
export function manifest(agent: AgentDef, baseUrl: string): Manifest {
  const base = baseUrl.replace(/\/+$/, '')
  const { name, handle, description, version, skills, payTo } = agent
  const network = networkFacts(agent.network).key
  const endpoints = agent.endpoints.filter(def => def.listed).map(def => entry(def, base))
  const balance = agent.balance && {
    endpoint: BALANCE_ENDPOINT,
    ...agent.balance,
    header: BALANCE_KEY_HEADER,
  }
  const told = { name, handle, description, version, skills, network, payTo, endpoints }
  return { ...told, ...(balance && { balance }) }
}

export function manifestX402(network: NetworkFacts, facilitatorUrl: string): ManifestX402 {
  return {
    facilitator: facilitatorUrl,
    network: network.caip2,
    asset: { id: network.usdc, symbol: 'USDC', decimals: USDC_DECIMALS },
  }
}

function entry(def: EndpointDef, base: string): ManifestEndpoint {
  const { name, path, description, method, methods, bodyType, tags, input = {} } = def
  return {
    name,
    ...(path !== undefined && { path }),
    description,
    url: base + pathOfEndpoint(def),
    method,
    ...(methods && { methods }),
    ...(bodyType && { bodyType }),
    ...priceShown(def),
    input,
    tags,
  }
}

/** An endpoint's price, as the manifest, the card and the command line show it. */
export function priceShown(
  def: EndpointDef,
): Pick<ManifestEndpoint, 'price' | 'pricing' | 'period' | 'calls' | 'balance'> {
  const { amount, subscription, priceHint, balance, only } = def
  const paidBy = only ? ({ balance: 'only' } as const) : balance === false && { balance }
  if (amount === undefined) return { price: priceHint ?? 'dynamic', pricing: 'dynamic', ...paidBy }
  const price = formatUsd(BigInt(amount))
  if (subscription === undefined) return { price, pricing: 'fixed', ...paidBy }
  const { period, calls } = subscription
  return { price, pricing: 'subscription', period, ...(calls !== undefined && { calls }) }
}
