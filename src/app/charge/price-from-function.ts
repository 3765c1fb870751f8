/** The price that a price function gives for a call. A probe has no input, so it uses an example of one. */
import { examplesOf } from '../../domain/example-input.js'
import { usdToBaseUnits } from '../../domain/money.js'
import type { Call } from './call-record.js'
import type { EndpointEntry } from './charge-deps.js'

/**
 * In base units.
 *
 * @throws what the function throws; SvcError `invalid_price`
 */
export async function quotedPrice({ input, request, endpoint }: Call): Promise<bigint> {
  const { headers, query, payment, body } = request
  const priceOf = async (asked: object) =>
    usdToBaseUnits(await (endpoint.def.price as (ctx: object) => string | Promise<string>)(asked))
  try {
    return await priceOf({ body: input, headers, query })
  } catch (cause) {
    const isProbe = payment.kind === 'none' && body.kind === 'none'
    const example = isProbe ? await exampleOf(endpoint) : undefined
    if (example === undefined) throw cause
    // The specification answers every probe with a quote. The function's price for the real input is quoted later.
    const { inputSchema, method } = endpoint.def
    const sent = structuredClone(inputSchema === undefined ? example.value : example.sent)
    const asked = inputSchema === undefined ? sent : await outputFor(endpoint, sent)
    return await priceOf({ body: asked, headers, query: method === 'GET' ? sent : query })
  }
}

/** The output of a library's schema may have members that cannot be copied: it is made anew for each probe. */
async function outputFor({ check }: EndpointEntry, input: unknown): Promise<unknown> {
  const checked = await check?.(structuredClone(input))
  return checked !== undefined && 'value' in checked ? checked.value : input
}

const examples = new WeakMap<EndpointEntry, ReturnType<typeof acceptedExample>>()

/** Searches once, and only if a price function needs the example. */
function exampleOf(endpoint: EndpointEntry): ReturnType<typeof acceptedExample> {
  const known = examples.get(endpoint)
  if (known !== undefined) return known
  const found = acceptedExample(endpoint)
  examples.set(endpoint, found)
  // A library's schema may fail now and not the next time.
  found.catch(() => examples.delete(endpoint))
  return found
}

/** The first example that the endpoint accepts: as it is sent, and as the check returns it. */
async function acceptedExample({ def, check }: EndpointEntry) {
  for (const example of examplesOf(def.input)) {
    const checked = (await check?.(example)) ?? { value: example }
    if ('value' in checked) return { sent: example, value: checked.value }
  }
  return undefined
}
