/** What a listed endpoint's 402 declares to the Bazaar, with an example that the endpoint would itself accept. */
import { bazaarOf, unlistable } from '../domain/bazaar.js'
import type { EndpointDef } from '../domain/endpoint.js'
import { examplesOf } from '../domain/example.js'
import type { InputCheck } from '../ports/input-validator.js'

/** Told what is wrong with an agent that can be served all the same. */
export type Warn = (message: string, fields?: object) => void

/** The challenge's `extensions`; without a declaration the endpoint is sold as before, and found by no index. */
export function extensionsOf(
  def: EndpointDef,
  check: InputCheck | undefined,
  warn: Warn,
): Record<string, unknown> | undefined {
  if (!def.listed) return undefined
  const undeclared = (why: string) => {
    warn(`Endpoint '${def.name}' is not declared to the Bazaar: ${why}`, { endpoint: def.name })
    return undefined
  }
  const example = acceptedExample(def, check)
  if (example === undefined) {
    return undeclared('no example that satisfies its input could be made up; give the schema `examples`')
  }
  const bazaar = bazaarOf(def, example.value)
  const why = unlistable(bazaar)
  return why === undefined ? { bazaar } : undeclared(why)
}

/** The value is the checked one: of a query's, the coerced one, which is what the schema describes. */
export function acceptedExample({ input }: EndpointDef, check: InputCheck | undefined) {
  for (const example of examplesOf(input)) {
    const checked = check === undefined ? { value: example } : check(example)
    if ('value' in checked) return checked
  }
  return undefined
}
