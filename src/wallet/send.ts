/** Sends transactions of our own making, and waits until they have landed. */
import type { SignedTransaction, SuggestedParams } from 'algosdk'
import { txIdOf } from '../adapters/algorand/transaction-bytes.js'
import type { NetworkFacts } from '../domain/network.js'
import { awaitFate } from '../facilitator/await-fate.js'
import { ALREADY_IN_LEDGER, type FacilitatorNode } from '../facilitator/facilitator-node.js'
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
