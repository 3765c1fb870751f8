import type { CountMove } from '../../../ports/charge-store.js'
import { closeMove, untilAnswered } from '../build-close-move.js'
import type { Call } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'

/**
 * Counts what the call cost, and keeps its answer, in one move: here the store is the ledger, so no byte leaves before it has answered.
 * What a stream costs is known when it has ended, and is counted then; until then the price stays reserved.
 */
export function count(deps: ChargeDeps, call: Call) {
  if (call.request.caller.gone()) return 'abandoned'
  return call.handled.source === undefined ? countNow(deps, call) : 'counted'
}

export async function countNow(deps: ChargeDeps, call: Call) {
  const move = closeMove(deps, call, 'complete')
  const ask = () => deps.store.count!(move as CountMove)
  const onFailed = (err: unknown) =>
    deps.logger.error({ err }, 'a balance was not counted; the store is asked again')
  const untilMs = deps.clock.monotonic() + deps.rules.timeouts.certaintyMs
  try {
    const { verdict, unused } = await untilAnswered(deps, ask, onFailed, untilMs)
    call.holds.held = false
    call.balance!.left = unused
    if (verdict === 'closed') return 'counted'
    // Another call took this one over, or its record is gone: this one has taken nothing, also where its stream has left.
    call.balance!.charged = 0
    return 'superseded'
  } catch {
    // The store may have counted it, or does so later. Whoever asks again with the key gets the answer then, or a run of its own.
    deps.upkeep.pendingCloses.add(move)
    call.balance!.isInDoubt = true
    return 'unknown'
  }
}
