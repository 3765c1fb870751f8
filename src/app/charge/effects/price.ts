import { SvcError } from '../../../domain/errors.js'
import { usdToBaseUnits } from '../../../domain/money.js'
import { mapSyncOrAsync } from '../../../domain/state-machine/run-machine.js'
import { isRecord, sameTerms, speltAs } from '../../../domain/x402.js'
import { withTimeout } from '../../../ports/clock.js'
import type { GroupProblem } from '../../../ports/payment-reader.js'
import type { Call } from '../call-at-work.js'
import type { ChargeDeps, EndpointEntry } from '../charge-deps.js'
import { meetsTerms } from '../names-in-stores.js'
import { UNPAID } from '../payment-challenge.js'
import { USED_UP } from '../subscription-windows.js'
import { landedBefore, paysAnotherPrice } from './verify.js'

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
    call.terms.requirements = speltAs(call.payment.payload?.accepted, requirements, deps.owner.network)
    return judged(deps, call)
  })
}

function judged(deps: ChargeDeps, call: Call) {
  const { payment } = call.request
  if (payment.kind === 'none') {
    call.end.refusal ??= call.window.callsLeft === 0 ? USED_UP : UNPAID
    return 'unpaid'
  }
  if (payment.kind === 'malformed') {
    call.end.refusal = payment.why
    return 'malformed'
  }
  const mismatch = mismatchOf(deps, call)
  if (mismatch === undefined) return 'presented'
  call.end.refusal = mismatch
  if (!paysAnotherPrice(deps, call)) return 'mismatched'
  return landedBefore(deps, call).then(landed => (landed ? 'presented' : 'mismatched'))
}

/** `undefined` where the seller's function gives none: the problem says so. */
export async function priceNow(deps: ChargeDeps, call: Call): Promise<bigint | undefined> {
  try {
    return await withTimeout(deps.clock, deps.rules.timeouts.priceMs, quotedPrice(call))
  } catch (cause) {
    const endpoint = call.endpoint.def.name
    deps.logger.error({ err: cause, endpoint }, 'the price function gave no price')
    const isNoPrice = cause instanceof SvcError && cause.code === 'invalid_price'
    const what = isNoPrice ? 'did not return a positive USD amount' : 'failed'
    call.end.problem = {
      message: `The price of this call cannot be worked out: the seller's price function ${what}`,
    }
    return undefined
  }
}

function mismatchOf(deps: ChargeDeps, call: Call): string | undefined {
  const { payload, read } = call.payment
  const requirements = call.terms.requirements!
  const accepted = payload!.accepted
  if (call.endpoint.def.only) return ONLY_BALANCE
  const isSame = isRecord(accepted) && sameTerms(accepted, requirements, deps.owner.network)
  if (accepted !== undefined && !isSame)
    return 'The payment was made for other terms than these; read them again and sign anew'
  if (read === undefined)
    return deps.rules.requireReadable ? 'No signed payment transaction can be read in the payment' : undefined
  if (!meetsTerms(deps, read, requirements))
    return 'The signed transaction does not pay the amount, asset and receiver that are asked for'
  return read.groupProblem && GROUP_REFUSALS[read.groupProblem]
}

const ONLY_BALANCE =
  'Only a balance pays for this call: buy one at the URL of this quote, and send its key. You were not charged'

const GROUP_REFUSALS = {
  notWhole: 'The transactions of the payment’s group are not those that its group id was made of',
  noCommonRound: 'The transactions of the payment’s group have no valid round in common',
  notPlain: 'The signed transaction does more than pay: it closes out, rekeys, or takes from another account',
  anotherTransfer:
    'A second transaction of the group moves the asset to or from the seller; send one payment in a group',
} as const satisfies Record<GroupProblem, string>

/**
 * The price that a price function gives, in base units. A probe has no input, so it uses an example of one.
 *
 * @throws what the function throws; SvcError `invalid_price`
 */
export async function quotedPrice({ input, request, endpoint, balance }: Call): Promise<bigint> {
  const { headers, query, payment, body } = request
  const { method, params } = request.target!
  const priceOf = async (asked: object) =>
    usdToBaseUnits(await (endpoint.def.price as (ctx: object) => string | Promise<string>)(asked))
  try {
    return await priceOf({ body: input, headers, query, params })
  } catch (cause) {
    const isProbe = payment.kind === 'none' && body.kind === 'none' && balance === undefined
    const example = isProbe ? await exampleOf(endpoint) : undefined
    if (example === undefined) throw cause
    // The specification answers every probe with a quote. The function's price for the real input is quoted later.
    const { inputSchema } = endpoint.def
    const sent = structuredClone(inputSchema === undefined ? example.value : example.sent)
    // The output of a library's schema may have members that cannot be copied: it is made anew for each probe.
    const checked = inputSchema === undefined ? undefined : await endpoint.check?.(structuredClone(sent))
    const asked = checked !== undefined && 'value' in checked ? checked.value : sent
    return await priceOf({ body: asked, headers, query: method === 'GET' ? sent : query, params })
  }
}

const acceptedExamples = new WeakMap<EndpointEntry, ReturnType<typeof acceptedExample>>()

/** Searches once, and only if a price function needs the example. */
function exampleOf(endpoint: EndpointEntry): ReturnType<typeof acceptedExample> {
  const known = acceptedExamples.get(endpoint)
  if (known !== undefined) return known
  const found = acceptedExample(endpoint)
  acceptedExamples.set(endpoint, found)
  // A library's schema may fail now and not the next time.
  found.catch(() => acceptedExamples.delete(endpoint))
  return found
}

/** The first example that the endpoint accepts: as it is sent, and as the check returns it. */
async function acceptedExample({ examples, check }: EndpointEntry) {
  for (const example of examples()) {
    const checked = (await check?.(example)) ?? { value: example }
    if ('value' in checked) return { sent: example, value: checked.value }
  }
  return undefined
}
