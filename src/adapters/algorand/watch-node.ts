/** Watches that a node is of our network: each reading of its last round checks it, and so does each interval. */
import type { NetworkFacts } from '../../domain/network.js'
import type { ChainStatus } from '../../ports/chain.js'
import { type Clock, every } from '../../ports/clock.js'
import type { Algod } from './algod-and-indexer.js'
import { unavailable } from './ask-node.js'

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

  const check = () => void lastRound().catch(() => {})
  if (watch) check()
  const stop = watch && every(clock, watch.everyMs, check)
  return {
    get status(): ChainStatus {
      return status
    },
    lastRound,
    close() {
      closed = true
      stop?.()
    },
  }
}
