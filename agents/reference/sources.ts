/** What the agent reads: both networks' chains, the index, the registry, and other people's endpoints. */

import { DEFAULT_FACILITATOR, PUBLIC_NETWORKS } from '../../src/domain/network.js'
import { algodRegistry, type PublicNetwork, type Registry } from '../../src/index.js'
import { type ChainReader, chainReader } from './chain/chain-reader.js'
import { type SafeFetch, safeFetch } from './safe-fetch.js'

export interface Sources {
  /** The one that callers mean where they name none. */
  readonly network: PublicNetwork
  readonly chains: Readonly<Record<PublicNetwork, ChainReader>>
  readonly registries: Readonly<Partial<Record<PublicNetwork, Registry>>>
  readonly facilitatorUrl: string
  readonly fetch: SafeFetch
  close(): Promise<void>
}

export interface SourcesOptions {
  readonly network: PublicNetwork
  /** Stands in for testnet's node and indexer and for the facilitator; private addresses are read as well, as its own is one. */
  readonly sandboxUrl?: string
  /** The registry's identity application on that network. */
  readonly identityApp?: number
}

/** Nothing is opened before it is asked for. */
export function sourcesOf({ network, sandboxUrl, identityApp }: SourcesOptions): Sources {
  const urls = (of: PublicNetwork) => {
    if (sandboxUrl !== undefined && of === 'testnet') return { algodUrl: sandboxUrl, indexerUrl: sandboxUrl }
    const { algodUrl, indexerUrl } = PUBLIC_NETWORKS[of]
    return { algodUrl: algodUrl!, indexerUrl: indexerUrl! }
  }
  const mainnet = chainReader({ network: 'mainnet', ...urls('mainnet') })
  const testnet = chainReader({ network: 'testnet', ...urls('testnet') })
  const { algodUrl } = urls(network)
  const registry = identityApp === undefined ? undefined : algodRegistry({ network, algodUrl, identityApp })
  return {
    network,
    chains: { mainnet, testnet },
    registries: registry ? { [network]: registry } : {},
    facilitatorUrl: sandboxUrl ?? DEFAULT_FACILITATOR,
    fetch: safeFetch(sandboxUrl === undefined ? {} : { isAllowed: () => true }),
    close: async () => void (await Promise.all([mainnet.close(), testnet.close(), registry?.close()])),
  }
}
