/** Opts an account in to USDC: a transfer of nothing to itself. */
import {
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  SignedTransaction,
  type Transaction,
} from 'algosdk'
import { ALGOD_TOKEN_HEADER, type Algod, algodOver } from '../../src/adapters/algorand/algod-api.js'
import { awaitFate } from '../../src/adapters/algorand/facilitating/await-fate.js'
import {
  ALREADY_IN_LEDGER,
  facilitatorNode,
} from '../../src/adapters/algorand/facilitating/facilitator-node.js'
import { nodeClient } from '../../src/adapters/algorand/node-clients.js'
import type { SigningKey } from '../../src/adapters/algorand/signing-keys.js'
import { bytesToSign, txIdOf } from '../../src/adapters/algorand/transaction-bytes.js'
import { SvcError } from '../../src/domain/errors.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { systemClock } from '../../src/ports/clock.js'
import { nodeOf, OPT_IN_FEE_MICRO_ALGOS } from './holdings.js'

/** About half a minute. */
const VALID_ROUNDS = 10n
const LANDS_WITHIN_MS = 40_000

/**
 * @returns the transaction id, once the transfer has landed; `undefined` where the account is opted in, and the node does not say by
 * which transfer
 * @throws SvcError `node_unavailable` or `optin_refused` where nothing landed or can land, `optin_unknown` where it may still land
 */
export async function optIn(
  network: NetworkFacts,
  key: SigningKey,
  algodUrl?: string,
): Promise<string | undefined> {
  const client = nodeClient(nodeOf(network, algodUrl), ALGOD_TOKEN_HEADER)
  const node = facilitatorNode(client)
  try {
    const { lastRound } = await node.suggestedParams()
    const txn = transferOfNothing(network, key.address, lastRound)
    const txId = txIdOf(txn)
    const sent = await node.submit([new SignedTransaction({ txn, sig: key.sign(bytesToSign(txn)) })])
    // A proxy that sends it twice passes on the answer to the second one.
    if (sent.said === 'refused' && !sent.words.includes(ALREADY_IN_LEDGER))
      throw refused(`The node refused the opt-in: ${sent.words}`, txId)
    const fate = await awaitFate(node, systemClock, txId, systemClock.monotonic() + LANDS_WITHIN_MS)
    if (fate?.is === 'landed') return txId
    const result = await lastLook(algodOver(client), network, txn).catch(() => 'unknown')
    if (result === 'opted in') return undefined
    const why = fate === undefined ? '' : `; the node dropped it: ${fate.words}`
    if (result === 'too late')
      throw refused(`The opt-in did not land in its ${VALID_ROUNDS} rounds${why}`, txId)
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

/** We set every field. The node cannot raise the fee or change the network. */
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

function refused(message: string, txId: string): SvcError {
  return new SvcError(message, 'optin_refused', undefined, { txId })
}
