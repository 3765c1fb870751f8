/** What a price function asks for a call; of a probe, which brings no input, for an example of one. */
import { usdToBaseUnits } from '../../domain/money.js'
import { acceptedExample } from '../server/bazaar-extension.js'
import type { Call } from './call.js'
import type { Listing } from './world.js'

/** Base units. @throws what the function throws; SvcError `invalid_price` */
export async function quotedPrice({ input, request, listing }: Call): Promise<bigint> {
  const { headers, query, payment, body } = request
  const priceOf = listing.def.price as (ctx: object) => string | Promise<string>
  try {
    return usdToBaseUnits(await priceOf({ body: input, headers, query }))
  } catch (cause) {
    const isProbe = payment.kind === 'none' && body.kind === 'none'
    const example = isProbe ? exampleOf(listing) : undefined
    if (example === undefined) throw cause
    // The specification answers every probe with a quote. What the function makes of the real input is quoted then.
    const asked = structuredClone(example.value)
    const isGet = listing.def.method === 'GET'
    return usdToBaseUnits(await priceOf({ body: asked, headers, query: isGet ? asked : query }))
  }
}

const examples = new WeakMap<Listing, ReturnType<typeof acceptedExample>>()

/** Looked for once, and only where a price function needs it. */
function exampleOf(listing: Listing): ReturnType<typeof acceptedExample> {
  if (!examples.has(listing)) examples.set(listing, acceptedExample(listing.def, listing.check))
  return examples.get(listing)
}
