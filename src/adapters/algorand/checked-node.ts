/**
 * A node's parameters, believed only while they are of our network. Its genesis hash stands in the same answer as its
 * last round, so each round that is read is checked anew: behind one URL a node may be replaced at any time.
 */
import { GENESIS_HASH, type Network } from '../../domain/network.js'
import type { ChainStatus } from '../../ports/chain.js'
import type { Cancel, Clock } from '../../ports/clock.js'
import type { Algod } from './algod-questions.js'
import { unavailable } from './node-answers.js'

export interface CheckedNode {
  readonly status: ChainStatus
  /** The node's last round. @throws SvcError `node_unavailable`, for a node of another network as well */
  lastRound(): Promise<bigint>
  close(): void
}

export interface CheckedNodeOptions {
  readonly network: Network
  readonly algod: Pick<Algod, 'suggestedParams'>
  readonly watch?: NodeWatch
  readonly clock: Pick<Clock, 'after'>
}

export interface NodeWatch {
  /** The node is asked at once, and again after each of these. */
  readonly everyMs: number
  /** Called once per change; not for a node that is right from the beginning. */
  readonly onChange: (status: ChainStatus, genesisHash: string | undefined) => void
}

export function checkedNode({ network, algod, watch, clock }: CheckedNodeOptions): CheckedNode {
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
      // A node of another network that does not answer for once is still not ours.
      if (status !== 'wrongNetwork') note('unanswered')
      throw cause
    })
    if (asked.genesisHash === GENESIS_HASH[network]) {
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
    get status() {
      return status
    },
    lastRound,
    close() {
      closed = true
      cancel?.()
    },
  }
}
