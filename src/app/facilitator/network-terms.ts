/** What a facilitator has to know of its network. No other file of the facilitator reads it. */
import { type NetworkFacts, networkIdsOf } from '../../domain/network.js'

export interface NetworkTerms {
  /** Both spellings of its id, CAIP-2's first. */
  readonly ids: readonly string[]
  readonly genesisId: string
  /** Base64. */
  readonly genesisHash: string
  /** The asset's number, as requirements write it. */
  readonly usdc: string
}

export function networkTerms(network: NetworkFacts): NetworkTerms {
  const { genesisId, genesisHash, usdcId } = network
  return { ids: networkIdsOf(network, 'both'), genesisId, genesisHash, usdc: usdcId }
}
