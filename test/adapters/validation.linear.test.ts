/** What the checks that take linear time accept and refuse, and which schemas have none. What they cost is in validation.floods.test.ts. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ajvValidator } from '../../src/adapters/validation/ajv.js'
import { isPlainSequence, linearPattern } from '../../src/adapters/validation/linear-pattern.js'
import { beginCheck } from '../../src/adapters/validation/step-budget.js'
import { canonicalJson } from '../../src/domain/json.js'
import { defineEndpoint, type JSONSchema } from '../../src/index.js'
import type { Checked } from '../../src/ports/input-validator.js'

const compile = (schema: object) => ajvValidator().compile(schema as JSONSchema, { coerce: false })
const object = (a: object, more: object = {}) => ({ type: 'object', properties: { a }, ...more })
/** Ajv names the later of two equal items first where the schema says that all items are numbers or texts. */
const inAscendingOrder = (checked: Checked): Checked =>
  'invalid' in checked
    ? {
        invalid: {
          ...checked.invalid,
          message: checked.invalid.message.replace('## 1 and 0', '## 0 and 1'),
        },
      }
    : checked
const choices = Array.from({ length: 1_000 }, (_, at) => `choice-${at}`)

describe('a schema whose check is not linear is refused where it is defined', () => {
  it.each<[string, object, RegExp]>([
    [
      'a look-ahead',
      object({ pattern: '^(?=.*\\d).{8,}$' }),
      /'pattern' at input\/properties\/a .*look-around/,
    ],
    [
      'a back reference',
      object({ items: { pattern: '(a)\\1' } }),
      /'pattern' at input\/properties\/a\/items /,
    ],
    [
      'a pattern of names that looks behind',
      { patternProperties: { '(?<=a)b': {} } },
      /'patternProperties' at input /,
    ],
    [
      'a length that is never tested',
      object({ pattern: '(?:ab|ac){40}', maxLength: 1_000_000 }),
      /at most \d+ characters; lower the maxLength/,
    ],
    ['the format url', object({ format: 'url' }), /'format' at input\/properties\/a .*'uri'/],
  ])('%s', (_, input, message) => {
    const define = (allowSlowInput?: boolean) =>
      defineEndpoint({ name: 'x', price: '$1', input: input as never, allowSlowInput, handler: () => 1 })
    expect(() => define()).toThrow(
      expect.objectContaining({ code: 'invalid_endpoint', message: expect.stringMatching(message) }),
    )
    expect(() => define()).toThrow(/allowSlowInput accepts it as it is/)
    expect(define(true)).toMatchObject({ allowSlowInput: true })
  })

  it('but an answer is never checked, so that its schema may be any', () => {
    const output = object({ pattern: '(?=a)', uniqueItems: true }) as never
    expect(() => defineEndpoint({ name: 'x', price: '$1', output, handler: () => 1 })).not.toThrow()
  })

  it('an option that is no boolean is refused', () => {
    const define = () =>
      defineEndpoint({ name: 'x', price: '$1', allowSlowInput: 1 as never, handler: () => 1 })
    expect(define).toThrow(expect.objectContaining({ code: 'invalid_endpoint' }))
  })
})

describe('what an escape accepts', () => {
  it('is checked by V8 and by Ajv alone', () => {
    const schema = object({ pattern: '^(?=.*\\d).{8,}$', uniqueItems: true }) as JSONSchema
    const check = ajvValidator().compile(schema, { coerce: false, allowSlow: true })
    expect(check({ a: 'password1' })).toEqual({ value: { a: 'password1' } })
    expect(check({ a: 'passwords' })).toMatchObject({ invalid: { field: '/a' } })
  })
})

describe('a linear check', () => {
  it('takes items for equal whose canonical texts are', () => {
    const check = compile({ uniqueItems: true })
    const value = fc.oneof(
      fc.constantFrom(0, '0', '', null, true, 'true', [], {}, [0], ['0'], '[0]', { toString: 1 }),
      fc.jsonValue({ maxDepth: 2 }),
      fc.record({ a: fc.constantFrom(1, '1'), b: fc.constantFrom(1, [1]) }),
    )
    fc.assert(
      fc.property(fc.array(value), made => {
        const items: unknown[] = JSON.parse(JSON.stringify(made))
        const isUnique = new Set(items.map(canonicalJson)).size === items.length
        expect('value' in check(items)).toBe(isUnique)
        if (items.length > 0) {
          const [first, ...others] = items
          const isOther = !others.some(item => canonicalJson(item) === canonicalJson(first))
          expect('value' in compile({ enum: [{}, first] })({})).toBe(true)
          expect(
            'invalid' in compile({ not: { enum: others.length > 0 ? others : [{ a: {} }] } })(first),
          ).toBe(!isOther)
        }
      }),
    )
    expect(check([{ a: 1, b: 2 }, 1, { b: 2, a: 1 }])).toEqual({
      invalid: {
        field: '',
        message: 'The input must NOT have duplicate items (items ## 0 and 2 are identical)',
      },
    })
  })

  it.each(['toString', 'valueOf', 'constructor', 'hasOwnProperty', 'length'])(
    'compares inputs that have something under the name %s',
    name => {
      const [one, other] = [{ [name]: 1 }, { [name]: 2 }]
      expect(compile({ uniqueItems: true })([one, other, {}])).toMatchObject({ value: {} })
      expect(compile({ uniqueItems: true })([one, { [name]: 1 }])).toMatchObject({ invalid: {} })
      for (const schema of [{ const: one }, { enum: [one, 7] }]) {
        expect(compile(schema)({ [name]: 1 })).toMatchObject({ value: one })
        for (const input of [other, {}, [], 1, null])
          expect(compile(schema)(input)).toMatchObject({ invalid: {} })
      }
    },
  )

  it('says of a long enum what Ajv says', () => {
    const values = [...choices, 1, null, true]
    const check = compile({ enum: values })
    for (const value of values) expect(check(value)).toEqual({ value })
    for (const value of ['choice', '1', false, 'null', {}, []]) {
      expect(check(value)).toEqual({
        invalid: { field: '', message: 'The input must be equal to one of the allowed values' },
      })
    }
  })

  it('stops at the keyword where Ajv stops', () => {
    const schema = {
      type: ['object', 'array', 'integer'],
      enum: [...choices, 1, {}, { a: 1 }, { a: 1, b: 2 }, { c: [] }, [1, 2], [1, 1], ['x']],
      not: { const: { c: [] } },
      oneOf: [{ type: 'object' }, { type: 'array' }, { type: 'object', required: ['b'] }],
      anyOf: [{ type: 'array' }, { required: ['a'] }],
      allOf: [{ maxProperties: 1 }],
      dependentRequired: { b: ['c'] },
      dependentSchemas: { a: { required: ['b'] } },
      properties: { a: { type: 'integer' }, b: { const: 1 } },
      patternProperties: { '^c': { type: 'integer' } },
      minItems: 1,
      uniqueItems: true,
      prefixItems: [{ type: 'integer' }],
      items: { type: 'integer' },
      contains: { const: 2 },
      unevaluatedProperties: false,
      unevaluatedItems: false,
    }
    const keywords = Object.keys(schema) as (keyof typeof schema)[]
    const value = fc.oneof(
      fc.constantFrom(...schema.enum),
      fc.constantFrom(2, 'x', { d: 1 }, [[], []], [1, 3]),
    )
    fc.assert(
      fc.property(fc.subarray(keywords), value, (some, input) => {
        const part = Object.fromEntries(some.map(keyword => [keyword, schema[keyword]])) as JSONSchema
        const theirs = ajvValidator().compile(part, { coerce: false, allowSlow: true })
        expect(compile(part as object)(input)).toEqual(inAscendingOrder(theirs(input)))
      }),
      {
        numRuns: 500,
        examples: [
          [
            ['uniqueItems', 'items'],
            [1, 1],
          ],
          [['uniqueItems'], [[], []]],
        ],
      },
    )
  })
})

describe('a pattern', () => {
  const plain = [
    '^[a-z]{2,3}$',
    '^0x[0-9a-f]{40}$',
    '^[A-Z2-7]{58}$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^\\S+$',
    '^.{1,100}$',
    '^x-',
    '^[^@]+@[^@]+$',
    '^https?://',
    '^[A-Z0-9]{2,10}/[A-Z0-9]{2,10}$',
    '^\\p{L}+ $',
    '^a?b?c?$',
    '^$',
    '^',
  ]
  const ambiguous = [
    '^a*a$',
    '^a+a*$',
    '^a?a$',
    '^\\d+\\w$',
    '^[a-z]+[^0-9]$',
    '^.+x$',
    '^a*b?a',
    '^(a)$',
    'a',
    '^a|b$',
    '^a$|b',
    '\\Ba',
    '^a{1,2}a',
    '^\\u{1F600}+.',
    '^\\p{L}*é',
  ]
  it('that leaves no choice is tested by V8, and no other', () => {
    expect(plain.filter(pattern => !isPlainSequence(pattern))).toEqual([])
    expect(ambiguous.filter(isPlainSequence)).toEqual([])
  })

  const atom = fc.constantFrom(
    'a',
    'b',
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\s',
    '\\S',
    '.',
    '[ab]',
    '[^a]',
    '[\\s1]',
    '[^\\S]',
    '[\\S]',
    '\\n',
    '\\u00e9',
    '\\ud83d\\ude00',
    '\\u{1F600}',
    '\\p{L}',
    '\\/',
    '[-_]',
    '\\x41',
    '\\cJ',
    '\\.',
  )
  const quantifier = fc.constantFrom('', '', '', '?', '*', '+', '{2}', '{1,2}', '{0,}', '*?', '+?')
  const sequence = fc.array(fc.tuple(atom, quantifier), { maxLength: 4 }).map(parts => parts.flat().join(''))
  const group = fc.tuple(sequence, sequence, quantifier).map(([a, b, q]) => `(?:${a}|${b})${q}`)
  const pattern = fc
    .tuple(
      fc.constantFrom('', '^', '\\b'),
      fc.oneof(
        sequence,
        group,
        fc.tuple(group, sequence).map(all => all.join('')),
      ),
      fc.constantFrom('', '$'),
    )
    .map(all => all.join(''))
  const characters = fc.array(
    fc.constantFrom(
      'a',
      'b',
      'A',
      '1',
      ' ',
      '\n',
      '\r',
      '\u2028',
      '\u00a0',
      '\ufeff',
      '\v',
      'é',
      '😀',
      '/',
      '-',
      '_',
      '.',
      '\u180e',
      '\u0085',
    ),
    { maxLength: 8 },
  )
  it('means the same to both engines', () => {
    fc.assert(
      fc.property(pattern, characters, (source, all) => {
        beginCheck()
        expect(linearPattern(source).matcher.test(all.join(''))).toBe(
          new RegExp(source, 'u').test(all.join('')),
        )
      }),
      { numRuns: 3_000 },
    )
  })
})
