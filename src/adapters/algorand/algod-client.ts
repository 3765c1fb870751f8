/** A client of an Algorand node, on connections of its own. */
import { ALGOD_TOKEN_HEADER, type Algod, algodOver } from './algod-api.js'
import { type NodeOptions, nodeClient } from './node-connection.js'

export type { AccountState, Algod, AssetHolding, SuggestedParams } from './algod-api.js'
export type { NodeOptions } from './node-connection.js'

export function algodClient(options: NodeOptions): Algod {
  return algodOver(nodeClient(options, ALGOD_TOKEN_HEADER))
}
