/** The declaration, judged by the official package: what its facilitators would list, and what they would not. */
import {
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import { describe, expect, it } from 'vitest'
import { ajvValidator } from '../../src/adapters/validation/ajv.js'
import { extensionsOf } from '../../src/app/server/endpoint-entries.js'
import {
  BAZAAR_BYTES_MAX,
  type BazaarDeclaration,
  bazaarOf,
  unlistable,
} from '../../src/domain/bazaar-declaration.js'
import { type EndpointDef, endpoint } from '../../src/domain/endpoint.js'
import type { JSONSchema } from '../../src/domain/endpoint-schemas.js'
import type { Method } from '../../src/domain/path-pattern.js'

function defined(input: unknown, method: Method = 'POST'): EndpointDef {
  return endpoint({ name: 'sold', price: '$0.01', method, input: input as JSONSchema, handler: () => 1 })
}

/** The official validators' verdicts, as one. */
function official(def: EndpointDef, example: unknown): readonly string[] {
  const declared = JSON.parse(JSON.stringify(bazaarOf(def, example)))
  const verdicts = [validateDiscoveryExtension(declared), validateDiscoveryExtensionSpec(declared)]
  return verdicts.flatMap(({ valid, errors }) => (valid ? [] : (errors ?? ['invalid'])))
}

const text = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } }
const tree = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://seller.example/tree',
  type: 'object',
  required: ['root'],
  properties: { root: { $ref: '#/$defs/node' } },
  $defs: {
    node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, value: { type: 'integer' } } },
  },
}

describe('the declaration', () => {
  it.each<[Method, object]>([
    ['POST', { bodyType: 'json' }],
    ['GET', {}],
  ])('of a %s is what the official server package writes', (method, kind) => {
    const example = { text: 'hello' }
    const config = { ...kind, input: example, inputSchema: text }
    const declared = declareDiscoveryExtension(config as Parameters<typeof declareDiscoveryExtension>[0])
    const request = { method, adapter: { getPath: () => '/sold' } }
    const written = bazaarResourceServerExtension.enrichDeclaration!(declared.bazaar, request)
    expect(bazaarOf(defined(text, method), example)).toEqual(written)
  })

  it.each<[string, unknown, Method, unknown, unknown]>([
    ['a body', text, 'POST', { text: 'a' }, { text: 7 }],
    ['a query', text, 'GET', { text: 'a' }, {}],
    [
      'local references, which move with the schema',
      tree,
      'POST',
      { root: { next: { value: 1 } } },
      { root: { next: 1 } },
    ],
    ['local references in a query', tree, 'GET', { root: { value: 1 } }, { root: 1 }],
    [
      'a reference to the whole',
      { properties: { next: { $ref: '#' } }, required: ['id'] },
      'POST',
      { id: 1, next: { id: 2 } },
      { id: 1, next: {} },
    ],
    [
      'data that looks like a reference',
      { const: { $ref: '#/x' } },
      'POST',
      { $ref: '#/x' },
      { $ref: '#/y' },
    ],
    [
      'a property named like data',
      { properties: { default: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } },
      'POST',
      { default: 1 },
      { default: 'x' },
    ],
  ])(
    'of %s: official validators accept what satisfies it, and nothing else',
    (_, input, method, good, bad) => {
      expect(official(defined(input, method), good)).toEqual([])
      expect(official(defined(input, method), bad)).not.toEqual([])
      expect(unlistable(bazaarOf(defined(input, method), good))).toBeUndefined()
    },
  )

  it.each<[string, Method]>([
    ['body', 'POST'],
    ['query', 'GET'],
  ])('of an endpoint without a schema shows an empty %s', (_, method) => {
    expect(official(defined(undefined, method), {})).toEqual([])
  })

  it.each<[string, unknown]>([
    ['a reference to elsewhere', { properties: { a: { $ref: 'https://elsewhere.example/schema' } } }],
    ['an id within', { properties: { a: { $id: 'https://elsewhere.example/a', type: 'string' } } }],
    ['a property named $id', { properties: { $id: { type: 'string' } } }],
  ])('is not listable for %s, which the official validator refuses', (_, input) => {
    const def = defined(input)
    expect(official(def, {})).not.toEqual([])
    expect(unlistable(bazaarOf(def, {}))).toMatch(/another document/)
  })

  it('is not listable where it would fill the header', () => {
    const long = { type: 'object', description: 'é'.repeat(BAZAAR_BYTES_MAX / 2) }
    expect(unlistable(bazaarOf(defined(long), {}))).toMatch(/bytes/)
  })
})

describe('specification 4.4.3: a schema that facilitators would not list is declared in part', () => {
  const validator = ajvValidator()

  function declaredOf(input: unknown, method: Method = 'POST') {
    const def = defined(input, method)
    const check = validator.compile(def.input!, { coerce: method === 'GET' })
    const warnings: string[] = []
    const { bazaar } = extensionsOf(def, check, message => warnings.push(message))! as {
      bazaar: BazaarDeclaration
    }
    const { body, queryParams } = bazaar.info.input
    const parts = (bazaar.schema as unknown as DeclaredSchema).properties.input.properties
    const example = method === 'GET' ? queryParams : body
    return {
      warnings,
      example,
      schema: method === 'GET' ? parts.queryParams : parts.body,
      // As the endpoint itself sees the example.
      accepted: 'value' in check(example),
      verdicts: [validateDiscoveryExtension(bazaar as never), validateDiscoveryExtensionSpec({ ...bazaar })],
      bytes: Buffer.byteLength(JSON.stringify(bazaar)),
    }
  }

  const words = 'w'.repeat(BAZAAR_BYTES_MAX)
  const described = {
    type: 'object',
    description: words,
    required: ['description'],
    properties: {
      description: { type: 'string', title: words, minLength: 2, description: words, examples: ['hi'] },
      nested: { type: 'object', properties: { title: { const: { title: 'kept' }, $comment: words } } },
    },
  }
  const wide = {
    type: 'object',
    required: ['url'],
    properties: {
      url: { type: 'string', minLength: 3, maxLength: 99 },
      ...Object.fromEntries(
        Array.from({ length: 200 }, (_, at) => [`option${at}`, { type: 'boolean', default: false }]),
      ),
    },
  }
  const deep = {
    type: 'object',
    required: ['order'],
    properties: {
      order: { type: 'object', required: ['lines'], properties: { lines: { enum: [words] } } },
    },
  }
  const many = Array.from({ length: 500 }, (_, at) => `required${at}`)

  it.each<[string, unknown, Method, object]>([
    [
      'descriptions go first, and only they',
      described,
      'POST',
      {
        schema: {
          type: 'object',
          required: ['description'],
          properties: {
            description: { type: 'string', minLength: 2 },
            nested: { type: 'object', properties: { title: { const: { title: 'kept' } } } },
          },
        },
        accepted: true,
        warnings: [expect.stringMatching(/'sold' .* without its descriptions: .* bytes/)],
      },
    ],
    [
      'then all but the required top level',
      wide,
      'POST',
      {
        schema: { type: 'object', required: ['url'], properties: { url: wide.properties.url } },
        example: { url: 'example' },
        accepted: true,
        warnings: [expect.stringMatching(/required top level: .* bytes/)],
      },
    ],
    [
      'also of a query',
      wide,
      'GET',
      {
        schema: { type: 'object', required: ['url'], properties: { url: wide.properties.url } },
        accepted: true,
      },
    ],
    [
      'then all but names and types, where no example is small',
      deep,
      'POST',
      {
        schema: { type: 'object', required: ['order'], properties: { order: { type: 'object' } } },
        example: { order: {} },
        warnings: [expect.stringMatching(/names and types .* bytes/)],
      },
    ],
    [
      'a pattern without an example is left out, and the warning asks for one',
      { type: 'object', required: ['c'], properties: { c: { type: 'string', pattern: '^(x7-y){3}$' } } },
      'POST',
      {
        schema: { type: 'object', required: ['c'], properties: { c: { type: 'string' } } },
        example: { c: 'example' },
        warnings: [expect.stringMatching(/`examples`/)],
      },
    ],
    [
      'at last the whole schema',
      { type: 'object', required: many },
      'POST',
      { schema: {}, example: {}, warnings: [expect.stringMatching(/without its schema: .* bytes/)] },
    ],
    [
      'an id within goes with what is below',
      { required: ['a'], properties: { a: { $id: 'https://elsewhere.example/a', type: 'string' } } },
      'POST',
      { schema: { required: ['a'], properties: { a: { type: 'string' } } }, accepted: true },
    ],
    [
      'a property named $id goes with the schema, and its example stays',
      { required: ['$id'], properties: { $id: { type: 'integer' } } },
      'POST',
      { schema: {}, example: { $id: 1 }, accepted: true },
    ],
    ['where nothing is accepted', { not: {} }, 'POST', { schema: {}, example: {} }],
  ])('%s', (_, input, method, expected) => {
    const declared = declaredOf(input, method)
    expect(declared).toMatchObject(expected)
    expect(declared.schema).toEqual((expected as typeof declared).schema)
    expect(declared.verdicts).toEqual([{ valid: true }, { valid: true }])
    expect(declared.warnings).toHaveLength(1)
    expect(declared.bytes).toBeLessThanOrEqual(BAZAAR_BYTES_MAX)
  })
})

interface DeclaredSchema {
  readonly properties: { readonly input: { readonly properties: Readonly<Record<string, unknown>> } }
}
