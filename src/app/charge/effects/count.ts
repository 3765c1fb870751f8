import { sleep } from '../../../ports/timeouts-and-aborts.js'
import type { Call } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { closeMove } from '../close-move.js'
import { RETRY_MAX_MS, RETRY_MIN_MS } from '../pending-moves.js'
import { untilShutdown } from './settle.js'

/**
 * Counts what the call cost, and keeps its answer, in one move: here the store is the ledger, so no byte leaves before it has answered.
 * What a stream costs is known when it has ended, and is counted then; until then the price stays reserved.
 */
export async function count(deps: ChargeDeps, call: Call) {
  if (call.request.caller.gone()) return 'abandoned'
  if (call.handled.source !== undefined) return 'counted'
  const move = closeMove(deps, call, 'complete')
  const untilMs = deps.clock.monotonic() + deps.rules.timeouts.certaintyMs
  for (let pauseMs = RETRY_MIN_MS; ; pauseMs = Math.min(2 * pauseMs, RETRY_MAX_MS)) {
    try {
      const { verdict, unused } = await deps.store.count!({ ...move, how: 'complete', charge: move.charge! })
      call.holds.held = false
      call.balance!.left = unused
      return verdict === 'closed' ? 'counted' : 'superseded'
    } catch (cause) {
      deps.logger.error({ err: cause }, 'a balance was not counted; the store is asked again')
    }
    if (deps.stop.cutting() || deps.clock.monotonic() + pauseMs >= untilMs) break
    await untilShutdown(deps.stop, sleep(deps.clock, pauseMs), undefined)
  }
  // The store may have counted it, or does so later. Whoever asks again with the key gets the answer then, or a run of its own.
  deps.upkeep.pendingCloses.add(move)
  return 'unknown'
}
