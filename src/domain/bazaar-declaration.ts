/** What a facilitator lists (x402's `bazaar` extension, version 2): a schema of the calls, and one call that satisfies it. */
import { MEDIA_TYPE } from './body-type.js'
import type { EndpointDef } from './endpoint.js'
import type { JSONSchema } from './endpoint-schemas.js'
import { examplesOf } from './example-input.js'
import { embeddedAt, requiredOnly, requiredTypes, type Schema, withoutWords } from './rewrite-json-schema.js'
import { isRecord } from './x402.js'

export interface BazaarDeclaration {
  readonly info: { readonly input: Schema; readonly output?: Schema }
  readonly schema: Schema
}

/** The declaration is part of a header in both directions, with every payment. Node reads 16 KiB of headers in all. */
export const BAZAAR_BYTES_MAX = 3_072

const INPUT = '#/properties/input/properties'
const ANSWER = '#/properties/output/properties/example'

interface Abridgement {
  /** The part that is not declared, for a warning. */
  readonly leftOut?: string
  of(input: JSONSchema): JSONSchema
  /** Whether no declared rule is left that a made-up example could break. */
  readonly acceptsMadeUp?: boolean
}

/** The parts of an endpoint's schema that can be declared, the largest first. */
const ABRIDGEMENTS: readonly Abridgement[] = [
  { of: input => input },
  { leftOut: 'its descriptions', of: withoutWords },
  { leftOut: 'its descriptions and what is below its required top level', of: requiredOnly },
  { leftOut: 'all but the names and types of what it requires', of: requiredTypes, acceptsMadeUp: true },
  { leftOut: 'its schema', of: () => ({}), acceptsMadeUp: true },
]

export interface Listable {
  readonly declared: BazaarDeclaration
  readonly leftOut?: string
}

/**
 * The fullest declaration that facilitators list; there always is one. `accepted` are inputs that the endpoint
 * accepts. If none of them fits, the example is one that satisfies the declared schema. The answer is declared where
 * there is room left for it: callers choose by the input.
 */
export function listableOf(
  def: Called,
  accepted: readonly unknown[],
  answers: readonly unknown[] = [],
): Listable {
  for (const candidate of candidates(def, accepted)) {
    const { declared } = candidate
    if (unlistable(declared) !== undefined) continue
    const fuller = withAnswer(declared, def.output, answers).find(wider => unlistable(wider) === undefined)
    return { ...candidate, declared: fuller ?? declared }
  }
  throw new Error('A declaration without a schema is always listable')
}

function* candidates(
  { method, bodyType, input = {} }: Called,
  accepted: readonly unknown[],
): Generator<Listable> {
  for (const { leftOut, of, acceptsMadeUp = false } of ABRIDGEMENTS) {
    const schema = of(input)
    const madeUp = acceptsMadeUp ? [examplesOf(schema).next().value] : []
    for (const example of [...accepted, ...madeUp])
      yield { declared: bazaarOf({ method, bodyType, input: schema }, example), leftOut }
  }
}

type Called = Pick<EndpointDef, 'method' | 'bodyType' | 'input' | 'output'>

/** The declaration with the answer's schema, with its first example and without one. */
function withAnswer(
  { info, schema }: BazaarDeclaration,
  output: JSONSchema | undefined,
  answers: readonly unknown[],
): readonly BazaarDeclaration[] {
  if (output === undefined) return []
  const described = {
    type: 'object',
    properties: { type: { type: 'string' }, example: embeddedAt(ANSWER, output) },
    required: ['type'],
  }
  const properties = { ...(schema.properties as Schema), output: described }
  const examples = [...answers.slice(0, 1).map(example => ({ example })), {}]
  return examples.map(example => ({
    info: { ...info, output: { type: 'json', ...example } },
    schema: { ...schema, properties },
  }))
}

/** `example` is a body, or a GET's query, that satisfies `input`. The caller has checked it. */
export function bazaarOf({ method, bodyType, input }: Called, example: unknown): BazaarDeclaration {
  if (method === 'GET')
    return declaration(
      { type: 'http', method, queryParams: example },
      { queryParams: { type: 'object', ...embeddedAt(`${INPUT}/queryParams`, input) } },
      ['type', 'method'],
    )
  if (bodyType === undefined)
    return bodyDeclaration(method, 'json', example, embeddedAt(`${INPUT}/body`, input))
  // The Bazaar has no body type for bytes: they are declared as text with the media type of bytes.
  const text = { type: 'string', ...(bodyType === 'bytes' && { contentMediaType: MEDIA_TYPE.bytes }) }
  return bodyDeclaration(method, 'text', '', text)
}

function bodyDeclaration(method: string, bodyType: 'json' | 'text', body: unknown, schema: Schema) {
  return declaration(
    { type: 'http', method, bodyType, body },
    { bodyType: { type: 'string', enum: ['json', 'form-data', 'text'] }, body: schema },
    ['type', 'method', 'bodyType', 'body'],
  )
}

function declaration(input: Schema, parts: Schema, required: readonly string[]): BazaarDeclaration {
  return {
    info: { input },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            type: { type: 'string', const: 'http' },
            method: { type: 'string', enum: [input.method] },
            ...parts,
          },
          required,
          additionalProperties: false,
        },
      },
      required: ['input'],
    },
  }
}

export function unlistable(declared: BazaarDeclaration): string | undefined {
  if (refersElsewhere(declared.schema)) return 'its schema refers to another document ($ref, $id)'
  const bytes = Buffer.byteLength(JSON.stringify(declared))
  return bytes > BAZAAR_BYTES_MAX ? `it has ${bytes} bytes, more than ${BAZAAR_BYTES_MAX}` : undefined
}

/** The facilitators' own rule. It does not distinguish a keyword from a property's name. */
function refersElsewhere(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(refersElsewhere)
  if (!isRecord(node)) return false
  return Object.entries(node).some(
    ([key, value]) => ((key === '$ref' || key === '$id') && !isLocal(value)) || refersElsewhere(value),
  )
}

function isLocal(reference: unknown): boolean {
  return typeof reference === 'string' && reference.startsWith('#')
}
