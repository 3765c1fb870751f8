/** Found without a validator: a few guesses, best first. Code that shows one to a stranger validates it first. */
import type { JSONSchema } from './endpoint-schemas.js'
import type { Schema } from './rewrite-json-schema.js'
import { isRecord, listIn, recordAt } from './x402.js'

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
    for (let branch = 0; branch < BRANCHES_MAX; branch++)
      yield exampleOf(schema, { root: schema, optional, branch, schemasLeft: SCHEMAS_MAX }, 0)
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
  const properties = recordAt(flat.properties) ?? {}
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
    properties: { ...recordAt(part.properties), ...recordAt(outer.properties) },
    required: [...listIn(part.required), ...listIn(outer.required)],
  }
}

function chosen(branches: unknown, { branch }: Guess): unknown {
  const list = listIn(branches)
  return list[branch % list.length]
}

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
  if (listIn(required).length > 0 || Object.keys(recordAt(properties) ?? {}).length > 0) return 'object'
  if (items !== undefined || prefixItems !== undefined) return 'array'
  if (rest.minimum !== undefined || rest.maximum !== undefined || rest.multipleOf !== undefined)
    return 'number'
  // An input without any rule is an object, because callers send objects.
  return depth === 0 ? 'object' : 'string'
}

/** 1 if the schema allows it, else the first number near a limit that satisfies all limits. */
function exampleNumber(schema: Schema, whole: boolean): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema
  const above = numbersIn(minimum, exclusiveMinimum)
  const below = numbersIn(maximum, exclusiveMaximum)
  const low = above.length > 0 ? Math.max(...above) : Math.min(0, ...below)
  const high = below.length > 0 ? Math.min(...below) : low + 1
  const [step = 1] = numbersIn(multipleOf)
  const middle = (low + high) / 2
  const candidates = [
    1,
    0,
    low,
    high,
    Math.ceil(low / step) * step,
    (Math.floor(low / step) + 1) * step,
    (Math.ceil(high / step) - 1) * step,
    middle,
    Math.floor(middle / step) * step,
  ]
  const fits = (value: number) =>
    numbersIn(minimum).every(limit => value >= limit) &&
    numbersIn(exclusiveMinimum).every(limit => value > limit) &&
    numbersIn(maximum).every(limit => value <= limit) &&
    numbersIn(exclusiveMaximum).every(limit => value < limit) &&
    numbersIn(multipleOf).every(unit => Number.isInteger(value / unit)) &&
    (!whole || Number.isInteger(value))
  return candidates.find(fits) ?? low
}

/** Names and addresses that standards set aside for examples. */
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  duration: 'P1D',
  email: 'agent@example.com',
  hostname: 'example.com',
  'idn-email': 'agent@example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  iri: 'https://example.com/',
  'json-pointer': '/example',
  regex: '^example$',
  time: '12:00:00Z',
  uri: 'https://example.com/',
  'uri-reference': '/example',
  url: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
}

const FILLER = 'example '
const TEXT_MAX = 2_048
/** A pattern's example is a guess from runs of one character: enough for codes, digits, addresses and words. */
const RUN_CHARACTERS = ['a', 'A', '1', '0']
const RUN_MAX = 64

function exampleText({ format, pattern, minLength, maxLength }: Schema): string {
  const [shortest = 0] = numbersIn(minLength)
  const [longest = TEXT_MAX] = numbersIn(maxLength)
  const plain = (typeof format === 'string' && FORMATS[format]) || sized(shortest, longest)
  if (typeof pattern !== 'string') return plain
  const matches = new RegExp(pattern, 'u')
  if (matches.test(plain)) return plain
  for (let length = Math.max(1, shortest); length <= Math.min(RUN_MAX, longest); length++) {
    const run = RUN_CHARACTERS.map(character => character.repeat(length)).find(text => matches.test(text))
    if (run !== undefined) return run
  }
  return plain
}

function sized(shortest: number, longest: number): string {
  const length = Math.min(Math.max(shortest, FILLER.length - 1), longest, TEXT_MAX)
  return FILLER.repeat(Math.ceil(length / FILLER.length)).slice(0, length)
}

function numbersIn(...values: readonly unknown[]): number[] {
  return values.filter(value => typeof value === 'number')
}
