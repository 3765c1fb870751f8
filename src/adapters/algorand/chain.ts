/** The chain as one node (and perhaps an indexer) tells it. Promises: see the port. */
import type { Network } from '../../domain/network.js'
import type { Chain, Landing, Validity } from '../../ports/chain.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { Algod } from './algod-api.js'
import { checkedNode, type NodeWatch } from './checked-node.js'
import type { Indexer } from './indexer-api.js'
import { roundEstimate } from './round-estimate.js'

export interface ChainOptions {
  readonly network: Network
  readonly algod: Algod
  /** Asked where the node's blocks do not answer: windows too wide to be read one by one, blocks it keeps no more. */
  readonly indexer?: Indexer
  /** A round never takes longer than this while the network is well; what estimates grow by. */
  readonly roundMs?: number
  readonly clock?: Clock
  /** Asks the node for its network also where nobody asks it for anything else. */
  readonly watch?: NodeWatch
}

/** 6 minutes of rounds; a payment that is quoted the usual 60 s has 22 of them. */
const BLOCKS_MAX = 128n
const BLOCKS_AT_ONCE = 8
const INDEXER_AHEAD_MAX = 1_000n
const ROUND_MS = 3_300

export function algorandChain(options: ChainOptions): Chain & { close(): void } {
  const { network, algod, indexer, roundMs = ROUND_MS, clock = systemClock, watch } = options
  const node = checkedNode({ network, algod, watch, clock })
  const estimate = roundEstimate({ readRound: node.lastRound, roundMs, nowMs: clock.monotonic })

  async function lookup(txId: string, { firstValid, lastValid }: Validity): Promise<Landing> {
    // Read before any block: what is absent from all of them afterwards can never land.
    const tip = await node.lastRound()
    if (await landedRecently(txId)) return 'found'
    if (tip <= lastValid) return 'unknown'
    const narrow = lastValid - firstValid < BLOCKS_MAX
    const inRange = narrow ? await inBlocks(algod, txId, firstValid, lastValid) : 'unknown'
    const landing = inRange === 'unknown' && indexer ? await inIndex(indexer, txId, lastValid, tip) : inRange
    // The blocks do not say of which network they are: those of another one hold nothing of ours.
    if (landing === 'absent') await node.lastRound()
    return landing
  }

  /** The quick yes. Its no means only "not yet", so an error here is no reason to stop. */
  async function landedRecently(txId: string): Promise<boolean | undefined> {
    try {
      return (await algod.confirmedRound(txId)) !== undefined
    } catch {
      return undefined
    }
  }

  return {
    async round() {
      const known = await estimate()
      return node.status === 'wrongNetwork' ? undefined : known
    },
    status: () => node.status,
    close: node.close,
    async lookup(txId, window) {
      try {
        return await lookup(txId, window)
      } catch {
        return 'unknown'
      }
    },
    async hasLanded(txId) {
      try {
        await node.lastRound()
        return await landedRecently(txId)
      } catch {
        return undefined
      }
    },
  }
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
