/** One call of a window that has a count: taken before the handler runs, counted when it delivered, else given back. */
import type { Call } from './call-record.js'
import type { ChargeDeps, InFlight } from './charge-deps.js'

const USED_UP = 'Every call of this subscription window is used or running; a payment buys a new window'

/**
 * Reserves a call for as long as the handler may take, and for the time after which a stopped call counts as dead. If its
 * process dies, the call belongs to the window again.
 */
export async function takeWindowCall(deps: ChargeDeps, call: Call, id: string) {
  const { soldAs, def } = call.endpoint
  const move = { endpoint: soldAs, token: call.id, leaseMs: def.timeout + deps.rules.timeouts.leaseMs }
  const taken = await attempt()
  if (taken.verdict === 'none') return 'uncovered'
  if (taken.verdict === 'usedUp') {
    call.uncovered = USED_UP
    call.callsLeft = 0
    return 'uncovered'
  }
  if (taken.callsLeft === undefined) return 'covered'
  call.takenFrom = id
  call.callsLeft = taken.callsLeft
  return 'covered'

  async function attempt() {
    try {
      return await deps.subscriptions.take!(id, move)
    } catch (cause) {
      // The store may have reserved the call before its answer was lost.
      deps.pendingWindowMoves.add({ how: 'giveBack', id, token: call.id })
      throw cause
    }
  }
}

/** Sends without waiting, as a completion: after the work is done, a store's error never withholds the answer. */
export function countWindowCall(deps: ChargeDeps, call: Call, inFlight: InFlight): void {
  const { takenFrom: id, id: token } = call
  if (id === undefined) return
  const count = async () => deps.subscriptions.use!(id, token)
  inFlight.enter()
  count()
    .catch((cause: unknown) => {
      deps.logger.error({ err: cause }, 'the store of windows did not count a call; it is asked again')
      deps.pendingWindowMoves.add({ how: 'use', id, token })
    })
    .finally(inFlight.leave)
}

/**
 * Waits for the store. A caller that hears of a failure may call again at once, and may need this very call.
 */
export async function giveBackWindowCall(deps: ChargeDeps, call: Call): Promise<void> {
  const { takenFrom: id, id: token } = call
  if (id === undefined) return
  try {
    call.callsLeft = (await deps.subscriptions.giveBack!(id, token)) ?? undefined
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the store of windows did not take a call back; it is asked again')
    deps.pendingWindowMoves.add({ how: 'giveBack', id, token })
    call.callsLeft = undefined
  }
}
