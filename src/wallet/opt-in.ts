/** Opts an account in to USDC: a transfer of nothing to itself. */
import {
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  SignedTransaction,
  type SuggestedParams,
  type Transaction,
} from 'algosdk'
import { type Algod, algodOver } from '../adapters/algorand/node-clients.js'
import { type NodeOptions, nodeClient } from '../adapters/algorand/node-response-reader.js'
import type { SigningKey } from '../adapters/algorand/signing-keys.js'
import { bytesToSign } from '../adapters/algorand/transaction-bytes.js'
import { SvcError } from '../domain/errors.js'
import type { NetworkFacts } from '../domain/network.js'
import { facilitatorNode } from '../facilitator/facilitator-node.js'
import { ownParams, sendGroup } from './send.js'

/**
 * @returns the transaction id, once the transfer has landed; `undefined` where the account is opted in, and the node does not say by
 * which transfer
 * @throws SvcError `node_unavailable` or `optin_refused` where nothing landed or can land, `optin_unknown` where it may still land
 */
export async function optIn(
  network: NetworkFacts,
  key: SigningKey,
  at: NodeOptions,
): Promise<string | undefined> {
  const client = nodeClient(at)
  const node = facilitatorNode(client)
  try {
    const { lastRound } = await node.suggestedParams()
    const txn = optInOf(key.address, network.usdc, ownParams(network, lastRound))
    const landing = await sendGroup(node, [new SignedTransaction({ txn, sig: key.sign(bytesToSign(txn)) })])
    const { txId } = landing
    if (landing.is === 'landed') return txId
    if (landing.is === 'refused') throw refused(`The node refused the opt-in: ${landing.words}`, txId)
    const result = await lastLook(algodOver(client), network, txn).catch(() => 'unknown')
    if (result === 'opted in') return undefined
    const why = landing.dropped === undefined ? '' : `; the node dropped it: ${landing.dropped}`
    if (result === 'too late') throw refused(`The opt-in did not land while it was valid${why}`, txId)
    const message = `The opt-in was sent, and has not been seen to land${why}. It may still land: look ${txId} up`
    throw new SvcError(message, 'optin_unknown', undefined, { txId, charged: 'maybe' })
  } finally {
    await node.close()
  }
}

/** The round is asked for first: an account that has not opted in after the last valid one never will by this transfer. */
async function lastLook(algod: Algod, { usdc }: NetworkFacts, { sender, lastValid }: Transaction) {
  const round = await algod.lastRound()
  if ((await algod.assetHolding(String(sender), usdc)) !== undefined) return 'opted in'
  return round > lastValid ? 'too late' : 'unknown'
}

function refused(message: string, txId: string): SvcError {
  return new SvcError(message, 'optin_refused', undefined, { txId })
}

export function optInOf(address: string, assetIndex: number, suggestedParams: SuggestedParams) {
  return makeAssetTransferTxnWithSuggestedParamsFromObject({
    ...{ sender: address, receiver: address, amount: 0n, assetIndex, suggestedParams },
  })
}
