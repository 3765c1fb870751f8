import { isIdOf } from '../../../domain/network.js'
import type { PaymentRequirements } from '../../../domain/x402.js'
import type { Settlement } from '../../../ports/facilitator.js'
import type { Call } from '../call-at-work.js'
import type { ChargeDeps, Stop } from '../charge-deps.js'

export async function settle(deps: ChargeDeps, call: Call) {
  call.terms.settlingSinceMs = deps.clock.monotonic()
  const settlement = await settlementOf(deps, call, call.terms.requirements!)
  switch (settlement.verdict) {
    case 'settled':
      return (await accept(deps, call, settlement)) ? 'settled' : 'unknown'
    case 'refused':
      call.end.refusal = settlement.reason
      // With `confirmOnChain` the chain decides, not the facilitator. It also decides where another call may have taken this one over
      // and settled, which the store may have lost since.
      return deps.rules.confirmOnChain || mayBeTaken(deps, call) ? 'unknown' : 'refused'
    case 'spent':
      // This is the server's first attempt. If another server's call submitted the payment, that server sells its answer.
      // Else this attempt or the payer may have submitted it, and the chain decides, as always with `confirmOnChain`.
      return settlement.submittedBefore && !deps.rules.confirmOnChain ? 'elsewhere' : 'unknown'
    case 'unknown':
      deps.logger.warn(
        { cause: settlement.cause, txId: call.payment.txId },
        'a settlement has no clear answer',
      )
      return 'unknown'
  }
}

/** Whether another call may hold what this one held: its process may have stood still. */
export function mayBeTaken({ upkeep: { leases } }: ChargeDeps, { holds: { owned } }: Call): boolean {
  return owned !== undefined && leases.mayHaveLapsed(owned.hold.token)
}

const STOPPING = { verdict: 'unknown', cause: 'the server is stopping' } as const
const MAY_BE_TAKEN = { verdict: 'unknown', cause: 'another call may have taken this one over' } as const

/**
 * A server that stops answers that the settlement is unknown. It does not reset the connection. Nor does a call settle that another
 * one may have taken over: that one may have told its caller that nothing was charged.
 */
export function settlementOf(
  deps: ChargeDeps,
  call: Call,
  requirements: PaymentRequirements,
): Promise<Settlement> {
  if (deps.stop.cutting()) return Promise.resolve(STOPPING)
  if (mayBeTaken(deps, call)) return Promise.resolve(MAY_BE_TAKEN)
  return untilShutdown(deps.stop, deps.facilitator.settle(call.payment.payload!, requirements), STOPPING)
}

/**
 * Accepts the facilitator's confirmation, unless `confirmOnChain` is set. One that names another transaction, network or payer than
 * the payment's is delivered and flagged: the caller did what was asked, and the seller learns that the facilitator is wrong.
 */
export async function accept(
  deps: ChargeDeps,
  call: Call,
  settlement: Extract<Settlement, { verdict: 'settled' }>,
): Promise<boolean> {
  const { read } = call.payment
  call.payment.payer ??= settlement.payer
  call.payment.txId ??= settlement.txId
  if (read === undefined) return true
  call.end.mismatch = mismatchOf(settlement, call, deps)
  if (call.end.mismatch !== undefined) {
    deps.logger.error(
      { mismatch: call.end.mismatch, txId: read.txId },
      'the facilitator settled something else',
    )
  }
  return !deps.rules.confirmOnChain || (await deps.chain.lookup(read.txId, read)) === 'found'
}

function mismatchOf(
  { txId, network, payer }: Extract<Settlement, { verdict: 'settled' }>,
  { payment: { read } }: Call,
  deps: ChargeDeps,
): string | undefined {
  if (txId === undefined || !read!.isOfGroup(txId)) return 'transaction'
  if (network !== undefined && !isIdOf(deps.owner.network, network)) return 'network'
  if (payer !== undefined && payer !== read!.payer) return 'payer'
  return undefined
}

/** The work's result, or `cut` as soon as the server stops waiting for its calls. The work continues. */
export function untilShutdown<T>(stop: Stop, work: Promise<T>, cut: T): Promise<T> {
  if (stop.cutting()) return Promise.resolve(cut)
  return new Promise((resolve, reject) => {
    const stopListening = stop.onCut(() => resolve(cut))
    void work.then(resolve, reject).finally(stopListening)
  })
}
