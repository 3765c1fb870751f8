/** The chain as one node (and perhaps an indexer) tells it. Promises: see the port. */
import { GENESIS_HASH, type Network } from '../../domain/network.js'
import type { Chain, Landing } from '../../ports/chain.js'
import type { Algod } from './algod-questions.js'
import type { Indexer } from './indexer-questions.js'
import { roundEstimate } from './round-estimate.js'

export interface ChainOptions {
  readonly network: Network
  readonly algod: Algod
  /** Asked where the node's blocks do not answer: windows too wide to be read one by one, blocks it keeps no more. */
  readonly indexer?: Indexer
  /** A round never takes longer than this while the network is well; what estimates grow by. */
  readonly roundMs?: number
  readonly nowMs?: () => number
}

/** 3 minutes of rounds; a payment that is quoted the usual 60 s has 22 of them. */
const BLOCKS_MAX = 128n
const BLOCKS_AT_ONCE = 8
const INDEXER_AHEAD_MAX = 1_000n
const ROUND_MS = 3_300

export function algorandChain(options: ChainOptions): Chain {
  const { network, algod, indexer, roundMs = ROUND_MS, nowMs = () => performance.now() } = options
  const round = roundEstimate({ readRound: algod.lastRound, roundMs, nowMs })
  let onOurNetwork = false

  /** A node of another network would "prove" that nothing of ours ever landed. Asked until it was right once. */
  async function checkNetwork(): Promise<boolean> {
    onOurNetwork ||= (await algod.suggestedParams()).genesisHash === GENESIS_HASH[network]
    return onOurNetwork
  }

  async function lookup(txId: string, { firstValid, lastValid }: Window): Promise<Landing> {
    if (!(await checkNetwork())) return 'unknown'
    if (await landedRecently(txId)) return 'found'
    // Read before any block: what is absent from all of them afterwards can never land.
    const tip = await algod.lastRound()
    if (tip <= lastValid) return 'unknown'
    const narrow = lastValid - firstValid < BLOCKS_MAX
    const landing = narrow ? await inBlocks(algod, txId, firstValid, lastValid) : 'unknown'
    return landing === 'unknown' && indexer ? inIndex(indexer, txId, lastValid, tip) : landing
  }

  /** The quick yes. Its no means nothing, so an error here is no reason to stop. */
  async function landedRecently(txId: string): Promise<boolean> {
    try {
      return (await algod.confirmedRound(txId)) !== undefined
    } catch {
      return false
    }
  }

  return {
    round,
    async lookup(txId, window) {
      try {
        return await lookup(txId, window)
      } catch {
        return 'unknown'
      }
    },
  }
}

interface Window {
  readonly firstValid: bigint
  readonly lastValid: bigint
}

/** A node that keeps no old blocks errs here, and an indexer may still know. */
async function inBlocks(algod: Algod, txId: string, firstValid: bigint, lastValid: bigint): Promise<Landing> {
  const rounds = Array.from(
    { length: Number(lastValid - firstValid) + 1 },
    (_, at) => firstValid + BigInt(at),
  )
  try {
    for (let at = 0; at < rounds.length; at += BLOCKS_AT_ONCE) {
      const blocks = await Promise.all(rounds.slice(at, at + BLOCKS_AT_ONCE).map(algod.blockTxIds))
      if (blocks.some(ids => ids.includes(txId))) return 'found'
    }
    return 'absent'
  } catch {
    return 'unknown'
  }
}

async function inIndex(indexer: Indexer, txId: string, lastValid: bigint, tip: bigint): Promise<Landing> {
  const { found, currentRound } = await indexer.find(txId)
  if (found) return 'found'
  // An indexer does not say which network it follows; one that is far ahead of our node follows another.
  const sameNetwork = currentRound <= tip + INDEXER_AHEAD_MAX
  return currentRound > lastValid && sameNetwork ? 'absent' : 'unknown'
}
