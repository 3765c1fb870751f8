/** What a listed endpoint's 402 declares to the Bazaar, with an example that the endpoint itself would accept. */
import { bazaarOf, listableOf, unlistable } from '../../domain/bazaar-declaration.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { examplesOf } from '../../domain/example-input.js'
import type { InputCheck } from '../../ports/input-validator.js'
import { answerExamples, type ExampleCheck } from './endpoint-checks.js'
import type { Warn } from './settings-from-options.js'

/**
 * The challenge's `extensions`. If no index would accept the whole schema, it is declared in part, and the seller is
 * warned.
 */
export function extensionsOf(
  def: EndpointDef,
  check: ExampleCheck,
  warn: Warn,
): Record<string, unknown> | undefined {
  if (!def.listed) return undefined
  const accepted = [...examplesOf(def.input)].map(check).flatMap(checked => {
    // Of a query the coerced values, which the schema describes.
    return 'value' in checked ? [checked.value] : []
  })
  const { declared, leftOut } = listableOf(def, accepted, answerExamples(def))
  if (leftOut !== undefined) {
    const why =
      accepted.length === 0
        ? 'no example that satisfies its input could be made up; give the schema `examples`'
        : unlistable(bazaarOf(def, accepted[0]))
    warn(`Endpoint '${def.name}' is declared to the Bazaar without ${leftOut}: ${why}`, {
      endpoint: def.name,
    })
  }
  return { bazaar: declared }
}

/** The first example that the endpoint accepts: as it is sent, and as the check returns it. */
export async function acceptedExample({ input }: EndpointDef, check: InputCheck | undefined) {
  for (const example of examplesOf(input)) {
    const checked = (await check?.(example)) ?? { value: example }
    if ('value' in checked) return { sent: example, value: checked.value }
  }
  return undefined
}
