/** What the agent reads: both networks' chains, the index, the registry, and other people's endpoints. */

import { type SafeFetch, safeFetch } from '../../src/adapters/safe-fetch/safe-fetch.js'
import { DEFAULT_ALGOD, DEFAULT_FACILITATOR, DEFAULT_INDEXER } from '../../src/domain/network.js'
import { algodRegistry, type Network, type Registry } from '../../src/index.js'
import { type ChainReader, chainReader } from './chain/chain-reader.js'

export interface Sources {
  /** The one that callers mean where they name none. */
  readonly network: Network
  readonly chains: Readonly<Record<Network, ChainReader>>
  readonly registries: Readonly<Partial<Record<Network, Registry>>>
  readonly facilitatorUrl: string
  readonly fetch: SafeFetch
  close(): Promise<void>
}

export interface SourcesOptions {
  readonly network: Network
  /** Stands in for testnet's node and indexer and for the facilitator; private addresses are read as well, as its own is one. */
  readonly sandboxUrl?: string
  /** The registry's identity application on that network. */
  readonly identityApp?: number
}

/** Nothing is opened before it is asked for. */
export function sourcesOf({ network, sandboxUrl, identityApp }: SourcesOptions): Sources {
  const urls = (of: Network) =>
    sandboxUrl !== undefined && of === 'testnet'
      ? { algodUrl: sandboxUrl, indexerUrl: sandboxUrl }
      : { algodUrl: DEFAULT_ALGOD[of], indexerUrl: DEFAULT_INDEXER[of] }
  const mainnet = chainReader({ network: 'mainnet', ...urls('mainnet') })
  const testnet = chainReader({ network: 'testnet', ...urls('testnet') })
  const { algodUrl } = urls(network)
  const registry = identityApp === undefined ? undefined : algodRegistry({ network, algodUrl, identityApp })
  return {
    network,
    chains: { mainnet, testnet },
    registries: registry ? { [network]: registry } : {},
    facilitatorUrl: sandboxUrl ?? DEFAULT_FACILITATOR,
    fetch: safeFetch({
      userAgent: 'svc-reference-agent',
      ...(sandboxUrl !== undefined && { isAllowed: () => true }),
    }),
    close: async () => void (await Promise.all([mainnet.close(), testnet.close(), registry?.close()])),
  }
}
