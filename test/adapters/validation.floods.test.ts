/** What a stranger's body costs before it is paid: time in proportion to its size, whatever the schema and the body. */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ajvValidator } from '../../src/adapters/validation/ajv.js'
import type { JSONSchema } from '../../src/index.js'

const BODY_BYTES_MAX = 1_048_576

const compile = (schema: object) => ajvValidator().compile(schema as JSONSchema, { coerce: false })

/** Longer than any linear check takes on a slow machine; a check that does not end is ended, and fails. */
const PATIENCE_MS = 20_000

/** What is too short to be measured: no limit is shorter. */
const SLACK_MS = 300

/** What else runs on this machine only ever adds: where it took longer than that, it is tried twice again, and the best counts. */
function expectWithin(limitOfMs: () => number, run: () => unknown): void {
  let [timeMs, limitMs] = [Number.POSITIVE_INFINITY, SLACK_MS]
  for (let tries = 0; tries < 3 && timeMs >= limitMs; tries++) {
    timeMs = Math.min(timeMs, timeOf(run))
    if (timeMs >= SLACK_MS) limitMs = tries === 0 ? limitOfMs() : Math.min(limitMs, limitOfMs())
  }
  expect(timeMs).toBeLessThan(limitMs)
}

function timeOf(run: () => unknown): number {
  const before = performance.now()
  runInNewContext('run()', { run }, { timeout: PATIENCE_MS })
  return performance.now() - before
}

/** A quadratic check takes sixteen times as long for four times the input, and an exponential one does not end. */
function expectLinear(schema: object, inputOf: (bytes: number) => unknown) {
  const check = compile(schema)
  const large = inputOf(BODY_BYTES_MAX)
  expect(JSON.stringify(large).length).toBeLessThanOrEqual(BODY_BYTES_MAX)
  expectWithin(
    () => {
      const small = inputOf(BODY_BYTES_MAX / 4)
      return 10 * timeOf(() => check(small)) + SLACK_MS
    },
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

describe('a check that has too much to do', () => {
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
