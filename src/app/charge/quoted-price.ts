/** What a price function asks for a call; of a probe, which brings no input, for an example of one. */
import { usdToBaseUnits } from '../../domain/money.js'
import { acceptedExample } from '../server/bazaar-extension.js'
import type { Call } from './call.js'
import type { EndpointEntry } from './deps.js'

/** Base units. @throws what the function throws; SvcError `invalid_price` */
export async function quotedPrice({ input, request, endpoint }: Call): Promise<bigint> {
  const { headers, query, payment, body } = request
  const priceOf = endpoint.def.price as (ctx: object) => string | Promise<string>
  try {
    return usdToBaseUnits(await priceOf({ body: input, headers, query }))
  } catch (cause) {
    const isProbe = payment.kind === 'none' && body.kind === 'none'
    const example = isProbe ? exampleOf(endpoint) : undefined
    if (example === undefined) throw cause
    // The specification answers every probe with a quote. What the function makes of the real input is quoted then.
    const asked = structuredClone(example.value)
    const isGet = endpoint.def.method === 'GET'
    return usdToBaseUnits(await priceOf({ body: asked, headers, query: isGet ? asked : query }))
  }
}

const examples = new WeakMap<EndpointEntry, ReturnType<typeof acceptedExample>>()

/** Looked for once, and only where a price function needs it. */
function exampleOf(endpoint: EndpointEntry): ReturnType<typeof acceptedExample> {
  if (!examples.has(endpoint)) examples.set(endpoint, acceptedExample(endpoint.def, endpoint.check))
  return examples.get(endpoint)
}
