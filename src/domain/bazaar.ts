/**
 * What an endpoint declares about itself in its 402, so that a facilitator can list it (x402's `bazaar` extension, version
 * 2): a schema of how it is called, and one call that satisfies it.
 */
import { embeddedAt, type Schema } from './embedded-schema.js'
import type { EndpointDef } from './endpoint.js'
import { isRecord } from './x402.js'

export interface BazaarDeclaration {
  readonly info: { readonly input: Schema }
  readonly schema: Schema
}

/** It travels in a header, in both directions, with every payment: Node reads 16 KiB of headers in all. */
export const BAZAAR_BYTES_MAX = 3_072

const INPUT = '#/properties/input/properties'

/** `example` is a body, or a GET's query, that satisfies the endpoint's own schema; the caller has checked it. */
export function bazaarOf({ method, input }: EndpointDef, example: unknown): BazaarDeclaration {
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
