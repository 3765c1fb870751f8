/** Gives the store of subscription windows a timeout and a regular sweep. */
import type { AgentDef } from '../../domain/agent.js'
import { invalid } from '../../domain/option-checks.js'
import { type ChargeStore, UNITS_MOVES } from '../../ports/charge-store.js'
import { type Clock, every, withTimeout } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import { COUNTING_MOVES, SELLING_MOVES, type SubscriptionStore } from '../../ports/subscriptions.js'
import { windowsNow } from '../charge/subscription-windows.js'

/** How long a seller's own store may take to answer. */
const STORE_TIMEOUT_MS = 5_000

/**
 * A seller's own store of windows, which counts as down if it does not answer in time. A call that waits forever
 * would hold its key and its payment forever.
 */
export function boundedSubscriptions(
  store: SubscriptionStore,
  clock: Pick<Clock, 'after'>,
): SubscriptionStore {
  const bounded = <T>(answer: T): T =>
    answer instanceof Promise ? (withTimeout(clock, STORE_TIMEOUT_MS, answer) as T) : answer
  const moves = [...new Set([...SELLING_MOVES, ...COUNTING_MOVES, 'now', 'delete'] as const)]
  const asked = moves.flatMap(move => {
    if (store[move] === undefined) return []
    return [[move, (id: never, given: never) => bounded(store[move]!(id, given))] as const]
  })
  return Object.fromEntries(asked) as unknown as SubscriptionStore
}

/** @throws SvcError `invalid_options` where an endpoint sells windows, and the store lacks a move for them. */
export function checkMoves(agent: AgentDef, charges: ChargeStore, store: SubscriptionStore | undefined) {
  const lacks = UNITS_MOVES.find(move => typeof charges[move] !== 'function')
  if (agent.balance && lacks)
    throw invalid(`The agent sells balances, and the store of charges has no ${lacks}`)
  if (store === undefined) return
  const has = (move: keyof SubscriptionStore) => typeof store[move] === 'function'
  for (const { name, subscription } of agent.endpoints) {
    if (!subscription) continue
    const isCounted = subscription.calls !== undefined
    const moves = isCounted ? COUNTING_MOVES : SELLING_MOVES
    const missing = moves.find(move => !has(move) && !(move === 'put' && has('putIfAbsent')))
    if (missing === undefined) continue
    const does = isCounted ? 'counts the calls of its windows' : 'sells windows'
    throw invalid(`The endpoint '${name}' ${does}, and the store of subscriptions has no ${missing}`)
  }
}

const SWEEP_EVERY_MS = 60_000

/** Sweeps until it is stopped. The timer keeps no process alive. If the store fails, the next sweep asks it again. */
export function sweeping(store: SubscriptionStore, clock: Clock, logger: Logger): () => void {
  const sweep = async () => {
    try {
      // Uses the store's time, as windows do: a replica whose clock was ahead swept windows that were still open.
      await store.sweep(await windowsNow({ subscriptions: store, clock }))
    } catch (cause) {
      logger.warn({ err: cause }, 'the window store was not swept')
    }
  }
  return every(clock, SWEEP_EVERY_MS, () => void sweep())
}
