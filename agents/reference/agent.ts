/** The reference agent: text, and checks of those who sell over x402. What it sells depends on the network alone. */
import { networkFacts } from '../../src/domain/network-definition.js'
import { type AgentDef, defineAgent, type EndpointDef, type Network } from '../../src/index.js'
import { payeeCheckEndpoint } from './endpoints/payee-check.js'
import { summarizeEndpoint } from './endpoints/summarize.js'
import { verifySettlementEndpoint } from './endpoints/verify-settlement.js'
import { x402CheckEndpoint } from './endpoints/x402-check.js'
import type { Sources } from './sources.js'

/** Endpoints and health are under it; the manifest answers at the root, too. */
export const BASE_PATH = '/api'

interface Catalogue {
  readonly description: string
  readonly skills: readonly string[]
  endpoints(sources: Sources): readonly EndpointDef[]
}

const CATALOGUES = {
  mainnet: {
    description: 'Checks of payees, endpoints and settlements, and text tools, a request at a time',
    skills: ['x402', 'verification', 'trust', 'text'],
    endpoints: sources => [
      x402CheckEndpoint(sources),
      payeeCheckEndpoint(sources),
      summarizeEndpoint,
      verifySettlementEndpoint(sources),
    ],
  },
  elsewhere: {
    description: 'Text tools that any agent can buy, a request at a time',
    skills: ['x402', 'text'],
    endpoints: () => [summarizeEndpoint],
  },
} as const satisfies Record<string, Catalogue>

export interface ReferenceAgentOptions {
  readonly payTo: string
  readonly network: Network
  readonly sources: Sources
}

/** @throws SvcError `invalid_address`, `invalid_agent`, `invalid_network` */
export function referenceAgent({ payTo, network, sources }: ReferenceAgentOptions): AgentDef {
  const isMainnet = networkFacts(network).key === 'mainnet'
  const { description, skills, endpoints }: Catalogue = CATALOGUES[isMainnet ? 'mainnet' : 'elsewhere']
  return defineAgent({
    name: 'Reference agent',
    handle: 'reference-agent',
    description,
    skills: [...skills],
    payTo,
    network,
    endpoints: [...endpoints(sources)],
  })
}
