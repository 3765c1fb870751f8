/** Checks what a quote declares to indexes: one that cannot read it settles the payment and lists nothing. */
import { ajvValidator } from '../../../src/adapters/validation/ajv.js'
import {
  BAZAAR_BYTES_MAX,
  type BazaarDeclaration,
  unlistable,
} from '../../../src/domain/bazaar-declaration.js'
import type { JSONSchema } from '../../../src/domain/endpoint.js'
import { isRecord } from '../../../src/domain/x402.js'
import { shown } from './request.js'

/** Extensions whose `info` is the data that their `schema` describes. In other extensions, the payer completes `info`. */
const DESCRIBED = ['bazaar', 'x402-merchant']

export function extensionProblems(extensions: unknown, method: string): string[] {
  if (!isRecord(extensions)) return ['the quote has no extensions: without `bazaar` nothing is listed']
  const { bazaar } = extensions
  const problems = isRecord(bazaar) ? bazaarProblems(bazaar, method) : ['there is no extension `bazaar`']
  for (const [name, extension] of Object.entries(extensions)) {
    if (name === 'bazaar') continue
    if (!isRecord(extension) || !isRecord(extension.info)) problems.push(`${shown(name)} has no info`)
    else if (DESCRIBED.includes(name)) problems.push(...contradictions(name, extension))
  }
  return problems
}

function bazaarProblems(bazaar: Record<string, unknown>, method: string): string[] {
  const { info, schema } = bazaar
  const input = isRecord(info) ? info.input : undefined
  if (!isRecord(input) || !isRecord(schema)) return ['bazaar has no info.input or no schema']
  const why = unlistable(bazaar as unknown as BazaarDeclaration)
  return [
    input.type === 'http' ? [] : `bazaar's info.input.type is ${shown(input.type)}, not 'http'`,
    input.method === method ? [] : `bazaar declares ${shown(input.method)}, and the endpoint takes ${method}`,
    why === undefined ? [] : `bazaar: ${why}`,
    contradictions('bazaar', bazaar),
  ].flat()
}

/** Facilitators check the same before they list. */
function contradictions(name: string, { info, schema }: Record<string, unknown>): string[] {
  if (!isRecord(schema)) return [`${name} has no schema`]
  // A larger schema is refused for its size, and is not compiled.
  if (JSON.stringify(schema).length > BAZAAR_BYTES_MAX) return []
  try {
    const checked = ajvValidator().compile(schema as JSONSchema, { coerce: false })(info)
    if (checked instanceof Promise || 'value' in checked) return []
    return [`${name}'s info does not satisfy its schema: ${checked.invalid.message}`]
  } catch {
    return [`${name}'s schema cannot be compiled`]
  }
}
