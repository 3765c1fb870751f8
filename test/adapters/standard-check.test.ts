/** A library's verdict on an input, in the form that the SDK gives to every verdict. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { ajvValidator } from '../../src/adapters/validation/ajv.js'
import { standardCheck } from '../../src/adapters/validation/standard-check.js'

/** A schema by hand, that says what the test wants. */
const saying = (validate: (value: unknown) => unknown) =>
  standardCheck({ '~standard': { version: 1, vendor: 'own', validate } } as never)
const issue = (...issues: object[]) => saying(() => ({ issues }))

describe('where a field is wrong', () => {
  const rows = { rows: [{ 'a/b~c': 'text' }] }
  const number = { type: 'number' }
  const jsonSchema = {
    type: 'object',
    properties: { rows: { type: 'array', items: { type: 'object', properties: { 'a/b~c': number } } } },
  }
  const schemas = {
    zod: z.object({ rows: z.array(z.object({ 'a/b~c': z.number() })) }),
    valibot: toStandardJsonSchema(v.object({ rows: v.array(v.object({ 'a/b~c': v.number() })) })),
    arktype: type({ rows: type({ 'a/b~c': 'number' }).array() }),
  }
  const theirs = ajvValidator().compile(jsonSchema as never, { coerce: false })(rows)

  it.each(Object.entries(schemas))('%s’s verdict names it as a JSON Schema’s does', async (_, schema) => {
    const field = '/rows/0/a~1b~0c'
    expect(theirs).toMatchObject({ invalid: { field } })
    const checked = await standardCheck(schema)(rows)
    expect(checked).toMatchObject({
      invalid: { field, message: expect.stringMatching(/^\/rows.*: .*number/) },
    })
  })
})

it('the output is the library’s: defaults and transforms', async () => {
  const schema = z.object({
    text: z.string().transform(text => text.length),
    n: z.coerce.number().default(2),
  })
  expect(await standardCheck(schema)({ text: 'abc' })).toEqual({ value: { text: 3, n: 2 } })
  expect(await standardCheck(schema)({ text: 'abc', n: '7' })).toEqual({ value: { text: 3, n: 7 } })
})

it.each([
  ['the whole input', [{ message: 'is odd' }], '', 'The input: is odd'],
  [
    'steps with keys',
    [{ message: 'no', path: [{ key: 'a' }, 0, { key: Symbol('s') }] }],
    '/a/0/Symbol(s)',
    undefined,
  ],
  ['no words', [{ path: ['a'] }], '/a', '/a: is invalid'],
  ['words that are none', [{ message: 5, path: ['a'] }], '/a', '/a: is invalid'],
  ['no issue at all', [], '', 'The input: is invalid'],
  ['several: the first', [{ message: 'x', path: ['a'] }, { message: 'y' }], '/a', '/a: x'],
])('an issue of %s', (_, issues, field, message) => {
  const checked = issue(...issues)({})
  expect(checked).toMatchObject({ invalid: { field, ...(message !== undefined && { message }) } })
})

it('a message is short, however much of a stranger’s input it quotes', () => {
  const checked = issue({ message: 'x'.repeat(1_000_000), path: ['k'.repeat(1_000_000)] })({})
  if (checked instanceof Promise || !('invalid' in checked)) throw new Error('valid')
  expect(checked.invalid.message.length).toBeLessThan(1_100)
})

it('answers at once where the library does', () => {
  expect(standardCheck(type({ n: 'number = 2' }))({})).toEqual({ value: { n: 2 } })
})

it('a refinement of zod that rejects leaves no promise behind, which would end the process', async () => {
  const unhandled = vi.fn()
  process.prependListener('unhandledRejection', unhandled)
  try {
    const schema = z.object({ n: z.number().refine(() => Promise.reject(new Error('down'))) })
    await expect(standardCheck(schema)({ n: 1 })).rejects.toThrow('down')
    // Node looks for rejections that nobody caught after the microtasks of each turn.
    await new Promise(resolve => setImmediate(resolve))
    expect(unhandled).not.toHaveBeenCalled()
  } finally {
    process.off('unhandledRejection', unhandled)
  }
})

it('an answer that comes later is waited for, of whichever kind its promise is', async () => {
  const late = standardCheck(z.object({ n: z.number().refine(async n => n > 1) }))
  expect(await late({ n: 2 })).toEqual({ value: { n: 2 } })
  expect(await late({ n: 1 })).toMatchObject({ invalid: { field: '/n' } })
  // biome-ignore lint/suspicious/noThenProperty: a promise that is not the language's own
  const own = saying(() => ({ then: (resolve: (result: object) => void) => resolve({ value: 1 }) }))
  expect(own({})).toBeInstanceOf(Promise)
  expect(await own({})).toEqual({ value: 1 })
})

it('what the schema throws is thrown, and what it rejects with is rejected', async () => {
  const cause = new Error('broken')
  expect(() => saying(() => { throw cause })({})).toThrow(cause) // biome-ignore format: one thought
  await expect(saying(() => Promise.reject(cause))({})).rejects.toBe(cause)
  expect(() => saying(() => undefined)({})).toThrow(TypeError)
})
