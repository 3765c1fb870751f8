import type { Landing } from '../../../ports/chain.js'
import { sleep, withTimeout } from '../../../ports/clock.js'
import type { Call } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { accept, settlementOf, untilShutdown } from './settle.js'

const PAUSE_MAX_MS = 4_000

/**
 * The payment may have been submitted. A group lands only once, so the same payload is settled repeatedly, and the
 * chain is asked in between. Only the chain may say no: a facilitator that lost track answers "txn dead" for a
 * payment that has landed.
 */
export function reconcile(deps: ChargeDeps, call: Call): Promise<Landing> {
  return untilCertain(deps, call.terms.settlingSinceMs, () => attempt(deps, call))
}

/** Asks again with growing pauses, until the chain has decided, certainty took too long, or the server stops. */
export async function untilCertain(
  deps: ChargeDeps,
  sinceMs: number,
  ask: () => Promise<Landing>,
): Promise<Landing> {
  const untilMs = sinceMs + deps.rules.timeouts.certaintyMs
  for (let pauseMs = deps.rules.timeouts.reconcilePauseMs; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    const forMs = Math.max(untilMs - deps.clock.monotonic(), 1)
    // One attempt may take longer than the caller waits. Recovery finds its later result.
    const landing = await withTimeout(deps.clock, forMs, ask()).catch(() => 'unknown' as const)
    if (landing !== 'unknown') return landing
    const leftMs = untilMs - deps.clock.monotonic()
    if (leftMs <= 0 || deps.stop.cutting()) return 'unknown'
    await untilShutdown(deps.stop, sleep(deps.clock, Math.min(pauseMs, leftMs)), undefined)
  }
}

async function attempt(deps: ChargeDeps, call: Call): Promise<Landing> {
  const { read } = call.payment
  const settlement = await settlementOf(deps, call, call.terms.requirements!)
  if (settlement.verdict === 'settled' && (await accept(deps, call, settlement))) return 'found'
  // The payload names no transaction, so there is nothing to look up, and a later refusal cannot resolve the unknown.
  if (read === undefined) return 'unknown'
  const landing = await untilShutdown(deps.stop, deps.chain.lookup(read.txId, read), 'unknown')
  if (landing === 'absent')
    call.end.refusal = 'The payment was not settled before its last valid round; you were not charged'
  return landing
}
