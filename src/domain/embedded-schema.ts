/** Puts an endpoint's schema into a larger document, where its local references need another prefix. */
import type { JSONSchema } from './endpoint.js'
import { isRecord } from './x402.js'

export type Schema = Readonly<Record<string, unknown>>

/** Keywords whose values are data: a `$ref` inside them is not a reference. */
export const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

/** Keywords whose keys are names that the author chose, not keywords. */
export const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/**
 * The schema as it reads at `pointer` (such as `#/components/schemas/echo`), without `$schema` and `$id`: those name
 * separate documents.
 */
export function embeddedAt(pointer: string, schema: JSONSchema | undefined): Schema {
  if (!isRecord(schema)) return {}
  const { $schema: _, $id: __, ...own } = schema
  return moved(own, pointer) as Schema
}

function moved(node: unknown, pointer: string): unknown {
  if (Array.isArray(node)) return node.map(member => moved(member, pointer))
  // A schema with its own id is a separate document: its local references stay inside it.
  if (!isRecord(node) || '$id' in node) return node
  return mapped(node, (value, keyword) => {
    if (DATA.has(keyword)) return value
    if (keyword === '$ref' || keyword === '$dynamicRef') return movedReference(value, pointer)
    if (NAMED.has(keyword) && isRecord(value)) return mapped(value, named => moved(named, pointer))
    return moved(value, pointer)
  })
}

function movedReference(reference: unknown, pointer: string): unknown {
  const local = typeof reference === 'string' && (reference === '#' || reference.startsWith('#/'))
  return local ? pointer + reference.slice(1) : reference
}

export function mapped(record: Schema, change: (value: unknown, key: string) => unknown): Schema {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}
