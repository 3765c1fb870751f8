/** A client of an indexer, on connections of its own. */
import { INDEXER_TOKEN_HEADER, type Indexer, indexerOver } from './indexer-api.js'
import { type NodeOptions, nodeClient } from './node-connection.js'

export type { Indexer } from './indexer-api.js'

export function indexerClient(options: NodeOptions): Indexer {
  return indexerOver(nodeClient(options, INDEXER_TOKEN_HEADER))
}
