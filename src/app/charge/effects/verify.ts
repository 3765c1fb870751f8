import type { ReadPayment } from '../../../ports/payment-reader.js'
import type { Call } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { meetsTerms, paysUs } from '../names-in-stores.js'
import { countVerified } from './admit.js'

/** Algorand produces a round about every 2.8 s. Counting 2.5 s for each makes the deadline rather too early than too late. */
const ROUND_MS = 2_500
/** Rounds that are left for submitting: a group that is valid until round R must be in a block by then. */
const ROUNDS_TO_SETTLE = 3
const SLACK_MS = 1_000
/** With less time than this, no handler can be expected to finish. */
const HANDLER_MIN_MS = 1_000

export async function verify(deps: ChargeDeps, call: Call) {
  if (paysAnotherPrice(deps, call)) return 'spent'
  const leftMs = lifetimeMs(call.payment.read && (await deps.chain.round()), call.payment.read)
  if (leftMs < HANDLER_MIN_MS) {
    if (await landedBefore(deps, call)) return 'spent'
    call.end.refusal = 'The payment expires before it could be settled; sign a new one'
    return 'expiring'
  }
  call.terms.handlerMs = Math.min(call.endpoint.def.timeout, leftMs)
  call.terms.settleByMs = deps.clock.monotonic() + leftMs + SLACK_MS
  const { payload, read } = call.payment
  const verification = await deps.facilitator.verify(payload!, call.terms.requirements!, read?.sponsor)
  switch (verification.verdict) {
    case 'valid':
      call.payment.payer ??= verification.payer
      return call.endpoint.rate === undefined ? 'verified' : countVerified(deps, call, call.endpoint.rate)
    case 'spent':
    case 'refused':
      // It was paid once and delivered for once, also where it is refused because its payer has spent the rest since.
      if (read && (verification.verdict === 'spent' || (await landedBefore(deps, call)))) return 'spent'
      call.end.refusal = verification.reason
      return 'refused'
    case 'unreachable':
      deps.logger.warn({ cause: verification.cause }, 'the facilitator did not answer a verification')
      return 'unreachable'
  }
}

/** Pays us another price, or where a balance alone pays now, as before a deploy. `price` lets it pass only if it has landed. */
export function paysAnotherPrice(deps: ChargeDeps, { endpoint: { def }, payment: { read }, terms }: Call) {
  return !!read && paysUs(deps, read) && (!!def.only || !meetsTerms(deps, read, terms.requirements!))
}

/** If the store lost its records, the payer must not pay again. The chain is asked once, and only for a payer's own signature. */
export async function landedBefore(
  { chain }: ChargeDeps,
  { payment, holds: { owned } }: Call,
): Promise<boolean> {
  const { txId, proven } = payment.read!
  return owned?.isBearer !== 'unlanded' && proven() && (await chain.hasLanded(txId)) === true
}

/** How long the handler may take so that the payment can still land; unlimited where the round is unknown. */
function lifetimeMs(round: bigint | undefined, read: ReadPayment | undefined): number {
  if (read === undefined || round === undefined) return Number.POSITIVE_INFINITY
  return (Number(read.lastValid - round) - ROUNDS_TO_SETTLE) * ROUND_MS - SLACK_MS
}
