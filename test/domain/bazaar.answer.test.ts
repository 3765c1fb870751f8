/** The answer in the declaration to the Bazaar, judged by the official package: there where there is room for it. */
import {
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import { expect, it } from 'vitest'
import { exampleCheck, extensionsOf } from '../../src/app/server/endpoint-entries.js'
import { BAZAAR_BYTES_MAX, type BazaarDeclaration } from '../../src/domain/bazaar-declaration.js'
import { endpoint } from '../../src/domain/endpoint.js'

const input = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', examples: ['a'] } },
}
const count = { type: 'object', required: ['n'], properties: { n: { type: 'integer', examples: [3] } } }

function declared(output: object, description = '') {
  const warnings: string[] = []
  const def = endpoint({
    name: 'sold',
    price: '$0.01',
    input: { ...input, ...(description && { description }) } as never,
    output: output as never,
    handler: () => 1,
  })
  const { bazaar } = extensionsOf(def, exampleCheck(def), message => warnings.push(message)) as {
    bazaar: BazaarDeclaration
  }
  expect(validateDiscoveryExtension(bazaar as never)).toEqual({ valid: true })
  expect(validateDiscoveryExtensionSpec({ ...bazaar })).toEqual({ valid: true })
  expect(Buffer.byteLength(JSON.stringify(bazaar))).toBeLessThanOrEqual(BAZAAR_BYTES_MAX)
  return { bazaar, warnings }
}

it('is what the official server package writes', () => {
  const config = { bodyType: 'json', input: { text: 'a' }, inputSchema: input } as const
  const output = { example: { n: 3 }, schema: count }
  const made = declareDiscoveryExtension({ ...config, output } as never)
  const request = { method: 'POST', adapter: { getPath: () => '/sold' } }
  const written = bazaarResourceServerExtension.enrichDeclaration!(made.bazaar, request)
  expect(declared(count)).toEqual({ bazaar: written, warnings: [] })
})

it('has its local references moved with it', () => {
  const tree = {
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    $ref: '#/$defs/node',
  }
  const { bazaar } = declared(tree)
  expect(bazaar.schema).toMatchObject({
    properties: {
      output: { properties: { example: { $ref: '#/properties/output/properties/example/$defs/node' } } },
    },
  })
})

it.each([
  ['whose example is too large goes without it', { type: 'string', minLength: 4_000 }],
  ['of which no example can be made up goes without one', { not: {} }],
])('one %s', (_, output) => {
  const { bazaar, warnings } = declared(output)
  expect(bazaar.info.output).toEqual({ type: 'json' })
  expect(bazaar.schema).toHaveProperty('properties.output.properties.example')
  expect(warnings).toEqual([])
})

it.each([
  ['too large', { ...count, description: 'x'.repeat(4_000) }],
  ['taken for another document', { properties: { $id: { type: 'string' } } }],
])('one that is %s is left out, and the input stays whole', (_, output) => {
  const { bazaar, warnings } = declared(output)
  expect(bazaar.info).not.toHaveProperty('output')
  expect(bazaar.schema).not.toHaveProperty('properties.output')
  expect(bazaar.schema).toHaveProperty('properties.input.properties.body.properties.text')
  expect(warnings).toEqual([])
})

it('never costs the input a part of its own', () => {
  const description = 'x'.repeat(BAZAAR_BYTES_MAX - 700)
  const { bazaar, warnings } = declared(count, description)
  expect(bazaar.schema).toHaveProperty('properties.input.properties.body.description', description)
  expect(bazaar.info).not.toHaveProperty('output')
  expect(warnings).toEqual([])
})
