import type { Landing } from '../../../ports/chain.js'
import type { Recorded } from '../../../ports/charge-store.js'
import type { Call } from '../call.js'
import { unseal } from '../claim.js'
import { creditorOf, giveCredit } from '../credit.js'
import type { ChargeDeps } from '../deps.js'
import { untilCut } from '../until-cut.js'
import { settlementOf } from './settle.js'

const UNDECIDED_RETRY_MS = 5_000

/**
 * A call under this key stopped after it recorded, or is slow. Whether its payment landed decides whether its answer is
 * owed: what landed, or is landed here, is replayed in every mode. (In release mode the answer was dropped once and the
 * new payment charged too: two charges for a call that was only slow.)
 */
export async function recover(deps: ChargeDeps, call: Call) {
  const recorded = call.recorded!
  const landing = await landingOf(deps, call, recorded)
  if (landing === 'unknown') return undecided(call)
  const sinceMs = deps.clock.monotonic()
  try {
    const resolved = await deps.store.resolve({
      ...call.hold!,
      txId: recorded.payment!.txId,
      verdict: landing === 'absent' ? 'dead' : 'found',
      retentionMs: deps.rules.retentionMs,
      leaseMs: deps.leases.leaseMs,
    })
    switch (resolved) {
      case 'completed':
        return owed(deps, call, recorded)
      case 'opened':
        call.held = true
        deps.leases.keep(call.hold!, sinceMs)
        return 'absent'
      default:
        return resolved
    }
  } catch (cause) {
    deps.logger.error({ err: cause }, 'a call that stopped while settling was not resolved')
    // What has landed is owed whatever the store has heard: whoever asks next resolves it again, and books it if need be.
    if (landing === 'found') return owed(deps, call, recorded)
    call.retryAfterMs = UNDECIDED_RETRY_MS
    return 'storeDown'
  }
}

function owed(deps: ChargeDeps, call: Call, recorded: Recorded): 'found' | 'notKept' {
  call.replayed = unseal(recorded.answer, call.secret!, call.hold!.claim!.name)
  earn(deps, call)
  return call.replayed.answer === undefined ? 'notKept' : 'found'
}

/** The run that recovery found paid was on its payer's credit. */
function earn(deps: ChargeDeps, { read }: Call): void {
  if (deps.rules.credit && read) giveCredit(deps, creditorOf(deps, read.payer), 2)
}

function undecided(call: Call): 'undecided' {
  call.retryAfterMs = UNDECIDED_RETRY_MS
  call.txId = call.recorded?.payment?.txId
  return 'undecided'
}

/** The very payment is settled again where the caller brought it along: it lands once, however often it is sent. */
async function landingOf(deps: ChargeDeps, call: Call, { payment }: Recorded): Promise<Landing> {
  if (payment === undefined) return 'unknown'
  const { read, payload, endpoint } = call
  if (read?.txId === payment.txId) {
    const requirements = endpoint.terms.requirements(read.amount, await deps.facilitator.supported())
    const settlement = await settlementOf(deps, payload!, requirements)
    if (settlement.verdict === 'settled' && !deps.rules.confirmOnChain) return 'found'
  }
  return untilCut(deps.stop, deps.chain.lookup(payment.txId, payment), 'unknown')
}
