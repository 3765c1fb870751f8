import { bodyBytes } from '../../../domain/handler-answer.js'
import type { RecordMove } from '../../../ports/charge-store.js'
import { type Call, type ReplayedAnswer, storeDown } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { seal } from '../claim-name-and-seal.js'
import { landsWithinMs, paymentLifeMs } from '../payment-life.js'
import { keyId, newKey, windowsNow } from '../subscription-key.js'

const NOTHING = new Uint8Array()

/**
 * The last state that can end without a charge. From here on, the answer and the window that is being sold are kept
 * until it is known whether the payment landed.
 */
export async function record(deps: ChargeDeps, call: Call) {
  const stop = stopReason(deps, call)
  if (stop !== undefined) return stop
  const { hold } = call
  try {
    if (call.endpoint.periodMs !== undefined) await storeWindow(deps, call, call.endpoint.periodMs)
    if (hold !== undefined && (await deps.store.record(recordMove(deps, call))) === 'superseded')
      return 'superseded'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'a store did not record; nothing is charged')
    // A failure to store the window says nothing about the charge store.
    call.storeSilent = call.endpoint.periodMs === undefined || call.window !== undefined
    return storeDown(call)
  }
  return stopReason(deps, call) ?? 'recorded'
}

function stopReason(deps: ChargeDeps, call: Call) {
  if (call.request.caller.gone()) return 'abandoned'
  if (deps.stop.cutting()) return 'stopped'
  if (deps.clock.monotonic() < call.settleByMs) return undefined
  call.refusal = 'The payment expired before it could be settled; you were not charged'
  return 'expired'
}

/** Sent again while the outcome is open, it replaces the answer that was recorded. */
export function recordMove(deps: ChargeDeps, call: Call): RecordMove {
  const { hold, read } = call
  const paymentTtlMs = paymentLifeMs(read)
  return {
    ...hold!,
    recorded: {
      answer: hold!.claim
        ? seal(replayedAnswer(deps, call), call.secret!, hold!.claim.name, deps.random)
        : NOTHING,
      ...(read && { payment: { txId: read.txId, firstValid: read.firstValid, lastValid: read.lastValid } }),
    },
    leaseMs: deps.leases.leaseMs,
    paymentTtlMs,
    claimTtlMs: paymentTtlMs + deps.rules.retentionMs,
  }
}

/**
 * An answer that is too large, and a stream that has not ended, are charged but not kept. A retry is refused, not charged again.
 */
export function replayedAnswer(deps: ChargeDeps, call: Call): ReplayedAnswer {
  const { answer, txId, payer, requirements, window, takenFrom, callsLeft } = call
  const isKept = call.source === undefined && bodyBytes(answer!) <= deps.rules.answerBytesMax
  return {
    answer: isKept ? answer : undefined,
    txId,
    payer,
    amount: requirements?.amount ?? '0',
    asset: requirements?.asset ?? '',
    network: requirements?.network,
    window: window && { key: window.key, expiresAtMs: window.expiresAtMs, callsLeft: window.callsLeft },
    ...(takenFrom !== undefined && { callsLeft }),
  }
}

/** Stores the window before its payment settles, so a key that cannot be kept is never charged for. */
async function storeWindow(deps: ChargeDeps, call: Call, periodMs: number): Promise<void> {
  const key = newKey(deps)
  // The period starts at the last moment at which the payment can land, so settling takes no paid minute. A payment
  // that was signed for longer than the quote asks does not extend it.
  const withinMs = Math.min(landsWithinMs(call.read), call.requirements!.maxTimeoutSeconds * 1_000)
  const leftMs = Math.min(call.settleByMs - deps.clock.monotonic(), withinMs)
  const expiresAtMs = Math.ceil((await windowsNow(deps)) + leftMs) + periodMs
  const { name, subscription } = call.endpoint.def
  const calls = subscription?.calls
  // This call is the first of the window.
  const record = { endpoint: name, expiresAtMs, ...(calls !== undefined && { callsLeft: calls - 1 }) }
  const window = { key, id: keyId(deps.recordOwner, key), expiresAtMs, callsLeft: record.callsLeft }
  await deps.subscriptions.put(window.id, record)
  call.window = window
}
