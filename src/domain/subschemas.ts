/** Finds every schema inside a JSON Schema with its place, and the targets of its local references. */
import { escapePointer } from './json-numbers.js'
import { isRecord } from './x402.js'

export type Schema = Readonly<Record<string, unknown>>

export interface Place {
  /** A JSON pointer (RFC 6901); `''` is the whole schema. */
  readonly pointer: string
  readonly schema: Schema
}

const ONE = [
  'additionalProperties',
  'propertyNames',
  'unevaluatedProperties',
  'items',
  'contains',
  'unevaluatedItems',
  'not',
  'if',
  'then',
  'else',
]
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const NAMED = [
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
] as const

/** The schema itself first, then each schema in it. */
export function placesOf(schema: unknown, pointer = ''): readonly Place[] {
  if (!isRecord(schema)) return []
  const under = (value: unknown, ...path: (string | number)[]) =>
    placesOf(value, [pointer, ...path.map(step => escapePointer(String(step)))].join('/'))
  return [
    { pointer, schema },
    ...ONE.flatMap(keyword => under(schema[keyword], keyword)),
    ...LISTS.flatMap(keyword => listOf(schema[keyword]).flatMap((each, at) => under(each, keyword, at))),
    ...NAMED.flatMap(keyword => {
      const named = isRecord(schema[keyword]) ? Object.entries(schema[keyword]) : []
      return named.flatMap(([name, each]) => under(each, keyword, name))
    }),
  ]
}

/**
 * Maps a `$ref` or `$dynamicRef` to the places that it may mean; none for a reference that leaves them. The first
 * place is the root.
 */
export function referencesIn(places: readonly Place[]): (reference: unknown) => readonly Schema[] {
  // Inside a schema with its own id, the same reference means something else.
  if (places.some(({ pointer, schema }) => pointer !== '' && '$id' in schema)) return () => []
  return reference => {
    if (typeof reference !== 'string' || !reference.startsWith('#')) return []
    const fragment = decoded(reference.slice(1))
    const meant = places.filter(({ pointer, schema: { $anchor, $dynamicAnchor } }) => {
      return pointer === fragment || $anchor === fragment || $dynamicAnchor === fragment
    })
    return meant.map(({ schema }) => schema)
  }
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
