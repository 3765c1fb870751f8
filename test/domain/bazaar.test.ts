/** The declaration, judged by the official package: what its facilitators would list, and what they would not. */
import {
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import { describe, expect, it } from 'vitest'
import { BAZAAR_BYTES_MAX, bazaarOf, unlistable } from '../../src/domain/bazaar.js'
import { type EndpointDef, endpoint, type JSONSchema, type Method } from '../../src/domain/endpoint.js'

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
  ])('is withheld for %s, which the official validator refuses', (_, input) => {
    const def = defined(input)
    expect(official(def, {})).not.toEqual([])
    expect(unlistable(bazaarOf(def, {}))).toMatch(/another document/)
  })

  it('is withheld where it would fill the header', () => {
    const long = { type: 'object', description: 'é'.repeat(BAZAAR_BYTES_MAX / 2) }
    expect(unlistable(bazaarOf(defined(long), {}))).toMatch(/bytes/)
  })
})
