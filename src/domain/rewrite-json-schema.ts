/** Rewrites a seller's JSON Schema for another document: at another place, or shorter. */
import type { JSONSchema } from './endpoint-schemas.js'
import { isRecord } from './x402.js'

export type Schema = Readonly<Record<string, unknown>>

/** Keywords whose values are data: a `$ref` inside them is not a reference. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

/** Keywords whose keys are names that the author chose, not keywords. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** The schema as it reads at `pointer`, such as `#/components/schemas/echo`, without what names documents: `$schema` and `$id`. */
export function embeddedAt(pointer: string, schema: JSONSchema | undefined): Schema {
  if (!isRecord(schema)) return {}
  const { $schema: _, $id: __, ...own } = schema
  return rewritten(own, each => {
    // A schema with its own id is a separate document: its local references stay inside it.
    if ('$id' in each) return undefined
    return mapped(each, (value, keyword) =>
      keyword === '$ref' || keyword === '$dynamicRef' ? movedReference(value, pointer) : value,
    )
  }) as Schema
}

function movedReference(reference: unknown, pointer: string): unknown {
  const local = typeof reference === 'string' && (reference === '#' || reference.startsWith('#/'))
  return local ? pointer + reference.slice(1) : reference
}

const WORDS: ReadonlySet<string> = new Set(['title', 'description', '$comment', 'examples'])

/** Like the two below, an abridged schema refuses nothing that the whole one accepts. */
export function withoutWords(schema: JSONSchema): JSONSchema {
  return rewritten(schema, each =>
    Object.fromEntries(Object.entries(each).filter(([keyword]) => !WORDS.has(keyword))),
  ) as JSONSchema
}

/** Each schema, the outermost first, as `change` makes it. `undefined` leaves one as it is, with all in it. */
function rewritten(node: unknown, change: (schema: Schema) => Schema | undefined): unknown {
  if (Array.isArray(node)) return node.map(each => rewritten(each, change))
  const changed = isRecord(node) ? change(node) : undefined
  if (changed === undefined) return node
  return mapped(changed, (value, keyword) => {
    if (DATA.has(keyword)) return value
    if (NAMED.has(keyword) && isRecord(value)) return mapped(value, named => rewritten(named, change))
    return rewritten(value, change)
  })
}

function mapped(record: Schema, change: (value: unknown, key: string) => unknown): Schema {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}

/** Keywords with rules on the value itself. All other keywords hold schemas or refer to some. */
const OWN_RULES: readonly string[] = [
  ...['type', 'enum', 'const', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems'],
]

/** The required properties, with the rules on the values themselves and nothing below. */
export function requiredOnly(schema: JSONSchema): JSONSchema {
  return topLevel(schema, OWN_RULES)
}

export function requiredTypes(schema: JSONSchema): JSONSchema {
  return topLevel(schema, ['type'])
}

function topLevel(schema: JSONSchema, rules: readonly string[]): JSONSchema {
  if (!isRecord(schema)) return {}
  const { type, required, properties } = schema as Schema
  if (!Array.isArray(required)) return (type === undefined ? {} : { type }) as JSONSchema
  const declared = isRecord(properties) ? properties : {}
  const kept = required.map(name => [name, rulesOf(declared[name], rules)])
  return { ...(type !== undefined && { type }), properties: Object.fromEntries(kept), required } as JSONSchema
}

function rulesOf(schema: unknown, rules: readonly string[]): Schema {
  if (!isRecord(schema)) return {}
  return Object.fromEntries(rules.flatMap(rule => (rule in schema ? [[rule, schema[rule]]] : [])))
}
