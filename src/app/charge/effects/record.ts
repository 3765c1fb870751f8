import { bodyBytes } from '../../../domain/answer.js'
import { type Call, type ReplayedAnswer, storeDown } from '../call.js'
import { seal } from '../claim.js'
import type { ChargeDeps } from '../deps.js'
import { keyId, newKey, windowsNow } from '../subscription-key.js'

/** Garbage collection, generously: slow rounds, and an hour for clocks and operators. */
const ROUND_SLOW_MS = 4_000
const SLACK_MS = 3_600_000
/** The widest window that Algorand allows, for payments whose rounds are not known. */
const ROUNDS_MAX = 1_000

const NOTHING = new Uint8Array()

/**
 * The last exit without a charge. From here on the answer, and the window that is being sold, are kept until it is known
 * whether the payment landed.
 */
export async function record(deps: ChargeDeps, call: Call) {
  const stop = stopReason(deps, call)
  if (stop !== undefined) return stop
  const { hold } = call
  try {
    if (call.endpoint.periodMs !== undefined) await storeWindow(deps, call, call.endpoint.periodMs)
    if (hold !== undefined && (await keep(deps, call)) === 'superseded') return 'superseded'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'a store did not record; nothing is charged')
    // A window that could not be stored is no word of the charge store's.
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

function keep(deps: ChargeDeps, call: Call) {
  const { hold, read } = call
  const paymentTtlMs = lifetimeMs(call) + SLACK_MS
  return deps.store.record({
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
  })
}

/** All rounds that the payment was signed for, not those it has left: no clock has to be trusted. */
function lifetimeMs({ read }: Call): number {
  const rounds = read ? Number(read.lastValid - read.firstValid) : ROUNDS_MAX
  return Math.min(rounds, ROUNDS_MAX) * ROUND_SLOW_MS
}

/** An answer that is too large to be kept is delivered and charged; its key then says so instead of charging again. */
export function replayedAnswer(deps: ChargeDeps, call: Call): ReplayedAnswer {
  const { answer, txId, payer, requirements, window } = call
  const isKept = bodyBytes(answer!) <= deps.rules.answerBytesMax
  return {
    answer: isKept ? answer : undefined,
    txId,
    payer,
    amount: requirements?.amount ?? '0',
    asset: requirements?.asset ?? '',
    window: window && { key: window.key, expiresAtMs: window.expiresAtMs },
  }
}

/** Stored before its payment settles: a key that cannot be kept is never charged for. */
async function storeWindow(deps: ChargeDeps, call: Call, periodMs: number): Promise<void> {
  const key = newKey(deps)
  // The period starts at the last moment the payment can land, so that no paid minute is lost to settling; but a payment
  // signed for longer than was asked does not stretch it.
  const landsWithinMs = Math.min(lifetimeMs(call), call.requirements!.maxTimeoutSeconds * 1_000)
  const leftMs = Math.min(call.settleByMs - deps.clock.monotonic(), landsWithinMs)
  const expiresAtMs = Math.ceil((await windowsNow(deps)) + leftMs) + periodMs
  const window = { key, id: keyId(deps.payTo, key), expiresAtMs }
  await deps.subscriptions.put(window.id, {
    endpoint: call.endpoint.def.name,
    expiresAtMs: window.expiresAtMs,
  })
  call.window = window
}
