/** The last round of a node of our network: read and checked, and estimated between readings. */
import type { NetworkFacts } from '../../domain/network.js'
import type { ChainStatus } from '../../ports/chain.js'
import type { Cancel, Clock } from '../../ports/clock.js'
import type { Algod } from './node-clients.js'
import { unavailable } from './node-response-reader.js'

interface CheckedNodeOptions {
  readonly network: NetworkFacts
  readonly algod: Pick<Algod, 'suggestedParams'>
  readonly watch?: NodeWatch
  readonly clock: Pick<Clock, 'after'>
}

export interface NodeWatch {
  /** The interval of the checks. The first is at once. */
  readonly everyMs: number
  /** Called once for each change, but not when the first check succeeds. */
  readonly onChange: (status: ChainStatus, genesisHash: string | undefined) => void
}

/** The genesis hash comes in the same response as the last round: another node may take the place of this one at any time. */
export function checkedNode({ network, algod, watch, clock }: CheckedNodeOptions) {
  let status: ChainStatus = 'unasked'
  let genesisHash: string | undefined
  let cancel: Cancel | undefined
  let closed = false

  function note(found: ChainStatus, hash?: string): void {
    const changed = found !== status || hash !== genesisHash
    const quiet = status === 'unasked' && found === 'ok'
    status = found
    genesisHash = hash
    if (changed && !quiet && !closed) watch?.onChange(found, hash)
  }

  async function lastRound(): Promise<bigint> {
    const asked = await algod.suggestedParams().catch(cause => {
      // A node of another network that fails to answer once is still of another network.
      if (status !== 'wrongNetwork') note('unanswered')
      throw cause
    })
    if (asked.genesisHash === network.genesisHash) {
      note('ok')
      return asked.lastRound
    }
    note('wrongNetwork', asked.genesisHash)
    throw unavailable('it is of another network')
  }

  async function check(everyMs: number): Promise<void> {
    await lastRound().catch(() => {})
    if (!closed) cancel = clock.after(everyMs, () => void check(everyMs))
  }

  if (watch) void check(watch.everyMs)
  return {
    get status(): ChainStatus {
      return status
    },
    lastRound,
    close() {
      closed = true
      cancel?.()
    },
  }
}

/** Grows more slowly than the network: at most a few rounds ahead of a network that has stopped. */
interface RoundEstimateOptions {
  readonly readRound: () => Promise<bigint>
  readonly roundMs: number
  readonly nowMs: () => number
}

/** After this time a reading is renewed in the background. */
const FRESH_MS = 3_000
/** After this time a reading is not used. */
const USABLE_MS = 15_000
/** The pause before a node that failed is asked again. */
const LEFT_ALONE_MS = 5_000

export function roundEstimate({
  readRound,
  roundMs,
  nowMs,
}: RoundEstimateOptions): () => Promise<bigint | undefined> {
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
    return ageMs < USABLE_MS ? reading.round + BigInt(Math.floor(ageMs / roundMs)) : undefined
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
