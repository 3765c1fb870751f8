/** What a stranger's body costs before it is paid: time in proportion to its size, whatever the schema and the body. */
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ajvValidator } from '../../src/adapters/validation/ajv.js'
import { beginCheck } from '../../src/adapters/validation/check-steps.js'
import { isPlainSequence, linearPattern } from '../../src/adapters/validation/linear-pattern.js'
import { canonicalJson } from '../../src/domain/json.js'
import { defineEndpoint, type JSONSchema } from '../../src/index.js'

const BODY_BYTES_MAX = 1_048_576

const compile = (schema: object) => ajvValidator().compile(schema as JSONSchema, { coerce: false })

/** Longer than any linear check takes on a slow machine; a check that does not end is ended, and fails. */
const PATIENCE_MS = 20_000

/** What else runs on this machine only ever adds: where it took longer than that, it is tried twice again, and the best counts. */
function expectWithin(limitOfMs: () => number, run: () => unknown): void {
  let [timeMs, limitMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let tries = 0; tries < 3 && timeMs >= limitMs; tries++) {
    timeMs = Math.min(timeMs, timeOf(run))
    limitMs = Math.min(limitMs, limitOfMs())
  }
  expect(timeMs).toBeLessThan(limitMs)
}

function timeOf(run: () => unknown): number {
  const before = performance.now()
  runInNewContext('run()', { run }, { timeout: PATIENCE_MS })
  return performance.now() - before
}

/**
 * A quadratic check takes sixteen times as long for four times the input, and an exponential one does not end. The slack is
 * for what is too short to be measured.
 */
function expectLinear(schema: object, inputOf: (bytes: number) => unknown) {
  const check = compile(schema)
  const [small, large] = [BODY_BYTES_MAX / 4, BODY_BYTES_MAX].map(inputOf)
  expect(JSON.stringify(large).length).toBeLessThanOrEqual(BODY_BYTES_MAX)
  expectWithin(
    () => 10 * timeOf(() => check(small)) + 300,
    () => check(large),
  )
}

const object = (a: object, more: object = {}) => ({ type: 'object', properties: { a }, ...more })
const fill = (item: string, bytes: number, more = 0) => Math.floor((bytes - 100) / (item.length + more))
const text = (item: string, end: string) => (bytes: number) => ({
  a: item.repeat(fill(JSON.stringify(item).slice(1, -1), bytes)) + end,
})
const list = (item: (at: number) => unknown) => (bytes: number) => ({
  a: Array.from({ length: fill(JSON.stringify(item(1e6)), bytes, 1) }, (_, at) => item(at)),
})
const names = (name: (at: number) => string) => (bytes: number) => {
  return Object.fromEntries(
    Array.from({ length: fill(name(1e6), bytes, 6) }, (_, at) => [name(at), 1] as const),
  )
}
const nested = (name: string) => (bytes: number) => {
  let value: unknown = 'x'.repeat(bytes - 1000)
  for (let depth = 0; depth < 60; depth++) value = name === '' ? [value] : { [name]: value }
  return value
}
const choices = Array.from({ length: 1_000 }, (_, at) => `choice-${at}`)
const branch = (op: string) => ({
  type: 'object',
  required: ['op'],
  properties: { op: { const: op }, left: { $ref: '#' }, right: { $ref: '#' } },
})

describe('the check of an input of 1 MiB takes linear time', () => {
  const cases: Record<string, [object, (bytes: number) => unknown]> = {
    'uniqueItems of objects': [object({ uniqueItems: true }), list(at => ({ a: 'x', b: at }))],
    'uniqueItems of lists': [object({ type: 'array', uniqueItems: true }), list(at => [[], [at]])],
    'uniqueItems of any scalars': [object({ uniqueItems: true }), list(at => (at % 2 ? at : `${at}`))],
    'uniqueItems within uniqueItems': [
      { type: 'array', uniqueItems: true, items: { $ref: '#' } },
      bytes => {
        let value: unknown = Array.from({ length: fill('[1000000]', bytes - 200, 1) }, (_, at) => [at])
        for (let depth = 0; depth < 60; depth++) value = [value]
        return value
      },
    ],
    'a group repeated within a group': [object({ pattern: '^(a+)+$' }), text('a', '!')],
    'a choice that may be made twice': [object({ pattern: '^(?:a|a)*$' }), text('a', '!')],
    'two loops in a row': [object({ pattern: '^a*a*a*$' }), text('a', '!')],
    'a loop that any place may begin': [object({ pattern: 'a+b' }), text('a', '!')],
    'an address': [
      object({ pattern: '^[^@]+@[^@]+\\.[^@]+$' }),
      bytes => ({ a: `a@${text('.a', '@')(bytes).a}` }),
    ],
    'a pattern with very many states': [object({ pattern: '[ab]*a[ab]{200}c' }), text('abbab', 'c')],
    'a plain pattern': [object({ pattern: '^[a-z]+$' }), text('a', '!')],
    'a pattern of names': [
      { patternProperties: { '^(a+)+$': {} } },
      bytes => ({ [text('a', '!')(bytes).a]: 1 }),
    ],
    'a pattern of many names': [{ patternProperties: { '(x+)+y': {} } }, names(at => `x${at}`)],
    'names that a schema checks': [{ propertyNames: { pattern: '^(x|x)*$' } }, names(at => `xxxxxxxx${at}`)],
    'names beside thirty others': [
      {
        properties: Object.fromEntries(choices.slice(0, 30).map(name => [name, {}])),
        additionalProperties: { type: 'integer' },
      },
      names(at => `x${at}`),
    ],
    'a long enum': [object({ items: { enum: choices } }), list(() => 'choice-999')],
    'an enum of objects': [
      object({ items: { enum: choices.slice(0, 16).map(name => ({ name })) } }),
      list(() => ({ name: 'choice-15' })),
    ],
    'a constant that is an object': [
      object({ items: { const: { name: 'x'.repeat(20) } } }),
      list(() => ({ name: 'x'.repeat(20) })),
    ],
    'contains, in lists in lists': [
      { items: { contains: { contains: { const: 1 } } }, contains: { const: 1 } },
      bytes => list(() => [[0], [1]])(bytes).a,
    ],
    minContains: [object({ contains: { type: 'integer' }, minContains: 1_000_000 }), list(at => at)],
    multipleOf: [object({ items: { multipleOf: 0.01 } }), list(() => 1.1e300)],
    'lengths counted': [object({ minLength: 1_000, maxLength: 2_000_000 }), text('\u{1f600}', '')],
    'a tree of one branch each': [
      { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { $ref: '#' } }] },
      nested('a'),
    ],
    'a list in a list': [{ items: { $ref: '#' } }, nested('')],
    'a tagged union that refers to itself': [
      { oneOf: [{ type: 'string' }, branch('and'), branch('or'), branch('not')] },
      bytes => {
        let value: unknown = 'x'.repeat(bytes - 2_500)
        for (let depth = 0; depth < 60; depth++) value = { op: 'not', left: value }
        return value
      },
    ],
    'a dynamic reference': [
      { $dynamicAnchor: 'n', type: ['object', 'string'], properties: { a: { $dynamicRef: '#n' } } },
      nested('a'),
    ],
    unevaluatedProperties: [
      {
        anyOf: [{ properties: { a: {} } }, { patternProperties: { '^b': {} } }],
        unevaluatedProperties: { type: 'integer' },
      },
      names(at => `b${at}`),
    ],
    unevaluatedItems: [
      object({
        anyOf: [{ prefixItems: [{}] }, { contains: { type: 'string' } }],
        unevaluatedItems: { type: 'integer' },
      }),
      list(at => at),
    ],
    'dependent schemas': [
      { dependentSchemas: { a: { required: ['b'] } }, dependentRequired: { c: choices } },
      names(at => `b${at}`),
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [schema, inputOf]) => expectLinear(schema, inputOf))

  const attacks = {
    date: text('1', '!'),
    time: (bytes: number) => ({ a: `12:00:00.${text('1', '!')(bytes).a}` }),
    'date-time': text('T', '!'),
    'iso-date-time': text('t', ''),
    duration: (bytes: number) => ({ a: `P${text('1', '!')(bytes).a}` }),
    uri: (bytes: number) => ({ a: `A:/3.${text('2.', '\0')(bytes).a}` }),
    'uri-reference': (bytes: number) => ({ a: `/@${text('5/@', '\0')(bytes).a}` }),
    'uri-template': text('{a,', '!'),
    email: (bytes: number) => ({ a: `a@${text('a-', '!')(bytes).a}` }),
    hostname: text('a-', '!'),
    ipv4: text('1.', '!'),
    ipv6: text('1:', '!'),
    regex: text('(?:a', ')'),
    uuid: text('a', '!'),
    'json-pointer': text('/~1', '~'),
    'json-pointer-uri-fragment': (bytes: number) => ({ a: `#${text('/a', '~')(bytes).a}` }),
    'relative-json-pointer': text('1', '!'),
    byte: text('AAAA\n', '='),
  }
  it.each(Object.entries(attacks))('the format %s', (format, inputOf) => {
    expectLinear(object({ format }), inputOf)
    for (const item of ['a', '1', '.', ':', '/', '@', '%41', 'a.', '-', '{', '[', '?'])
      expectLinear(object({ format }), text(item, '\0'))
  })
})

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
        expect(compile(part as object)(input)).toEqual(theirs(input))
      }),
      { numRuns: 500 },
    )
  })

  const overlong = {
    'a union of many branches': [
      { items: { anyOf: [...choices.slice(0, 90).map(name => ({ const: name })), {}] } },
      () => 1,
    ],
    'many properties': [
      {
        items: {
          properties: Object.fromEntries(choices.map(name => [name, {}])),
          additionalProperties: { type: 'integer' },
        },
      },
      () => ({}),
    ],
    'many dependent properties': [
      { items: { dependentRequired: Object.fromEntries(choices.map(name => [name, ['x']])) } },
      () => ({}),
    ],
    'many choices that are objects': [
      { items: { enum: choices.slice(0, 90).map(name => ({ name })) } },
      () => ({ name: 'choice-89' }),
    ],
    'a list that is searched many times': [
      {
        allOf: choices
          .slice(0, 60)
          .map(name => ({ contains: { const: name }, minContains: 0, maxContains: 3 })),
      },
      () => 1,
    ],
    'a list that must be unique many times': [
      { allOf: choices.slice(0, 60).map(() => ({ uniqueItems: true })) },
      (at: number) => at,
    ],
  } satisfies Record<string, [object, (at: number) => unknown]>
  it.each(Object.entries(overlong))(
    'ends at %s where an input has too much for it, and says so',
    (_, [schema, item]) => {
      const check = compile(schema)
      expect(check(Array.from({ length: 1_000 }, (_, at) => item(at)))).toMatchObject({ value: {} })
      expect(check(Array.from({ length: 200_000 }, (_, at) => item(at)))).toEqual({
        invalid: { field: '', message: 'The input has more in it than can be checked in time; send less' },
      })
    },
  )

  const wrap = (depth: number, leaf: unknown) => {
    let value = leaf
    for (let at = 0; at < depth; at++) value = { x: value }
    return value
  }
  const doubling = (leaf: object) => {
    const defs = Array.from({ length: 40 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` }
      return [`d${at}`, { allOf: [next, next] }] as const
    })
    return { $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(defs), d40: leaf } }
  }
  const either = { properties: { x: { $ref: '#' } } }
  const manyNames = Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`k${at}`, 1]))
  const untagged = ['a', 'b'].map(op => ({
    type: 'object',
    required: ['op'],
    properties: { left: { $ref: '#' }, op: { const: op } },
  }))
  /** A schema whose check looks at one value again and again, and an input that makes it do so. */
  const endless: Record<string, [object, unknown]> = {
    'two branches that go on alike': [{ type: 'object', anyOf: [either, either] }, wrap(63, 1)],
    'branches of which one may apply': [{ type: 'object', oneOf: [either, either] }, wrap(63, {})],
    'items that are looked at twice': [{ items: { $ref: '#' }, contains: { $ref: '#' } }, nested('')(1_100)],
    'branches whose tag does not come first': [
      { oneOf: untagged },
      JSON.parse(`${'{"left":'.repeat(63)}{}${',"op":"c"}'.repeat(63)}`),
    ],
    'a schema that is itself': [{ allOf: [{ $ref: '#' }] }, {}],
    'a dynamic reference that doubles': [
      {
        $dynamicAnchor: 'n',
        type: 'object',
        anyOf: [1, 2].map(() => ({ properties: { x: { $dynamicRef: '#n' } } })),
      },
      wrap(63, 1),
    ],
    'references that double': [doubling({ type: 'string' }), 'x'],
    'references that double over a long text': [doubling({ minLength: 2 }), 'x'.repeat(1_000_000)],
    'references that double over a pattern': [doubling({ pattern: '^x+$' }), 'x'.repeat(1_000_000)],
    'references that double over a constant': [doubling({ const: manyNames }), manyNames],
    'references that double over many names': [
      doubling({ additionalProperties: { type: 'integer' } }),
      manyNames,
    ],
    'references that double below a rule on the rest': [
      { ...doubling({ patternProperties: { '^k': {} } }), unevaluatedProperties: false },
      manyNames,
    ],
    'a hundred rules on many names': [
      { allOf: Array.from({ length: 100 }, () => ({ propertyNames: { maxLength: 20 } })) },
      manyNames,
    ],
    'a thousand patterns of one long name': [
      { patternProperties: Object.fromEntries(choices.map((_, at) => [`^[x${at}]*$`, {}])) },
      { ['x'.repeat(1_000_000)]: 1 },
    ],
  }
  it.each(Object.entries(endless))('ends in time at %s', (_, [schema, input]) => {
    const check = compile(schema)
    let checked: unknown
    expectWithin(
      () => 5_000,
      () => {
        checked = check(input)
      },
    )
    expect(checked).toEqual({
      invalid: { field: '', message: 'The input has more in it than can be checked in time; send less' },
    })
  })

  it('ends where patterns would be tested on more text than they can be in time, and says so', () => {
    const check = compile(object({ items: { pattern: '(?:ab|ac){40}$' } }))
    expect(check({ a: ['ab'.repeat(40)] })).toMatchObject({ value: {} })
    expect(check({ a: Array.from({ length: 50_000 }, () => 'ab'.repeat(40)) })).toEqual({
      invalid: { field: '', message: 'The input has more in it than can be checked in time; send less' },
    })
    expect(check({ a: ['ab'.repeat(40)] }), 'the next check begins anew').toMatchObject({ value: {} })
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
