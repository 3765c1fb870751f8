/**
 * Inputs that a JSON Schema probably accepts, found without a validator. They are few guesses, best first. Code that
 * shows one to a stranger validates it first, and uses the next guess if it is invalid.
 */

import type { Schema } from './embedded-schema.js'
import type { JSONSchema } from './endpoint.js'
import { exampleNumber, exampleText } from './example-input-scalars.js'
import { isRecord } from './x402.js'

/** How a guess chooses among the ways to satisfy a schema. */
interface Guess {
  readonly root: Schema
  /** Whether optional properties are present: readers learn from them, but some exclude each other. */
  readonly optional: boolean
  /** The member to use of every `anyOf` and `oneOf`. */
  readonly branch: number
  /** How many more schemas may be visited: a schema that refers to itself twice would never end. */
  schemasLeft: number
}

const BRANCHES_MAX = 4
const DEPTH_MAX = 12
const ITEMS_MAX = 16
const SCHEMAS_MAX = 1_000

export function* examplesOf(schema: JSONSchema | undefined): Generator<unknown> {
  if (!isRecord(schema)) {
    yield {}
    return
  }
  if (Array.isArray(schema.examples)) yield* schema.examples
  for (const optional of [true, false]) {
    for (let branch = 0; branch < BRANCHES_MAX; branch++) {
      yield exampleOf(schema, { root: schema, optional, branch, schemasLeft: SCHEMAS_MAX }, 0)
    }
  }
}

/** `undefined` where the schema is deeper or wider than an example should be. */
function exampleOf(schema: unknown, guess: Guess, depth: number): unknown {
  if (depth > DEPTH_MAX || guess.schemasLeft <= 0) return undefined
  const flat = flattened(schema, guess, depth)
  if (Array.isArray(flat.examples) && flat.examples.length > 0) return flat.examples[0]
  if ('default' in flat) return flat.default
  if ('const' in flat) return flat.const
  if (Array.isArray(flat.enum)) return flat.enum[0]
  switch (typeOf(flat, depth)) {
    case 'object':
      return objectOf(flat, guess, depth)
    case 'array':
      return arrayOf(flat, guess, depth)
    case 'integer':
      return exampleNumber(flat, true)
    case 'number':
      return exampleNumber(flat, false)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return exampleText(flat)
  }
}

function objectOf(flat: Schema, guess: Guess, depth: number): Schema {
  const properties = recordIn(flat.properties)
  const required = listIn(flat.required).map(String)
  const names = guess.optional ? new Set([...Object.keys(properties), ...required]) : new Set(required)
  const entries = [...names].map(name => [
    name,
    exampleOf(properties[name] ?? flat.additionalProperties, guess, depth + 1),
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function arrayOf(flat: Schema, guess: Guess, depth: number): readonly unknown[] {
  const { minItems, maxItems } = flat
  const wanted = Math.max(typeof minItems === 'number' ? minItems : 0, guess.optional ? 1 : 0)
  const count = Math.min(wanted, typeof maxItems === 'number' ? maxItems : ITEMS_MAX, ITEMS_MAX)
  const first = listIn(flat.prefixItems)
  return Array.from({ length: count }, (_, at) =>
    exampleOf(first[at] ?? flat.items, guess, depth + 1),
  ).filter(value => value !== undefined)
}

/** Merges a reference and its `allOf` members into one schema. If two of them disagree, the outermost is kept. */
function flattened(schema: unknown, guess: Guess, depth: number): Schema {
  if (!isRecord(schema) || depth > DEPTH_MAX || guess.schemasLeft-- <= 0) return {}
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  const parts = [target($ref, guess.root), ...listIn(allOf), chosen(anyOf, guess), chosen(oneOf, guess)]
  let flat: Schema = own
  for (const part of parts) if (isRecord(part)) flat = both(flat, flattened(part, guess, depth + 1))
  return flat
}

function both(outer: Schema, part: Schema): Schema {
  return {
    ...part,
    ...outer,
    properties: { ...recordIn(part.properties), ...recordIn(outer.properties) },
    required: [...listIn(part.required), ...listIn(outer.required)],
  }
}

function chosen(branches: unknown, { branch }: Guess): unknown {
  const list = listIn(branches)
  return list[branch % list.length]
}

/** The target of a local reference. */
function target(reference: unknown, root: Schema): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
  const steps = reference.slice(1).split('/').slice(1)
  return steps.reduce<unknown>((node, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return isRecord(node) || Array.isArray(node) ? (node as Record<string, unknown>)[name] : undefined
  }, root)
}

function typeOf({ type, properties, required, items, prefixItems, ...rest }: Schema, depth: number): unknown {
  const named = listIn(type)
  if (named.length > 0) return named.find(name => name !== 'null') ?? 'null'
  if (type !== undefined) return type
  if (listIn(required).length > 0 || Object.keys(recordIn(properties)).length > 0) return 'object'
  if (items !== undefined || prefixItems !== undefined) return 'array'
  if (rest.minimum !== undefined || rest.maximum !== undefined || rest.multipleOf !== undefined)
    return 'number'
  // An input without any rule is an object, because callers send objects.
  return depth === 0 ? 'object' : 'string'
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function recordIn(value: unknown): Schema {
  return isRecord(value) ? value : {}
}
