/** Examples are guesses: each schema here must have one, among the few that are made, which a validator accepts. */
import { describe, expect, it } from 'vitest'
import { ajvValidator } from '../../src/adapters/validation/ajv.js'
import type { JSONSchema } from '../../src/domain/endpoint-schemas.js'
import { examplesOf } from '../../src/domain/example-input.js'

const validator = ajvValidator()

function accepted(schema: JSONSchema): unknown {
  const check = validator.compile(schema, { coerce: false, allowSlow: true })
  for (const example of examplesOf(schema)) if ('value' in check(example)) return example
  return undefined
}

const object = (properties: Record<string, unknown>, required = Object.keys(properties)) =>
  ({ type: 'object', properties, required, additionalProperties: false }) as JSONSchema

describe('an example', () => {
  it.each<[string, JSONSchema, unknown]>([
    ['the author’s own comes first', { type: 'object', examples: [{ q: 1 }] } as JSONSchema, { q: 1 }],
    ['a property’s own example', object({ text: { type: 'string', examples: ['hi'] } }), { text: 'hi' }],
    ['a default', object({ n: { type: 'integer', default: 7 } }), { n: 7 }],
    ['a constant', object({ kind: { const: null } }), { kind: null }],
    ['the first of an enum', object({ network: { enum: ['testnet', 'mainnet'] } }), { network: 'testnet' }],
    ['properties that may be left out are shown', object({ a: { type: 'boolean' } }, []), { a: true }],
    ['nothing is asked', {}, {}],
    ['a type among several', object({ a: { type: ['null', 'integer'] } }), { a: 1 }],
  ])('%s', (_, schema, example) => {
    expect(accepted(schema)).toEqual(example)
  })

  it.each<[string, unknown]>([
    ['a length', { type: 'string', minLength: 58, maxLength: 58 }],
    ['a short length', { type: 'string', maxLength: 2 }],
    ['an Algorand address', { type: 'string', pattern: '^[A-Z2-7]{58}$' }],
    ['digits', { type: 'string', pattern: '^\\d{4}$' }],
    ['a word', { type: 'string', pattern: '^[a-z]+$', minLength: 5 }],
    ...[
      'date',
      'date-time',
      'duration',
      'email',
      'hostname',
      'ipv4',
      'ipv6',
      'json-pointer',
      'regex',
      'time',
    ].map((format): [string, unknown] => [format, { type: 'string', format }]),
    ...['uri', 'uri-reference', 'url', 'uuid'].map((format): [string, unknown] => [
      format,
      { type: 'string', format },
    ]),
    ['a least number', { type: 'number', minimum: 40, maximum: 2000 }],
    ['a number between', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }],
    ['a negative number', { type: 'integer', maximum: -3 }],
    ['a whole number above', { type: 'integer', exclusiveMinimum: 10 }],
    ['a multiple', { type: 'integer', minimum: 100, multipleOf: 7 }],
    ['some items', { type: 'array', minItems: 3, items: { type: 'integer' } }],
    ['a tuple', { type: 'array', minItems: 2, prefixItems: [{ type: 'integer' }, { type: 'boolean' }] }],
    ['no items', { type: 'array', maxItems: 0 }],
    ['all of', { allOf: [object({ a: { type: 'integer' } }, []), { required: ['a'] }] }],
    ['any of', { anyOf: [{ type: 'integer', minimum: 5 }, { type: 'null' }] }],
    ['exactly one of', { oneOf: [{ type: 'string' }, { type: 'string', maxLength: 3 }] }],
    [
      'undeclared but required',
      { type: 'object', required: ['x'], additionalProperties: { type: 'integer' } },
    ],
    ['null', { type: 'null' }],
  ])('that satisfies: %s', (_, schema) => {
    expect(accepted(object({ field: schema }))).toHaveProperty('field')
  })

  it('follows local references, and the ends of those that refer to themselves', () => {
    const schema = {
      ...(object({ tree: { $ref: '#/$defs/a~1node' } }) as object),
      $defs: {
        'a/node': {
          type: 'object',
          required: ['name'],
          properties: {
            name: { type: 'string' },
            left: { $ref: '#/$defs/a~1node' },
            right: { $ref: '#/$defs/a~1node' },
          },
        },
      },
    }
    expect(accepted(schema as JSONSchema)).toHaveProperty('tree.name', 'example')
  })

  it('leaves out what may be left out where the whole does not hold together', () => {
    const schema = { ...(object({ a: {}, b: {} }, ['a']) as object), not: { required: ['a', 'b'] } }
    expect(accepted(schema as JSONSchema)).toEqual({ a: 'example' })
  })

  it('ends for schemas that multiply without end', () => {
    const branches = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`p${i}`, { $ref: '#' }]))
    const guesses = [
      ...examplesOf({ type: 'object', properties: branches, allOf: [{ $ref: '#' }, { $ref: '#' }] }),
    ]
    expect(guesses.length).toBeLessThan(20)
  })

  it('is given up where no guess would hold', () => {
    expect(accepted(object({ code: { type: 'string', pattern: '^(x7-y){3}$' } }))).toBeUndefined()
  })
})
