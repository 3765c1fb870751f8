/** What an endpoint makes of its schemas: the JSON Schema that is published, and the library that checks. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { defineAgent, defineEndpoint, type EndpointDef } from '../../src/index.js'
import { refusedWith } from './refusal.js'

const define = (options: object): EndpointDef =>
  defineEndpoint({ name: 'work', price: '$0.01', handler: () => 1, ...options } as never)
const refused = (options: object, words: RegExp) =>
  refusedWith('invalid_endpoint', () => define(options), words)

const withN = { type: 'object', required: ['n'], properties: { n: { type: 'number' } } }
const SCHEMAS = {
  zod: z.object({ n: z.number() }),
  valibot: toStandardJsonSchema(v.object({ n: v.number() })),
  arktype: type({ n: 'number' }),
}

describe.each(Object.entries(SCHEMAS))('a schema of %s', (vendor, schema) => {
  it('is published as JSON Schema, and kept for the check', () => {
    const { input, inputSchema, output, outputSchema } = define({ input: schema, output: schema })
    expect(input).toMatchObject(withN)
    expect(output).toMatchObject(withN)
    expect(inputSchema).toEqual({ schema, jsonSchema: input })
    expect(outputSchema).toEqual({ schema, jsonSchema: output })
    expect(schema['~standard'].vendor).toBe(vendor)
  })

  it('survives the second look that an agent takes', () => {
    const work = define({ input: schema, output: schema })
    const agent = { name: 'A', handle: 'agent', description: 'D', payTo: 'A'.repeat(58) }
    const [checked] = defineAgent({ ...agent, endpoints: [work] }).endpoints
    expect(checked).toEqual(work)
    expect(checked!.inputSchema!.schema).toBe(schema)
  })

  it('is not taken along by a copy with another schema', () => {
    const copy = define({ ...define({ input: schema, output: schema }), input: withN, output: withN })
    expect(copy).toMatchObject({ input: withN, output: withN })
    expect(copy).not.toHaveProperty('inputSchema')
    expect(copy).not.toHaveProperty('outputSchema')
  })
})

it('the input is published as it is sent, the output as it is answered', () => {
  const schema = z.object({ n: z.string().transform(Number).pipe(z.number()), size: z.number().default(2) })
  const { input, output } = define({ input: schema, output: schema })
  expect(input).toMatchObject({ properties: { n: { type: 'string' } }, required: ['n'] })
  expect(output).toMatchObject({ properties: { n: { type: 'number' } }, required: ['n', 'size'] })
})

it('what is published is a copy: plain, and nobody else’s', () => {
  const made = { type: 'object', properties: {} as Record<string, unknown>, own: undefined }
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'own',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => made, output: () => made },
    },
  }
  const { input } = define({ input: schema })
  made.properties.later = { type: 'string' }
  expect(input).toStrictEqual({ type: 'object', properties: {} })
})

it('a schema may come with a JSON Schema of the seller’s own', () => {
  const schema = v.object({ n: v.number() })
  const { input, inputSchema } = define({ input: { schema, jsonSchema: withN } })
  expect(input).toEqual(withN)
  expect(inputSchema!.schema).toBe(schema)
  const miniature = mini.object({ n: mini.number() })
  const described = { schema: miniature, jsonSchema: z.toJSONSchema(miniature, { io: 'input' }) }
  expect(define({ input: described }).input).toMatchObject(withN)
})

describe('refused is', () => {
  it.each([
    ['valibot', v.object({ n: v.number() })],
    ['zod', mini.object({ n: mini.number() })],
  ])('a schema of %s that gives no JSON Schema, with the ways out', (vendor, schema) => {
    const told = new RegExp(
      `'work': input is a schema of ${vendor} that gives no JSON Schema.*toStandardJsonSchema.*input: { schema, jsonSchema }`,
    )
    refused({ input: schema }, told)
    refused({ output: schema }, /output is a schema of/)
  })

  it('one that JSON Schema cannot say, with the library’s words and the way out', () => {
    const told =
      /schema of zod that cannot be written as JSON Schema \(Date.*\): give input: { schema, jsonSchema }/
    refused({ input: z.object({ at: z.date() }) }, told)
    refused({ output: z.string().transform(text => text.length) }, /Transforms cannot.*give output:/)
  })

  it.each([[null], ['text'], [[]], [3], [() => 1], [undefined]])('a JSON Schema beside it that is %o', own =>
    refused({ input: { schema: SCHEMAS.zod, jsonSchema: own } }, /input\.jsonSchema is not a JSON Schema/),
  )

  it('a JSON Schema beside it that cannot be compiled', () => {
    refused(
      { input: { schema: SCHEMAS.zod, jsonSchema: { type: 'nonsense' } } },
      /input is not a JSON Schema/,
    )
  })

  it.each([[() => ({})], [{ '~standard': null }], [{ '~standard': {} }]])(
    'what is no schema at all: %o',
    input => {
      if (typeof input === 'function') refused({ input }, /input is not a JSON Schema object/)
      else refused({ input }, /input is not a JSON Schema .*no word of JSON Schema is among '~standard'/)
    },
  )
})

it('the bounds on slow JSON Schemas do not concern a library’s patterns', () => {
  const pattern = '^(?=.*\\d).{8,}$'
  refused({ input: { type: 'string', pattern } }, /linear time/)
  const { input } = define({ input: z.object({ secret: z.string().regex(new RegExp(pattern)) }) })
  expect(input).toMatchObject({ properties: { secret: { pattern } } })
})
