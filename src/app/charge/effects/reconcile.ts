import type { Landing } from '../../../ports/chain.js'
import { sleep, withTimeout } from '../../../ports/waiting.js'
import type { Call } from '../call.js'
import { untilCut } from '../until-cut.js'
import type { World } from '../world.js'
import { accept, settlementOf } from './settle.js'

const IN_DOUBT_RETRY_MS = 5_000
const PAUSE_MAX_MS = 4_000

/**
 * The payment may or may not have been submitted. A group lands only once, so the same payload is settled again and
 * again, and the chain is asked in between: only it may say no, because a facilitator that lost track answers "txn dead"
 * for what has landed.
 */
export async function reconcile(world: World, call: Call) {
  const untilMs = call.settlingSinceMs + world.rules.budgets.certaintyMs
  for (let pauseMs = world.rules.budgets.reconcilePauseMs; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    const landing = await atMost(world, untilMs - world.clock.monotonic(), attempt(world, call))
    if (landing === 'found' || landing === 'absent') return landing
    const leftMs = untilMs - world.clock.monotonic()
    if (leftMs <= 0 || world.stop.cutting()) break
    await untilCut(world.stop, sleep(world.clock, Math.min(pauseMs, leftMs)), undefined)
  }
  call.retryAfterMs = IN_DOUBT_RETRY_MS
  return 'unknown'
}

/** One attempt may take longer than the caller is to wait; what it finds later is found by recovery. */
async function atMost({ clock }: World, ms: number, attempted: Promise<Landing>): Promise<Landing> {
  return withTimeout(clock, Math.max(ms, 1), attempted).catch(() => 'unknown')
}

async function attempt(world: World, call: Call): Promise<Landing> {
  const { read } = call
  const settlement = await settlementOf(world, call.payload!, call.requirements!)
  if (settlement.verdict === 'settled' && (await accept(world, call, settlement))) return 'found'
  // Nothing in it names a transaction, so there is nothing to look up, and no later no can take the unknown back.
  if (read === undefined) return 'unknown'
  const landing = await untilCut(world.stop, world.chain.lookup(read.txId, read), 'unknown')
  if (landing === 'absent')
    call.refusal = 'The payment was not settled before its last valid round; you were not charged'
  return landing
}
