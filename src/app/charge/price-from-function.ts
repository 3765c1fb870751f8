/** The price that a price function gives for a call. A probe has no input, so it uses an example of one. */
import { usdToBaseUnits } from '../../domain/money.js'
import { acceptedExample } from '../server/bazaar-example.js'
import type { Call } from './call-record.js'
import type { EndpointEntry } from './charge-deps.js'

/**
 * In base units.
 *
 * @throws what the function throws; SvcError `invalid_price`
 */
export async function quotedPrice({ input, request, endpoint }: Call): Promise<bigint> {
  const { headers, query, payment, body } = request
  const priceOf = endpoint.def.price as (ctx: object) => string | Promise<string>
  try {
    return usdToBaseUnits(await priceOf({ body: input, headers, query }))
  } catch (cause) {
    const isProbe = payment.kind === 'none' && body.kind === 'none'
    const example = isProbe ? exampleOf(endpoint) : undefined
    if (example === undefined) throw cause
    // The specification answers every probe with a quote. The function's price for the real input is quoted later.
    const asked = structuredClone(example.value)
    const isGet = endpoint.def.method === 'GET'
    return usdToBaseUnits(await priceOf({ body: asked, headers, query: isGet ? asked : query }))
  }
}

const examples = new WeakMap<EndpointEntry, ReturnType<typeof acceptedExample>>()

/** Searches once, and only if a price function needs the example. */
function exampleOf(endpoint: EndpointEntry): ReturnType<typeof acceptedExample> {
  if (!examples.has(endpoint)) examples.set(endpoint, acceptedExample(endpoint.def, endpoint.check))
  return examples.get(endpoint)
}
