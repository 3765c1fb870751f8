/** One document for both generations: clients of 0.3 read `url`, those of 1.0 `supportedInterfaces`. */
import type { AgentDef } from './agent.js'
import type { EndpointDef } from './endpoint.js'
import { priceShown } from './manifest.js'
import { USDC_DECIMALS } from './network.js'
import { networkFacts } from './network-definition.js'
import type { RegistryIdentity } from './registered-agent.js'
import { X402_VERSION } from './x402.js'

export const DEFAULT_EXT_BASE = 'https://svc.example'
export const CARD_PATHS = ['/.well-known/agent.json', '/.well-known/agent-card.json'] as const
export const A2A_PATH = '/a2a'
export const MCP_PATH = '/mcp'
/** The x402 extension of A2A: a task waits for its payment, which comes in a message. */
export const A2A_X402_URI = 'https://github.com/google-a2a/a2a-x402/v0.1'

export interface CardOptions {
  /** Absolute URLs of the free routes and of the endpoints, without a trailing slash. */
  readonly rootUrl: string
  readonly baseUrl: string
  readonly facilitatorUrl: string
  /** The base of the URIs of this package's own extensions. */
  readonly extBase: string
  readonly registry: RegistryIdentity
  /** The exact names of the MCP server's tools; `undefined` where there is no such server. */
  readonly tools: readonly string[] | undefined
}

const MODES = ['application/json', 'text/plain'] as const

export function extensionUris(extBase: string) {
  const uri = (name: string) => `${extBase.replace(/\/+$/, '')}/a2a/ext/${name}/v1`
  return { x402: uri('x402'), registry: uri('registry'), mcp: uri('mcp') }
}

export function agentCard(agent: AgentDef, options: CardOptions) {
  const url = options.rootUrl + A2A_PATH
  const listed = agent.endpoints.filter(def => def.listed)
  return {
    protocolVersion: '0.3.0',
    name: agent.name,
    description: agent.description,
    version: agent.version,
    url,
    preferredTransport: 'JSONRPC',
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    capabilities: {
      streaming: false,
      pushNotifications: false,
      extensions: extensions(agent, listed, options),
    },
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: listed.map(skill),
  }
}

/** The price of a skill. `amount` in base units is null where each request has its own price. */
export function skillPrice(def: EndpointDef) {
  return { skill: def.name, amount: def.amount ?? null, ...priceShown(def) }
}

function extensions(agent: AgentDef, listed: readonly EndpointDef[], options: CardOptions) {
  const uris = extensionUris(options.extBase)
  const network = networkFacts(agent.network)
  const { agentId = null, identityApp = null, reputationApp = null, validationApp = null } = options.registry
  return [
    {
      uri: uris.x402,
      description:
        'Every skill is paid per call with x402: send again with PAYMENT-SIGNATURE what was answered 402.',
      required: false,
      params: {
        x402Version: X402_VERSION,
        facilitator: options.facilitatorUrl,
        network: network.caip2,
        payTo: agent.payTo,
        asset: { id: network.usdc, symbol: 'USDC', decimals: USDC_DECIMALS },
        prices: listed.map(skillPrice),
      },
    },
    {
      uri: uris.registry,
      description: 'The identity that this agent claims on chain; null where it claims none.',
      required: false,
      params: { network: network.caip2, agentId, identityApp, reputationApp, validationApp },
    },
    options.tools && {
      uri: uris.mcp,
      description: 'The same skills as tools of an MCP server.',
      required: false,
      params: { url: options.baseUrl + MCP_PATH, transport: 'streamable-http', tools: options.tools },
    },
    {
      uri: A2A_X402_URI,
      description:
        'For clients that activate it: an unpaid message becomes a task that waits for its payment (x402 version 2) in a message.',
      required: false,
    },
  ].filter(extension => extension !== undefined)
}

function skill({ name, description, tags }: EndpointDef) {
  return {
    id: name,
    name,
    description: description || name,
    tags,
    inputModes: MODES,
    outputModes: ['application/json'],
  }
}
