/** Opts an account in to USDC: a transfer of nothing to itself. */
import { makeAssetTransferTxnWithSuggestedParamsFromObject, SignedTransaction } from 'algosdk'
import { ALGOD_TOKEN_HEADER } from '../../src/adapters/algorand/algod-api.js'
import { awaitFate } from '../../src/adapters/algorand/facilitating/await-fate.js'
import { facilitatorNode } from '../../src/adapters/algorand/facilitating/facilitator-node.js'
import { nodeClient } from '../../src/adapters/algorand/node-clients.js'
import type { SigningKey } from '../../src/adapters/algorand/signing-keys.js'
import { bytesToSign, txIdOf } from '../../src/adapters/algorand/transaction-bytes.js'
import { SvcError } from '../../src/domain/errors.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { systemClock } from '../../src/ports/clock.js'
import { nodeOf } from '../nodes-of-network.js'
import { OPT_IN_FEE_MICRO_ALGOS } from './holdings.js'

/** About half a minute. */
const VALID_ROUNDS = 10n
const LANDS_WITHIN_MS = 40_000

/**
 * @returns the transaction id, once the transfer has landed
 * @throws SvcError `node_unavailable` or `optin_refused` where nothing landed, `optin_unknown` where it may still land
 */
export async function optIn(network: NetworkFacts, key: SigningKey, algodUrl?: string): Promise<string> {
  const node = facilitatorNode(nodeClient(nodeOf(network, algodUrl), ALGOD_TOKEN_HEADER))
  try {
    const { lastRound } = await node.suggestedParams()
    const txn = transferOfNothing(network, key.address, lastRound)
    const txId = txIdOf(txn)
    const sent = await node.submit([new SignedTransaction({ txn, sig: key.sign(bytesToSign(txn)) })])
    if (sent.said === 'refused') throw refused(sent.words, txId)
    const fate = await awaitFate(node, systemClock, txId, systemClock.monotonic() + LANDS_WITHIN_MS)
    if (fate?.is === 'landed') return txId
    if (fate?.is === 'dropped') throw refused(fate.words, txId)
    const message = `The opt-in was sent, and has not been seen to land: look ${txId} up`
    throw new SvcError(message, 'optin_unknown', undefined, { txId })
  } finally {
    await node.close()
  }
}

/** All of it is ours: a node that asks for a higher fee, or that is of another network, is not believed. */
function transferOfNothing(network: NetworkFacts, address: string, firstValid: bigint) {
  return makeAssetTransferTxnWithSuggestedParamsFromObject({
    sender: address,
    receiver: address,
    amount: 0n,
    assetIndex: network.usdc,
    suggestedParams: {
      flatFee: true,
      fee: OPT_IN_FEE_MICRO_ALGOS,
      minFee: OPT_IN_FEE_MICRO_ALGOS,
      firstValid,
      lastValid: firstValid + VALID_ROUNDS,
      genesisID: network.genesisId,
      genesisHash: network.genesisHashBytes,
    },
  })
}

function refused(words: string, txId: string): SvcError {
  return new SvcError(`The node refused the opt-in: ${words}`, 'optin_refused', undefined, { txId })
}
