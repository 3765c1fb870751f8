import type { Clock } from '../ports/clock.js'
import { sleep, withTimeout } from '../ports/timeouts-and-aborts.js'
import type { FacilitatorNode, Fate } from './facilitator-node.js'

const POLL_MS = 200

/** What became of a submitted transaction; `undefined` where the node has not said by then. */
export async function awaitFate(
  node: Pick<FacilitatorNode, 'fateOf' | 'nextRound'>,
  clock: Pick<Clock, 'monotonic' | 'after'>,
  txId: string,
  untilMs: number,
): Promise<Extract<Fate, { is: 'landed' | 'dropped' }> | undefined> {
  for (;;) {
    const fate = await node.fateOf(txId).catch(() => undefined)
    if (fate?.is === 'landed' || fate?.is === 'dropped') return fate
    const leftMs = untilMs - clock.monotonic()
    if (leftMs <= 0) return undefined
    const round = withTimeout(clock, leftMs, node.nextRound())
    // Not sooner than `POLL_MS`: a node that fails, or that lies about rounds, answers at once.
    await Promise.all([round.catch(() => {}), sleep(clock, POLL_MS)])
  }
}
