/** What a facilitator has to know of its network. No other file of the facilitator reads it. */
import { GENESIS_HASH, GENESIS_ID, type Network, networkIdsOf, USDC_ASSET_ID } from '../../domain/network.js'

export interface NetworkTerms {
  /** Both spellings of its id, CAIP-2's first. */
  readonly ids: readonly string[]
  readonly genesisId: string
  /** Base64. */
  readonly genesisHash: string
  /** The asset's number, as requirements write it. */
  readonly usdc: string
}

export function networkTerms(network: Network): NetworkTerms {
  return {
    ids: networkIdsOf(network, 'both'),
    genesisId: GENESIS_ID[network],
    genesisHash: GENESIS_HASH[network],
    usdc: String(USDC_ASSET_ID[network]),
  }
}
