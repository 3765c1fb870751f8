/** The examples that are shown to strangers: what is published describes them, and the library accepts them. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { expect, it, vi } from 'vitest'
import { z } from 'zod'
import { exampleCheck } from '../../src/app/server/endpoint-entries.js'
import { defineEndpoint } from '../../src/index.js'

const checkOf = (options: object) =>
  exampleCheck(defineEndpoint({ name: 'work', price: '$0.01', handler: () => 1, ...options } as never))

it.each([
  ['valibot', toStandardJsonSchema(v.object({ n: v.pipe(v.string(), v.toNumber()) }))],
  ['arktype', type({ n: 'string.numeric.parse' })],
])('an example that %s refuses is none, and one that it accepts is shown as it is sent', (_, input) => {
  const check = checkOf({ input })
  expect(check({ n: 'text' })).toHaveProperty('invalid')
  expect(check({ n: '3' })).toEqual({ value: { n: '3' } })
})

it('one that the published schema does not describe is none, though the library accepts it', () => {
  const input = {
    schema: z.object({ n: z.coerce.number() }),
    jsonSchema: { properties: { n: { type: 'number' } } },
  }
  expect(checkOf({ input })({ n: '3' })).toMatchObject({ invalid: { field: '/n' } })
})

it('of a library that answers later, the published schema alone decides', () => {
  expect(checkOf({ input: z.object({ n: z.number().refine(async () => false) }) })({ n: 3 })).toEqual({
    value: { n: 3 },
  })
})

it('a schema that throws accepts none, and cannot change the example', () => {
  const jsonSchema = {}
  const standard = (validate: (value: unknown) => unknown) => ({
    schema: { '~standard': { version: 1, vendor: 'own', validate } },
    jsonSchema,
  })
  const broken = vi.fn(() => {
    throw new Error('broken')
  })
  expect(checkOf({ input: standard(broken) })({})).toHaveProperty('invalid')
  const greedy = standard(value => ({ value: Object.assign(value as object, { more: 1 }) }))
  expect(checkOf({ input: greedy })({ n: 1 })).toEqual({ value: { n: 1 } })
})

it('without a schema every example is one; those of a query are coerced', () => {
  expect(checkOf({})({ n: '3' })).toEqual({ value: { n: '3' } })
  const input = { properties: { n: { type: 'integer' } } }
  expect(checkOf({ input, method: 'GET' })({ n: '3' })).toEqual({ value: { n: 3 } })
})
