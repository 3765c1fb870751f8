import type { Landing } from '../../../ports/chain.js'
import type { Recorded } from '../../../ports/charge-store.js'
import type { Call } from '../call.js'
import { unseal } from '../claim.js'
import type { World } from '../world.js'
import { leaseOf } from './open.js'

const UNDECIDED_RETRY_MS = 5_000

/** A call under this key died after it recorded. What became of its payment decides whether its answer is owed. */
export async function recover(world: World, call: Call) {
  const recorded = call.recorded!
  const landing = await landingOf(world, call, recorded)
  if (landing === 'unknown') return undecided(call)
  const replays = world.rules.idempotency!.onLostResponse === 'replay'
  try {
    const resolved = await world.store.resolve({
      ...call.hold!,
      txId: recorded.payment!.txId,
      verdict: landing === 'absent' ? 'dead' : replays ? 'found' : 'forfeited',
      windowMs: world.rules.idempotency!.windowMs,
      leaseMs: leaseOf(world, call),
    })
    switch (resolved) {
      case 'completed':
        call.replayed = unseal(recorded.answer, call.request.idempotencyKey!, call.hold!.claim!.name)
        return 'found'
      case 'opened':
        call.held = true
        return landing === 'absent' ? 'absent' : 'forfeited'
      default:
        return resolved
    }
  } catch (cause) {
    world.logger.error({ err: cause }, 'the charge store did not resolve')
    call.retryAfterMs = UNDECIDED_RETRY_MS
    return 'storeDown'
  }
}

function undecided(call: Call): 'undecided' {
  call.retryAfterMs = UNDECIDED_RETRY_MS
  call.txId = call.recorded?.payment?.txId
  return 'undecided'
}

/** The very payment is settled again where the caller brought it along: it lands once, however often it is sent. */
async function landingOf(world: World, call: Call, { payment }: Recorded): Promise<Landing> {
  if (payment === undefined) return 'unknown'
  const { read, payload, listing } = call
  if (read?.txId === payment.txId) {
    const requirements = listing.terms.requirements(read.amount, await world.facilitator.supported())
    const settlement = await world.facilitator.settle(payload!, requirements)
    if (settlement.verdict === 'settled' && !world.rules.confirmOnChain) return 'found'
  }
  return world.chain.lookup(payment.txId, payment)
}
