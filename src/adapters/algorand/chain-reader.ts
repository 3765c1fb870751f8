import { sharedQuestions } from '../../domain/load-once.js'
import type { NetworkFacts } from '../../domain/network.js'
import { type Chain, INDEXER_AHEAD_MAX, type Landing, type Validity } from '../../ports/chain.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { Algod, Indexer } from './algod-and-indexer.js'
import { checkedNode, type NodeWatch } from './watch-node.js'

export interface ChainOptions {
  readonly network: NetworkFacts
  readonly algod: Algod
  /** Asked where the node's blocks cannot answer: too many rounds to read one by one, or blocks that it no longer keeps. */
  readonly indexer?: Indexer
  readonly clock?: Clock
  /** Checks the node's network at intervals, also while no call needs the node. */
  readonly watch?: NodeWatch
}

/** About 6 minutes of rounds. A payment with the usual 60 s is valid for 22 rounds. */
const BLOCKS_MAX = 128n
const BLOCKS_AT_ONCE = 8
const SEARCHES_KEPT = 1_000
/** The longest time of a round while the network works. Estimates grow by one round in this time. */
const ROUND_MS = 3_300

export function algorandChain(options: ChainOptions): Chain & { close(): void } {
  const { network, algod, indexer, clock = systemClock, watch } = options
  const node = checkedNode({ network, algod, watch, clock })
  const estimate = roundEstimate(node.lastRound, clock.monotonic)

  /**
   * The searches that run, and those that found or proved something: the rounds behind them never change. A stranger may ask
   * again and again about one payment that has expired, and each search takes a request for each of its rounds. A map, because
   * pages load this file, too: lru-cache would make a fifth of what they load.
   */
  const searches = new Map<string, Promise<Landing>>()

  async function lookup(txId: string, window: Validity): Promise<Landing> {
    // The last round is read before any block: a transaction that no block has can then never land.
    const tip = await node.lastRound()
    if (await landedRecently(txId)) return 'found'
    if (tip <= window.lastValid) return 'unknown'
    const key = `${txId} ${window.firstValid} ${window.lastValid}`
    const known = searches.get(key)
    if (known) return known
    const search = searchRounds(txId, window, tip)
    searches.set(key, search)
    if (searches.size > SEARCHES_KEPT) searches.delete(searches.keys().next().value!)
    const landing = await search.catch(() => 'unknown' as const)
    if (landing === 'unknown') searches.delete(key)
    return landing
  }

  async function searchRounds(
    txId: string,
    { firstValid, lastValid }: Validity,
    tip: bigint,
  ): Promise<Landing> {
    const narrow = lastValid - firstValid < BLOCKS_MAX
    const inRange = narrow ? await inBlocks(algod, txId, firstValid, lastValid) : 'unknown'
    const landing = inRange === 'unknown' && indexer ? await inIndex(indexer, txId, lastValid, tip) : inRange
    // Blocks do not name their network, and those of another network never hold our transaction: check the node again.
    if (landing === 'absent') await node.lastRound()
    return landing
  }

  /** The quick check. `false` means only "not yet", so the lookup goes on after an error. */
  function landedRecently(txId: string): Promise<boolean | undefined> {
    return algod.confirmedRound(txId).then(
      round => round !== undefined,
      () => undefined,
    )
  }

  async function round(): Promise<bigint | undefined> {
    const known = await estimate()
    return node.status === 'wrongNetwork' ? undefined : known
  }

  const asked = sharedQuestions<boolean | undefined>()

  return {
    round,
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
      // Strangers ask this: the reading of the round has checked the node's network, and all who ask now share one question.
      if ((await round()) === undefined) return undefined
      return asked(() => landedRecently(txId), txId)
    },
  }
}

/** A node that does not keep old blocks fails here; an indexer may still have the transaction. */
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
  const sameNetwork = currentRound <= tip + INDEXER_AHEAD_MAX
  return currentRound > lastValid && sameNetwork ? 'absent' : 'unknown'
}

/** After this time a reading is renewed in the background. */
const FRESH_MS = 3_000
/** After this time a reading is not used. */
const USABLE_MS = 15_000
/** The pause before a node that failed is asked again. */
const LEFT_ALONE_MS = 5_000

/** Grows more slowly than the network: at most a few rounds ahead of a network that has stopped. */
function roundEstimate(readRound: () => Promise<bigint>, nowMs: () => number) {
  let reading: { round: bigint; atMs: number } | undefined
  let failedAtMs = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    // The reading's age counts from the request: the response may be as old as that.
    const atMs = nowMs()
    try {
      reading = { round: await readRound(), atMs }
      failedAtMs = Number.NEGATIVE_INFINITY
    } catch {
      failedAtMs = nowMs()
    } finally {
      asking = undefined
    }
  }

  function estimate(): bigint | undefined {
    if (!reading) return undefined
    const ageMs = nowMs() - reading.atMs
    return ageMs < USABLE_MS ? reading.round + BigInt(Math.floor(ageMs / ROUND_MS)) : undefined
  }

  return async () => {
    const now = nowMs()
    const fresh = reading !== undefined && now - reading.atMs < FRESH_MS
    if (!fresh && now - failedAtMs >= LEFT_ALONE_MS) asking ??= ask()
    const known = estimate()
    if (known !== undefined || !asking) return known
    // Callers wait for the first reading. After a failure they do not wait: the node is asked in the background.
    if (failedAtMs !== Number.NEGATIVE_INFINITY) return undefined
    await asking
    return estimate()
  }
}
