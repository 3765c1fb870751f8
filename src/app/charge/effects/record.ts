import { bytesIn } from '../../../domain/handler.js'
import type { RecordMove } from '../../../ports/charge-store.js'
import { type Call, type ReplayedAnswer, storeDown } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { paymentLifeMs, retentionMs, seal } from '../seal-answers.js'
import { newWindow, storeSold } from '../subscription-windows.js'

/**
 * The last state that can end without a charge. From here on, the answer and the window that is being sold are kept
 * until it is known whether the payment landed.
 */
export async function record(deps: ChargeDeps, call: Call) {
  const stop = stopReason(deps, call)
  if (stop !== undefined) return stop
  try {
    const { periodMs } = call.endpoint
    const kept = periodMs === undefined ? recording(deps, call) : keepWithWindow(deps, call, periodMs)
    if ((await kept) === 'superseded') return 'superseded'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'a store did not record; nothing is charged')
    return storeDown(call)
  }
  return stopReason(deps, call) ?? 'recorded'
}

async function recording(deps: ChargeDeps, call: Call): Promise<'recorded' | 'superseded' | undefined> {
  const move = call.holds.owned && recordMove(deps, call)
  if (move === undefined) return undefined
  const sinceMs = deps.clock.monotonic()
  try {
    const recorded = await deps.store.record(move)
    // The store gave the lease anew, also to a call whose renewals had not arrived.
    if (recorded === 'recorded') deps.upkeep.leases.keep(call.holds.owned!.hold, sinceMs)
    return recorded
  } catch (cause) {
    call.holds.held = 'unknown'
    throw cause
  }
}

/**
 * Stores the window and records the answer, at the same time. A process that ends between the two may leave an answer whose
 * window is not stored: recovery stores it before it settles.
 */
async function keepWithWindow(deps: ChargeDeps, call: Call, periodMs: number) {
  const sold = await newWindow(deps, call, periodMs)
  call.window.sold = sold
  const [stored, recorded] = await Promise.allSettled([storeSold(deps, call, sold), recording(deps, call)])
  // The window was not stored, so there is nothing to delete later.
  if (stored.status === 'rejected') call.window.sold = undefined
  if (recorded.status === 'rejected') throw recorded.reason
  if (stored.status === 'rejected') throw stored.reason
  return recorded.value
}

function stopReason(deps: ChargeDeps, call: Call) {
  if (call.request.caller.gone()) return 'abandoned'
  if (deps.stop.cutting()) return 'stopped'
  if (deps.clock.monotonic() < call.terms.settleByMs) return undefined
  call.end.refusal = 'The payment expired before it could be settled; you were not charged'
  return 'expired'
}

/** Sent again while the outcome is open, it replaces the answer that was recorded. */
export function recordMove(deps: ChargeDeps, call: Call): RecordMove {
  const { read } = call.payment
  const { hold, seals } = call.holds.owned!
  const paymentTtlMs = paymentLifeMs(read)
  return {
    recorded: {
      answer: seal(replayedAnswer(deps, call), seals[0]!, hold.claim.name, deps.random),
      ...(read && { payment: { txId: read.txId, firstValid: read.firstValid, lastValid: read.lastValid } }),
    },
    leaseMs: deps.upkeep.leases.leaseMs,
    paymentTtlMs,
    claimTtlMs: paymentTtlMs + retentionMs(deps, call.holds.key, call.window.sold),
    ...hold,
  }
}

/**
 * An answer that is too large, and a stream that has not ended, are charged but not kept. A retry is refused, not charged again.
 */
export function replayedAnswer(deps: ChargeDeps, call: Call): ReplayedAnswer {
  const { txId, payer } = call.payment
  const { requirements } = call.terms
  const { sold, used, callsLeft } = call.window
  const { answer, source } = call.handled
  const isKept = source === undefined && bytesIn(answer!.body) <= deps.rules.answerBytesMax
  return {
    answer: isKept ? answer : undefined,
    txId,
    payer,
    amount: requirements?.amount ?? '0',
    asset: requirements?.asset ?? '',
    network: requirements?.network,
    window: sold,
    ...(call.balance && { charged: call.balance.charged }),
    ...(used?.isCounted && { callsLeft }),
  }
}
