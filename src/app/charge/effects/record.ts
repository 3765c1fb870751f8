import { bodyBytes } from '../../../domain/handler-answer.js'
import type { RecordMove } from '../../../ports/charge-store.js'
import { type Call, type ReplayedAnswer, type SoldWindow, storeDown } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { windowId } from '../owners.js'
import { landsWithinMs, paymentLifeMs, retentionMs } from '../payment-life.js'
import { seal } from '../sealed-answers.js'
import { newKey, putWindow, windowsNow } from '../subscription-key.js'

const NOTHING = new Uint8Array()

/**
 * The last state that can end without a charge. From here on, the answer and the window that is being sold are kept
 * until it is known whether the payment landed.
 */
export async function record(deps: ChargeDeps, call: Call) {
  const stop = stopReason(deps, call)
  if (stop !== undefined) return stop
  try {
    if ((await keep(deps, call)) === 'superseded') return 'superseded'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'a store did not record; nothing is charged')
    return storeDown(call)
  }
  return stopReason(deps, call) ?? 'recorded'
}

/**
 * Stores the window and records the answer, at the same time. A process that ends between the two may leave an answer whose
 * window is not stored: recovery stores it before it settles.
 */
async function keep(deps: ChargeDeps, call: Call): Promise<'recorded' | 'superseded' | undefined> {
  const { periodMs } = call.endpoint
  if (periodMs !== undefined) call.window = await newWindow(deps, call, periodMs)
  const move = call.hold && recordMove(deps, call)
  const recording = async () => move && deps.store.record(move)
  const [stored, recorded] = await Promise.allSettled([
    call.window && storeWindow(deps, call, call.window),
    recording(),
  ])
  // The window was not stored, so there is nothing to delete later.
  if (stored.status === 'rejected') call.window = undefined
  call.storeSilent = recorded.status === 'rejected'
  if (recorded.status === 'rejected') throw recorded.reason
  if (stored.status === 'rejected') throw stored.reason
  return recorded.value
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
        ? seal(replayedAnswer(deps, call), call.owned!.seals[0]!, hold!.claim.name, deps.random)
        : NOTHING,
      ...(read && { payment: { txId: read.txId, firstValid: read.firstValid, lastValid: read.lastValid } }),
    },
    leaseMs: deps.leases.leaseMs,
    paymentTtlMs,
    claimTtlMs: paymentTtlMs + retentionMs(deps, call),
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

async function newWindow(deps: ChargeDeps, call: Call, periodMs: number): Promise<SoldWindow> {
  const key = newKey(deps)
  // The period starts at the last moment at which the payment can land, so settling takes no paid minute. A payment
  // that was signed for longer than the quote asks does not extend it.
  const withinMs = Math.min(landsWithinMs(call.read), call.requirements!.maxTimeoutSeconds * 1_000)
  const leftMs = Math.min(call.settleByMs - deps.clock.monotonic(), withinMs)
  const expiresAtMs = Math.ceil((await windowsNow(deps)) + leftMs) + periodMs
  const calls = call.endpoint.def.subscription?.calls
  // This call is the first of the window.
  const callsLeft = calls === undefined ? undefined : calls - 1
  return { key, id: windowId(call.endpoint.owner, key), expiresAtMs, callsLeft }
}

/**
 * Stores the window before its payment settles, so a key that cannot be kept is never charged for. Only if it is absent: if this
 * process stands still meanwhile, another one recovers the call, stores the window, and callers use calls of it.
 */
export async function storeWindow(
  { subscriptions }: Pick<ChargeDeps, 'subscriptions'>,
  { endpoint }: Pick<Call, 'endpoint'>,
  { id, expiresAtMs, callsLeft }: Omit<SoldWindow, 'key'>,
): Promise<void> {
  const counted = callsLeft !== undefined && { callsLeft }
  await putWindow(subscriptions, id, { endpoint: endpoint.soldAs, expiresAtMs, ...counted })
}
