/**
 * The part of the indexer's REST API that we use. It answers for a validity too wide to be read block by block.
 *
 * @see https://developer.algorand.org/docs/rest-apis/indexer/
 */
import { isRecord } from '../../domain/x402.js'
import { bigintIn, type NodeClient, unavailable } from './node-response-reader.js'

export interface Indexer {
  /** Whether the indexer has the transaction, and the last round that it has indexed. */
  find(txId: string): Promise<{ found: boolean; currentRound: bigint }>
  close(): Promise<void>
}

export const INDEXER_TOKEN_HEADER = 'X-Indexer-API-Token'

export function indexerOver(node: NodeClient): Indexer {
  return {
    async find(txId) {
      const body = await node.get(`/v2/transactions?txid=${encodeURIComponent(txId)}`)
      const { transactions } = body
      if (!Array.isArray(transactions)) throw unavailable('transactions is no list')
      const found = transactions.some(transaction => isRecord(transaction) && transaction.id === txId)
      return { found, currentRound: bigintIn(body, 'current-round') }
    },
    close: () => node.close(),
  }
}
