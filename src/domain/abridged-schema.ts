/**
 * Abridges a schema so that it refuses nothing that the whole schema accepts: first the descriptions go, then all but
 * the top level.
 */
import { DATA, mapped, NAMED, type Schema } from './embedded-schema.js'
import type { JSONSchema } from './endpoint.js'
import { isRecord } from './x402.js'

const WORDS: ReadonlySet<string> = new Set(['title', 'description', '$comment', 'examples'])

export function withoutWords(schema: JSONSchema): JSONSchema {
  return unworded(schema) as JSONSchema
}

function unworded(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(unworded)
  if (!isRecord(node)) return node
  const kept = Object.fromEntries(Object.entries(node).filter(([keyword]) => !WORDS.has(keyword)))
  return mapped(kept, (value, keyword) => {
    if (DATA.has(keyword)) return value
    return NAMED.has(keyword) && isRecord(value) ? mapped(value, unworded) : unworded(value)
  })
}

/** Keywords with rules on the value itself. All other keywords hold schemas or refer to some. */
const OWN_RULES = [
  'type',
  'enum',
  'const',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
] as const

/** The required properties, with the rules on the values themselves and nothing below. */
export function requiredOnly(schema: JSONSchema): JSONSchema {
  return topLevel(schema, OWN_RULES)
}

/** The names and types of the required properties. */
export function requiredTypes(schema: JSONSchema): JSONSchema {
  return topLevel(schema, ['type'])
}

function topLevel(schema: JSONSchema, rules: readonly string[]): JSONSchema {
  if (!isRecord(schema)) return {}
  const { type, required, properties } = schema as Schema
  if (!Array.isArray(required)) return (type === undefined ? {} : { type }) as JSONSchema
  const declared = isRecord(properties) ? properties : {}
  const kept = required.map(name => [name, rulesOf(declared[name], rules)])
  return {
    ...(type !== undefined && { type }),
    properties: Object.fromEntries(kept),
    required,
  } as JSONSchema
}

function rulesOf(schema: unknown, rules: readonly string[]): Schema {
  if (!isRecord(schema)) return {}
  return Object.fromEntries(rules.flatMap(rule => (rule in schema ? [[rule, schema[rule]]] : [])))
}
