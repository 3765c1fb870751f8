import { SvcError } from '../../../domain/errors.js'
import { isRecord, sameTerms } from '../../../domain/x402.js'
import { withTimeout } from '../../../ports/waiting.js'
import { thenMaybe } from '../../then-maybe.js'
import { type Call, meetsTerms } from '../call.js'
import { quotedPrice } from '../quoted-price.js'
import { UNPAID } from '../terms.js'
import type { World } from '../world.js'

/** Works out our terms and holds the payment against them, before the facilitator hears of it. */
export function price(world: World, call: Call) {
  const { fixedAmount } = call.listing.terms
  return fixedAmount === undefined ? priced(world, call) : asked(world, call, fixedAmount)
}

async function priced(world: World, call: Call) {
  const amount = await priceNow(world, call)
  return amount === undefined ? 'unpriceable' : asked(world, call, amount)
}

function asked(world: World, call: Call, amount: bigint) {
  return thenMaybe(world.facilitator.supported(), supported => {
    call.requirements = call.listing.terms.requirements(amount, supported)
    return judged(world, call)
  })
}

function judged(world: World, call: Call) {
  const { payment } = call.request
  if (payment.kind === 'none') {
    call.refusal = UNPAID
    return 'unpaid'
  }
  if (payment.kind === 'malformed') {
    call.refusal = payment.why
    return 'malformed'
  }
  const mismatch = mismatchOf(world, call)
  if (mismatch === undefined) return 'presented'
  call.refusal = mismatch
  return 'mismatched'
}

async function priceNow(world: World, call: Call): Promise<bigint | undefined> {
  try {
    return await withTimeout(world.clock, world.rules.budgets.priceMs, quotedPrice(call))
  } catch (cause) {
    const endpoint = call.listing.def.name
    world.logger.error({ err: cause, endpoint }, 'the price function gave no price')
    const isNoPrice = cause instanceof SvcError && cause.code === 'invalid_price'
    const what = isNoPrice ? 'did not return a positive USD amount' : 'failed'
    call.problem = {
      message: `The price of this call cannot be worked out: the seller's price function ${what}`,
    }
    return undefined
  }
}

function mismatchOf(world: World, call: Call): string | undefined {
  const { payload, read } = call
  const requirements = call.requirements!
  const accepted = payload!.accepted
  if (accepted !== undefined && !(isRecord(accepted) && sameTerms(accepted, requirements))) {
    return 'The payment was made for other terms than these; read them again and sign anew'
  }
  if (read === undefined) {
    return world.rules.requireReadable
      ? 'No signed payment transaction can be read in the payment'
      : undefined
  }
  return meetsTerms(world, read, requirements)
    ? undefined
    : 'The signed transaction does not pay the amount, asset and receiver that are asked for'
}
