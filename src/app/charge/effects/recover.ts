import { speltAs } from '../../../domain/x402.js'
import type { Landing } from '../../../ports/chain.js'
import { sleep } from '../../../ports/clock.js'
import { keptMs } from '../build-close-move.js'
import type { Call, ReplayedAnswer } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { creditorName } from '../names-in-stores.js'
import { unseal } from '../seal-answers.js'
import { soldId, storeWindow } from '../subscription-windows.js'
import { giveCredit } from './credit.js'
import { untilCertain } from './reconcile.js'
import { settlementOf, untilShutdown } from './settle.js'

/**
 * An earlier call under this key stopped after it recorded, or is slow. If its payment landed, or lands now, its
 * answer is owed and is replayed in every mode. If release mode dropped the answer and took the new payment, a call that was
 * only slow would be charged twice.
 */
export async function recover(deps: ChargeDeps, call: Call) {
  const recorded = call.earlier.recorded!
  // Until the earlier payment is decided, the call speaks of that one, and not of the payment that it presents.
  call.payment.txId = recorded.payment?.txId
  const { read } = call.payment
  const { hold, seals } = call.holds.owned!
  // A server that lacks the secret under which another one sealed the answer decides nothing.
  const owed = unseal(recorded.answer, seals, hold.claim.name)
  try {
    if (owed === undefined) throw new Error('the recorded answer cannot be unsealed')
    const { window } = owed
    // The earlier call may have stopped when its answer was recorded and the window that it sold was not stored.
    if (window) await storeWindow(deps, call, { ...window, id: soldId(deps, call, window.key) })
  } catch (cause) {
    const message = 'what a call that stopped while settling owes was not read, or its window not stored'
    deps.logger.error({ err: cause }, message)
    return 'storeDown'
  }
  const landing = await landingOf(deps, call, owed)
  if (landing === 'unknown') return 'undecided'
  // How long the answer is kept depends on the caller, and a process that stood still may hear of its hang-up after the chain's word.
  if (call.holds.key === undefined) await sleep(deps.clock, 0)
  const sinceMs = deps.clock.monotonic()
  try {
    const resolved = await deps.store.resolve({
      ...hold,
      txId: recorded.payment!.txId,
      verdict: landing === 'absent' ? 'dead' : 'found',
      retentionMs: keptMs(deps, call, owed.window),
      leaseMs: deps.upkeep.leases.leaseMs,
    })
    call.payment.txId = read?.txId
    switch (resolved) {
      case 'completed':
        // The run that is found paid had taken its payer's credit.
        if (deps.rules.credit && read) void giveCredit(deps, creditorName(deps.owner, read.payer), 2)
        return replay(call, owed)
      case 'opened':
        call.holds.held = true
        deps.upkeep.leases.keep(hold, sinceMs)
        return 'absent'
      default:
        return resolved
    }
  } catch (cause) {
    deps.logger.error({ err: cause }, 'a call that stopped while settling was not resolved')
    // If the payment landed, the answer is owed, even if the store does not answer. The next call resolves the claim
    // again, and books the payment if needed. Only a resolved claim earns credit: each retry would earn it again.
    return landing === 'found' ? replay(call, owed) : 'storeDown'
  }
}

function replay(call: Call, owed: ReplayedAnswer): 'found' | 'notKept' {
  call.earlier.replayed = owed
  return owed.answer === undefined ? 'notKept' : 'found'
}

/**
 * If the caller sent the same payment again, settle it again: it lands once, however often it is sent. If no answer was kept,
 * only ask the chain: to settle it now would charge for an answer that nobody has.
 */
async function landingOf(deps: ChargeDeps, call: Call, owed: ReplayedAnswer): Promise<Landing> {
  const { payment } = call.earlier.recorded!
  if (payment === undefined) return 'unknown'
  const { read, payload } = call.payment
  const sinceMs = deps.clock.monotonic()
  const look = () => untilShutdown(deps.stop, deps.chain.lookup(payment.txId, payment), 'unknown' as const)
  if (read?.txId === payment.txId && owed.answer !== undefined) {
    const requirements = call.endpoint.terms.requirements(read.amount, await deps.facilitator.supported())
    const spelt = speltAs(payload?.accepted, requirements, deps.owner.network)
    const settlement = await settlementOf(deps, call, spelt)
    if (settlement.verdict === 'settled')
      // The node may be some seconds behind the facilitator.
      return deps.rules.confirmOnChain ? untilCertain(deps, sinceMs, look) : 'found'
  }
  return look()
}
