/**
 * Whether facilitators would list the resource. The declared schema is not compiled: it is a stranger's, and compiling it
 * would be running it.
 */
import { type BazaarDeclaration, unlistable } from '../../../src/domain/bazaar-declaration.js'
import { isRecord } from '../../../src/domain/x402.js'
import { type Check, failed, passed, quoted } from '../checks.js'

const NAME = 'bazaar-listable'

export function bazaarCheck({ extensions }: Record<string, unknown>, method: 'GET' | 'POST'): Check {
  const refuse = (found: string, fix: string) => failed(NAME, found, fix)
  const bazaar = isRecord(extensions) ? extensions.bazaar : undefined
  if (!isRecord(bazaar)) return refuse('there is no extensions.bazaar', 'Declare how the endpoint is called')
  const { info, schema } = bazaar
  const input = isRecord(info) ? info.input : undefined
  if (!isRecord(input) || !isRecord(schema)) {
    return refuse('info.input or schema is missing', 'Declare an example call and its JSON Schema')
  }
  if (input.type !== 'http')
    return refuse(`info.input.type is ${quoted(input.type)}`, 'It is "http" for an endpoint')
  if (input.method !== method) {
    return refuse(`info.input.method is ${quoted(input.method)}`, `Declare ${method}, which it answers to`)
  }
  if (method === 'POST' && (input.bodyType !== 'json' || input.body === undefined)) {
    return refuse(
      'the example has no JSON body',
      'Declare bodyType "json" and a body that satisfies the schema',
    )
  }
  const properties = isRecord(schema.properties) ? schema.properties.input : undefined
  if (!isRecord(properties)) return refuse('the schema does not describe input', 'Describe properties.input')
  const why = unlistable(bazaar as unknown as BazaarDeclaration)
  if (why !== undefined) return refuse(why, 'Keep the declaration small and self-contained')
  return passed(NAME, `${method} with an example and a schema`)
}
