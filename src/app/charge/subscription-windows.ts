/**
 * The windows and balances that calls sell, and the windows that they use: their keys, the time that ends them, and the calls
 * that some of them count.
 */
import { mapSyncOrAsync } from '../../domain/state-machine/run-machine.js'
import { withTimeout } from '../../ports/clock.js'
import type { SubscriptionRecord, SubscriptionStore } from '../../ports/subscriptions.js'
import type { Call, SoldWindow } from './call-at-work.js'
import type { ChargeDeps, InFlight } from './charge-deps.js'
import { coveredOnCredit } from './effects/credit.js'
import { balanceId, balanceSlot, windowId } from './names-in-stores.js'
import type { WindowMove } from './resend-lost-moves.js'
import { landsWithinMs } from './seal-answers.js'
import { streamMsOf } from './stream-to-caller.js'

/**
 * The store's time, where the store has one. When each replica used its own clock, a replica that was an hour behind
 * sold a window of ten minutes that had ended before it was paid for.
 */
export function windowsNow(deps: Pick<ChargeDeps, 'subscriptions' | 'clock'>): number | Promise<number> {
  return deps.subscriptions.now?.() ?? deps.clock.now()
}

export async function newWindow(deps: ChargeDeps, call: Call, periodMs: number): Promise<SoldWindow> {
  const { def } = call.endpoint
  const units = def.sells === undefined ? undefined : Number(call.terms.requirements!.amount)
  const key = newKey(deps)
  // The period starts at the last moment at which the payment can land, so settling takes no paid minute. A payment
  // that was signed for longer than the quote asks does not extend it.
  const withinMs = Math.min(
    landsWithinMs(call.payment.read),
    call.terms.requirements!.maxTimeoutSeconds * 1_000,
  )
  const leftMs = Math.min(call.terms.settleByMs - deps.clock.monotonic(), withinMs)
  const nowMs = await (units === undefined ? windowsNow(deps) : (deps.store.now?.() ?? deps.clock.now()))
  const expiresAtMs = Math.ceil(nowMs + leftMs) + periodMs
  const calls = def.subscription?.calls
  // This call is the first of the window.
  const callsLeft = calls === undefined ? undefined : calls - 1
  const streams = (calls !== undefined && call.handled.source !== undefined) || undefined
  return { key, id: soldId(deps, call, key), expiresAtMs, callsLeft, units, streams }
}

/** The name under which a window or a balance with this key is stored. */
export function soldId({ owner }: ChargeDeps, { endpoint }: Call, key: string): string {
  return endpoint.def.sells === undefined ? windowId(endpoint.owner, key) : balanceId(owner, key)
}

/**
 * Stores the window before its payment settles, so a key that cannot be kept is never charged for. Only if it is absent: if this
 * process stands still meanwhile, another one recovers the call, stores the window, and callers use calls of it.
 */
export async function storeWindow(
  { subscriptions, store }: Pick<ChargeDeps, 'subscriptions' | 'store'>,
  { endpoint }: Pick<Call, 'endpoint'>,
  { id, expiresAtMs, callsLeft, units, streams }: Omit<SoldWindow, 'key'>,
): Promise<void> {
  if (units !== undefined) return store.sell!({ slot: balanceSlot(id), units, expiresAtMs })
  const counted = callsLeft !== undefined && { callsLeft: streams ? callsLeft + 1 : callsLeft }
  await putWindow(subscriptions, id, { endpoint: endpoint.soldAs, expiresAtMs, ...counted })
}

/** In a store without `putIfAbsent`, no record ever changes, and `put` of the same record again changes nothing. */
export async function putWindow(subscriptions: SubscriptionStore, id: string, record: SubscriptionRecord) {
  await (subscriptions.putIfAbsent ? subscriptions.putIfAbsent(id, record) : subscriptions.put!(id, record))
}

export function newKey({ random }: ChargeDeps): string {
  return `svc_${Buffer.from(random.bytes(32)).toString('base64url')}`
}

export const USED_UP =
  'Every call of this subscription window is used or running; a payment buys a new window'

/**
 * Reserves a call for its wait for credit, its handler and its stream, and for the time after which a stopped call counts as dead. If
 * its process dies, the call belongs to the window again.
 */
async function reserveCall(deps: ChargeDeps, { id: token, endpoint: { soldAs, def } }: Call, id: string) {
  const { creditMs, leaseMs: deadMs } = deps.rules.timeouts
  const leaseMs = creditMs + def.timeout + streamMsOf(def) + deadMs
  return deps.subscriptions.take!(id, { endpoint: soldAs, token, leaseMs })
}

/** Stores a window that is being sold. Its first call is reserved while its stream is not over. */
export async function storeSold(deps: ChargeDeps, call: Call, sold: SoldWindow): Promise<void> {
  await storeWindow(deps, call, sold)
  if (sold.streams) await reserveCall(deps, call, sold.id)
}

export async function takeWindowCall(deps: ChargeDeps, call: Call, id: string) {
  const taken = await reserveCall(deps, call, id).catch((cause: unknown) => {
    // The store may have reserved the call before its answer was lost.
    deps.upkeep.pendingWindowMoves.add({ how: 'giveBack', id, token: call.id })
    throw cause
  })
  if (taken.verdict === 'usedUp') call.window.callsLeft = 0
  if (taken.verdict !== 'taken') return 'uncovered'
  call.window.used = { id, isCounted: taken.callsLeft !== undefined }
  call.window.callsLeft = taken.callsLeft
  // Who hangs up gets its call back: without credit a window of three calls ran its handler as often as its buyer liked.
  return taken.callsLeft === undefined ? 'covered' : coveredOnCredit(deps, call, `window ${id}`)
}

/**
 * Counts a call that delivered, without waiting: after the work is done, a store's error never withholds the answer. Where nothing keeps
 * the answer, it is counted when it has left: one that its server could not send costs nothing.
 */
export function countWindowCall(deps: ChargeDeps, call: Call, inFlight: InFlight, isKept: boolean): void {
  if (!call.window.used?.isCounted) return
  inFlight.enter()
  const { onSent } = call.request.caller
  const leaving = onSent && !isKept && new Promise<boolean>(onSent)
  // Half of the lease at most, also where the caller does not read: the call is counted before its reservation ends, by a slow store too.
  const waitMs = deps.rules.timeouts.leaseMs / 2
  const sent = leaving ? withTimeout(deps.clock, waitMs, leaving).catch(() => true) : true
  const ended = mapSyncOrAsync(sent, isSent => endWindowCall(deps, call, isSent ? 'use' : 'giveBack'))
  ended.finally(inFlight.leave)
}

/** Ends a call that its window counts. What the store does not answer is sent again. */
export async function endWindowCall(deps: ChargeDeps, call: Call, how: WindowMove['how']): Promise<void> {
  const { used, sold } = call.window
  const id = used?.isCounted ? used.id : sold?.streams ? sold.id : undefined
  if (id === undefined) return
  try {
    if (how === 'use') await deps.subscriptions.use!(id, call.id)
    else call.window.callsLeft = (await deps.subscriptions.giveBack!(id, call.id)) ?? undefined
  } catch (cause) {
    deps.logger.error({ err: cause, how }, 'the store of windows did not end a call; it is asked again')
    deps.upkeep.pendingWindowMoves.add({ how, id, token: call.id })
    if (how === 'giveBack') call.window.callsLeft = undefined
  }
}

export async function dropWindow(deps: ChargeDeps, { id, units }: SoldWindow): Promise<void> {
  try {
    await (units === undefined ? deps.subscriptions.delete?.(id) : deps.store.drop!(balanceSlot(id)))
  } catch (cause) {
    deps.logger.warn({ err: cause }, 'an unsold window was not deleted; its key was never given to a caller')
  }
}
