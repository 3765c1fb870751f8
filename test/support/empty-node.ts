import type { Algod, Indexer } from '../../src/adapters/algorand/algod-and-indexer.js'
import { MAINNET, TESTNET } from '../../src/domain/network.js'

/** A node of testnet that has produced 111 rounds of empty blocks, unless told otherwise. */
export function emptyNode(changes: Partial<Algod> = {}): Algod {
  const { lastRound = async () => 111n } = changes
  return {
    suggestedParams: async () => ({
      lastRound: await lastRound(),
      minFeeMicroAlgos: 1_000n,
      feePerByteMicroAlgos: 0n,
      genesisHash: TESTNET.genesisHash,
      genesisId: TESTNET.genesisId,
    }),
    lastRound,
    confirmedRound: async () => undefined,
    blockTxIds: async () => [],
    account: async () => ({ microAlgos: 0n, minBalanceMicroAlgos: 100_000n }),
    assetHolding: async () => undefined,
    close: async () => {},
    ...changes,
  }
}

export function indexAt(found: boolean, currentRound: bigint): Indexer {
  return { find: async () => ({ found, currentRound }), close: async () => {} }
}

export async function otherNetwork() {
  const { genesisHash, genesisId } = MAINNET
  return { ...(await emptyNode().suggestedParams()), genesisHash, genesisId }
}

export const down = async (): Promise<never> => {
  throw new Error('down')
}
