import type { SubscriptionRecord } from '../../../ports/subscriptions.js'
import { type Call, presentedPayment, storeDown } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { windowId } from '../names-in-stores.js'
import { takeWindowCall, windowsNow } from '../subscription-windows.js'

/**
 * A key opens the endpoint that sold it until its window ends, by time or by its last call. Any other key counts as absent.
 * Where the window counts its calls, `covered` says that this call was taken.
 */
export function entitle(deps: ChargeDeps, call: Call) {
  return call.request.subscriptionKey === undefined ? 'uncovered' : asked(deps, call, cover)
}

/** Whether `entitle` would find a call with a key covered. Takes nothing. */
export function looksCovered(deps: ChargeDeps, call: Call) {
  return asked(deps, call, look)
}

/**
 * For a payment or a balance beside the key of a window. An open window covers the call: what is beside it is not looked at, and the
 * claim, the rate and the answer are the window's. A key that opens nothing counts as absent.
 */
export function preferWindow(deps: ChargeDeps, call: Call) {
  const { payment, subscriptionKey } = call.request
  if (subscriptionKey === undefined || (payment.kind === 'none' && !call.balance)) return undefined
  return looksCovered(deps, call).then(covered => {
    if (covered === 'storeDown') return 'storeDown' as const
    if (covered === 'uncovered') leaveKeyAside(call)
    else setAside(call)
    return undefined
  })
}

/** For a key that opens nothing: the call goes on without it. */
export function leaveKeyAside(call: Call): void {
  call.window.endedKey = call.request.subscriptionKey
  call.request = { ...call.request, subscriptionKey: undefined }
}

/** The call as it would be without its payment or balance, under the key of a window that has ended. */
export function underEndedWindow(call: Call): Call {
  const aside = { ...call, request: { ...call.request, subscriptionKey: call.window.endedKey } }
  setAside(aside)
  return aside
}

function setAside(call: Call): void {
  call.request = { ...call.request, payment: { kind: 'none' }, proof: { kind: 'none' } }
  call.payment = presentedPayment(undefined, undefined)
  call.balance = undefined
}

async function asked(deps: ChargeDeps, call: Call, ask: typeof cover) {
  try {
    return await ask(deps, call, windowId(call.endpoint.owner, call.request.subscriptionKey!))
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the subscription store did not answer')
    return storeDown(call)
  }
}

/** A window keeps what it was sold with, whatever its endpoint sells by now: where it has a count, its calls are counted. */
async function cover(deps: ChargeDeps, call: Call, id: string) {
  if (call.endpoint.def.subscription?.calls !== undefined) return takeWindowCall(deps, call, id)
  const record = await openWindow(deps, call, id)
  if (record === undefined) return 'uncovered'
  if (record.callsLeft !== undefined) return takeWindowCall(deps, call, id)
  call.window.used = { id, isCounted: false }
  return 'covered'
}

async function look(deps: ChargeDeps, call: Call, id: string) {
  const record = await openWindow(deps, call, id)
  return record === undefined || record.callsLeft === 0 ? 'uncovered' : 'covered'
}

async function openWindow(deps: ChargeDeps, call: Call, id: string): Promise<SubscriptionRecord | undefined> {
  const record = await deps.subscriptions.get(id)
  if (record?.endpoint !== call.endpoint.soldAs) return undefined
  return (await windowsNow(deps)) < record.expiresAtMs ? record : undefined
}
