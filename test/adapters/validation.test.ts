/** Schemas become checks: once for equal ones, and apart for all others. */
import { describe, expect, it } from 'vitest'
import { ajvValidator } from '../../src/adapters/validation/ajv.js'
import { defineEndpoint } from '../../src/index.js'

const compile = (schema: object, coerce = false) => ajvValidator().compile(schema as never, { coerce })
const text = () => ({ type: 'object', required: ['text'], properties: { text: { type: 'string' } } })

describe('a check', () => {
  it('is made once for equal schemas, and another time where queries are coerced', () => {
    expect(compile(text())).toBe(compile(text()))
    expect(compile(text())).not.toBe(compile(text(), true))
    expect(compile({ ...text(), title: 'another' })).not.toBe(compile(text()))
  })

  it('is not changed by whoever changes the schema later', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } } }
    const check = compile(schema)
    schema.properties.n.type = 'string'
    expect(check({ n: 1 })).toEqual({ value: { n: 1 } })
    expect(compile(schema)({ n: 1 })).toMatchObject({ invalid: { field: '/n' } })
  })

  it('keeps what it says of one input apart from what it says of the next', () => {
    const check = compile(text())
    const first = check({})
    expect(check({ text: 1 })).toMatchObject({ invalid: { field: '/text' } })
    expect(first).toMatchObject({ invalid: { field: '/text', message: expect.stringContaining('required') } })
    expect(check({ text: 'x' })).toEqual({ value: { text: 'x' } })
  })

  it('leaves the input as it came, also where it coerces', () => {
    const query = { n: '1' }
    expect(compile({ type: 'object', properties: { n: { type: 'integer' } } }, true)(query)).toEqual({
      value: { n: 1 },
    })
    expect(query).toEqual({ n: '1' })
  })

  it('names its own parts, and two schemas of one $id do not meet', () => {
    const schema = (type: string) => ({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://seller.example/input',
      $defs: { part: { type } },
      type: 'object',
      properties: { part: { $ref: '#/$defs/part' } },
    })
    expect(compile(schema('string'))({ part: 'x' })).toEqual({ value: { part: 'x' } })
    expect(compile(schema('number'))({ part: 'x' })).toMatchObject({ invalid: { field: '/part' } })
  })
})

it.each([
  [{ type: 'nonsense' }, /schema is invalid/],
  [{ properties: { a: { minimum: 'x' } } }, /schema is invalid/],
  [{ pattern: '(' }, /regular expression/i],
  [{ $ref: '#/$defs/none' }, /resolve reference/],
  [{ default: 1n }, /BigInt/],
])('what is no schema is refused where it is defined: %o', (input, message) => {
  const define = () => defineEndpoint({ name: 'x', price: '$1', input: input as never, handler: () => 1 })
  expect(define).toThrow(
    expect.objectContaining({ code: 'invalid_endpoint', message: expect.stringMatching(message) }),
  )
})
