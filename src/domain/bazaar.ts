/**
 * What an endpoint declares about itself in its 402, so that a facilitator can list it (x402's `bazaar` extension, version
 * 2): a schema of how it is called, and one call that satisfies it.
 */
import { requiredOnly, requiredTypes, withoutWords } from './abridged-schema.js'
import { embeddedAt, type Schema } from './embedded-schema.js'
import type { EndpointDef, JSONSchema } from './endpoint.js'
import { examplesOf } from './example.js'
import { isRecord } from './x402.js'

export interface BazaarDeclaration {
  readonly info: { readonly input: Schema }
  readonly schema: Schema
}

/** It travels in a header, in both directions, with every payment: Node reads 16 KiB of headers in all. */
export const BAZAAR_BYTES_MAX = 3_072

const INPUT = '#/properties/input/properties'

interface Abridgement {
  /** What is not declared, for a warning. */
  readonly leftOut?: string
  of(input: JSONSchema): JSONSchema
  /** Whether nothing is left that a made-up example could break. */
  readonly acceptsMadeUp?: boolean
}

/** How much of an endpoint's schema is declared, the most first. */
const ABRIDGEMENTS: readonly Abridgement[] = [
  { of: input => input },
  { leftOut: 'its descriptions', of: withoutWords },
  { leftOut: 'its descriptions and what is below its required top level', of: requiredOnly },
  {
    leftOut: 'all but the names and types of what it requires',
    of: requiredTypes,
    acceptsMadeUp: true,
  },
  { leftOut: 'its schema', of: () => ({}), acceptsMadeUp: true },
]

export interface Listable {
  readonly declared: BazaarDeclaration
  /** What of the schema is not declared; absent where all of it is. */
  readonly leftOut?: string
}

/**
 * The fullest declaration that facilitators list; there always is one. `accepted` are inputs that the endpoint accepts; where none
 * of them fits, the example is one that satisfies what is declared.
 */
export function listableOf(def: Called, accepted: readonly unknown[]): Listable {
  for (const candidate of candidates(def, accepted)) {
    if (unlistable(candidate.declared) === undefined) return candidate
  }
  throw new Error('A declaration without a schema is always listable')
}

function* candidates({ method, input = {} }: Called, accepted: readonly unknown[]): Generator<Listable> {
  for (const { leftOut, of, acceptsMadeUp = false } of ABRIDGEMENTS) {
    const schema = of(input)
    const madeUp = acceptsMadeUp ? [examplesOf(schema).next().value] : []
    for (const example of [...accepted, ...madeUp]) {
      yield { declared: bazaarOf({ method, input: schema }, example), leftOut }
    }
  }
}

type Called = Pick<EndpointDef, 'method' | 'input'>

/** `example` is a body, or a GET's query, that satisfies `input`; the caller has checked it. */
export function bazaarOf({ method, input }: Called, example: unknown): BazaarDeclaration {
  return method === 'GET'
    ? declaration(
        { type: 'http', method, queryParams: example },
        { queryParams: { type: 'object', ...embeddedAt(`${INPUT}/queryParams`, input) } },
        ['type', 'method'],
      )
    : declaration(
        { type: 'http', method, bodyType: 'json', body: example },
        {
          bodyType: { type: 'string', enum: ['json', 'form-data', 'text'] },
          body: embeddedAt(`${INPUT}/body`, input),
        },
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

/** Why no facilitator would list it, or `undefined`. */
export function unlistable(declared: BazaarDeclaration): string | undefined {
  if (refersElsewhere(declared.schema)) return 'its schema refers to another document ($ref, $id)'
  const bytes = Buffer.byteLength(JSON.stringify(declared))
  return bytes > BAZAAR_BYTES_MAX ? `it has ${bytes} bytes, more than ${BAZAAR_BYTES_MAX}` : undefined
}

/** The facilitators' own rule: it does not ask whether the key is a keyword or a property's name. */
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
