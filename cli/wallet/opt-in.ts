/** Opts an account in to USDC: a transfer of nothing to itself. */
import {
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  SignedTransaction,
  type SuggestedParams,
} from 'algosdk'
import { ALGOD_TOKEN_HEADER } from '../../src/adapters/algorand/algod-api.js'
import { facilitatorNode } from '../../src/adapters/algorand/facilitating/facilitator-node.js'
import { nodeClient } from '../../src/adapters/algorand/node-clients.js'
import type { SigningKey } from '../../src/adapters/algorand/signing-keys.js'
import { bytesToSign } from '../../src/adapters/algorand/transaction-bytes.js'
import { SvcError } from '../../src/domain/errors.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { nodeOf } from '../nodes-of-network.js'
import { land, ownParams } from './land.js'

/**
 * @returns the transaction id, once the transfer has landed
 * @throws SvcError `node_unavailable` or `optin_refused` where nothing landed, `optin_unknown` where it may still land
 */
export async function optIn(network: NetworkFacts, key: SigningKey, algodUrl?: string): Promise<string> {
  const node = facilitatorNode(nodeClient(nodeOf(network, algodUrl), ALGOD_TOKEN_HEADER))
  try {
    const { lastRound } = await node.suggestedParams()
    const txn = optInOf(key.address, network.usdc, ownParams(network, lastRound))
    const landing = await land(node, [new SignedTransaction({ txn, sig: key.sign(bytesToSign(txn)) })])
    const { txId } = landing
    if (landing.is === 'landed') return txId
    if (landing.is === 'refused') {
      const message = `The node refused the opt-in: ${landing.words}`
      throw new SvcError(message, 'optin_refused', undefined, { txId })
    }
    const message = `The opt-in was sent, and has not been seen to land: look ${txId} up`
    throw new SvcError(message, 'optin_unknown', undefined, { txId })
  } finally {
    await node.close()
  }
}

export function optInOf(address: string, assetIndex: number, suggestedParams: SuggestedParams) {
  return makeAssetTransferTxnWithSuggestedParamsFromObject({
    ...{ sender: address, receiver: address, amount: 0n, assetIndex, suggestedParams },
  })
}
