import { SvcError } from '../../../domain/errors.js'
import { isRecord, sameTerms, speltAs } from '../../../domain/x402.js'
import type { GroupProblem } from '../../../ports/payment-reader.js'
import { withTimeout } from '../../../ports/timeouts-and-aborts.js'
import { type Call, meetsTerms } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { UNPAID } from '../payment-challenge.js'
import { quotedPrice } from '../price-from-function.js'
import { mapSyncOrAsync } from '../sync-or-async.js'

/** Computes the terms and compares the payment with them, before the facilitator is asked. */
export function price(deps: ChargeDeps, call: Call) {
  const { amount } = call.endpoint.def
  return amount === undefined ? priced(deps, call) : asked(deps, call, BigInt(amount))
}

async function priced(deps: ChargeDeps, call: Call) {
  const amount = await priceNow(deps, call)
  return amount === undefined ? 'unpriceable' : asked(deps, call, amount)
}

function asked(deps: ChargeDeps, call: Call, amount: bigint) {
  return mapSyncOrAsync(deps.facilitator.supported(), supported => {
    const requirements = call.endpoint.terms.requirements(amount, supported)
    call.requirements = speltAs(call.payload?.accepted, requirements, deps.network)
    return judged(deps, call)
  })
}

function judged(deps: ChargeDeps, call: Call) {
  const { payment } = call.request
  if (payment.kind === 'none') {
    call.refusal = call.uncovered ?? UNPAID
    return 'unpaid'
  }
  if (payment.kind === 'malformed') {
    call.refusal = payment.why
    return 'malformed'
  }
  const mismatch = mismatchOf(deps, call)
  if (mismatch === undefined) return 'presented'
  call.refusal = mismatch
  return 'mismatched'
}

async function priceNow(deps: ChargeDeps, call: Call): Promise<bigint | undefined> {
  try {
    return await withTimeout(deps.clock, deps.rules.timeouts.priceMs, quotedPrice(call))
  } catch (cause) {
    const endpoint = call.endpoint.def.name
    deps.logger.error({ err: cause, endpoint }, 'the price function gave no price')
    const isNoPrice = cause instanceof SvcError && cause.code === 'invalid_price'
    const what = isNoPrice ? 'did not return a positive USD amount' : 'failed'
    call.problem = {
      message: `The price of this call cannot be worked out: the seller's price function ${what}`,
    }
    return undefined
  }
}

function mismatchOf(deps: ChargeDeps, call: Call): string | undefined {
  const { payload, read } = call
  const requirements = call.requirements!
  const accepted = payload!.accepted
  if (accepted !== undefined && !(isRecord(accepted) && sameTerms(accepted, requirements, deps.network))) {
    return 'The payment was made for other terms than these; read them again and sign anew'
  }
  if (read === undefined) {
    return deps.rules.requireReadable ? 'No signed payment transaction can be read in the payment' : undefined
  }
  if (!meetsTerms(deps, read, requirements)) {
    return 'The signed transaction does not pay the amount, asset and receiver that are asked for'
  }
  return read.groupProblem && GROUP_REFUSALS[read.groupProblem]
}

const GROUP_REFUSALS = {
  notWhole: 'The transactions of the payment’s group are not those that its group id was made of',
  noCommonRound: 'The transactions of the payment’s group have no valid round in common',
  notPlain: 'The signed transaction does more than pay: it closes out, rekeys, or takes from another account',
  anotherTransfer:
    'A second transaction of the group moves the asset to or from the seller; send one payment in a group',
} as const satisfies Record<GroupProblem, string>
