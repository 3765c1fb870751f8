/** Sends transactions of our own making, and waits until they have landed. */
import {
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  SignedTransaction,
  type SuggestedParams,
  type Transaction,
} from 'algosdk'
import { type Algod, algodOver } from '../adapters/algorand/algod-and-indexer.js'
import { type NodeOptions, nodeClient } from '../adapters/algorand/ask-node.js'
import type { SigningKey } from '../adapters/algorand/signing-keys.js'
import { txIdOf } from '../adapters/algorand/transaction-hashes.js'
import { SvcError } from '../domain/errors.js'
import type { NetworkFacts } from '../domain/network.js'
import {
  ALREADY_IN_LEDGER,
  awaitFate,
  type FacilitatorNode,
  facilitatorNode,
} from '../facilitator/facilitator-node.js'
import { systemClock } from '../ports/clock.js'

export const FEE_MICRO_ALGOS = 1_000n
/** About half a minute. */
const VALID_ROUNDS = 10n
const LANDS_WITHIN_MS = 40_000

/** We set every field. The node cannot raise the fee or change the network. */
export function ownParams(
  network: Pick<NetworkFacts, 'genesisId' | 'genesisHashBytes'>,
  lastRound: bigint,
): SuggestedParams {
  // A transaction cannot be valid in round 0, which is where a new network stands.
  const firstValid = lastRound === 0n ? 1n : lastRound
  return {
    flatFee: true,
    fee: FEE_MICRO_ALGOS,
    minFee: FEE_MICRO_ALGOS,
    firstValid,
    lastValid: firstValid + VALID_ROUNDS,
    genesisID: network.genesisId,
    genesisHash: network.genesisHashBytes,
  }
}

export type Landing = { readonly txId: string } & (
  | { readonly is: 'landed' }
  /** Nothing landed, and nothing will. */
  | { readonly is: 'refused'; readonly words: string }
  /** It was sent, and may still land, also where this node dropped it: others may have it. `dropped` has the node's words. */
  | { readonly is: 'unknown'; readonly dropped?: string }
)

/** A group lands as a whole or not at all: its first transaction speaks for it. */
export async function sendGroup(
  node: FacilitatorNode,
  group: readonly SignedTransaction[],
): Promise<Landing> {
  const txId = txIdOf(group[0]!.txn)
  const sent = await node.submit(group)
  // A proxy may send it twice and pass on only the second answer. 'Already in ledger' then means that the first was accepted.
  if (sent.said === 'refused' && !sent.words.includes(ALREADY_IN_LEDGER))
    return { is: 'refused', words: sent.words, txId }
  const fate = await awaitFate(node, systemClock, txId, systemClock.monotonic() + LANDS_WITHIN_MS)
  if (fate?.is === 'landed') return { is: 'landed', txId }
  return { is: 'unknown', txId, ...(fate?.is === 'dropped' && { dropped: fate.words }) }
}

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
    const landing = await sendGroup(node, [new SignedTransaction({ txn, sig: key.sign(txn.bytesToSign()) })])
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
