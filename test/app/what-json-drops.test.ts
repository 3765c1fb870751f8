/** What JSON cannot carry is found, with its place; what it carries as it is, is let through. */
import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonMistakeIn } from '../../src/app/charge/what-json-drops.js'

class Point {
  x = 1
  y: number | undefined = undefined
}
class Hidden {
  #secret = 1
  get secret() {
    return this.#secret
  }
}
class Money {
  constructor(readonly cents: bigint) {}
  toJSON() {
    return `${this.cents}`
  }
}

const sound: Record<string, unknown> = {
  null: null,
  'an empty text': '',
  false: false,
  zero: -0,
  'an empty object': {},
  'an empty array': [],
  'an optional field': { a: undefined, b: 1 },
  'only optional fields': { a: undefined },
  'a Date': { at: new Date(0) },
  'a URL': new URL('http://a.example/'),
  'a class with fields': [new Point()],
  'an object without a prototype': Object.assign(Object.create(null), { a: 1 }),
  'an object of another realm': runInNewContext('({ a: [1, { b: null }, {}] })'),
  'its own toJSON': { total: new Money(7n) },
  'a toJSON that gives itself': new (class Self {
    a = 1
    toJSON() {
      return this
    }
  })(),
  'a toJSON that gives nothing to see': [{ toJSON: () => null }, { toJSON: () => ({}) }],
  'an array with a toJSON': Object.assign([() => 1], { toJSON: () => [1] }),
  'an array with methods': Object.assign([1], { [Symbol.asyncIterator]() {} }),
  'a number in an object': Object(5),
  'a part that is shared': (part => [part, part, { part }])({ a: 1 }),
  'a symbol as a key': { [Symbol('s')]: () => 1, a: 1 },
  'a transparent proxy': new Proxy({ a: [1] }, {}),
  'a value that is as deep as may be': nested(512),
}

describe('is let through', () => {
  for (const [name, value] of Object.entries(sound)) {
    it(name, () => expect(jsonMistakeIn(value)).toBeUndefined())
  }

  it('whatever JSON itself can say', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
        expect(jsonMistakeIn(value)).toBeUndefined()
      }),
    )
  })

  it('only what JSON can write at all', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withBoxedValues: true,
    })
    fc.assert(
      fc.property(anything, value => {
        fc.pre(jsonMistakeIn(value) === undefined)
        expect(JSON.stringify(value)).toBeTypeOf('string')
      }),
    )
  })
})

const looped: Record<string, unknown> = { a: [1] }
looped.self = [looped]
looped.again = looped

const mistakes: Record<string, readonly [value: unknown, what: RegExp, at: string]> = {
  undefined: [undefined, /undefined.*return/, ''],
  NaN: [Number.NaN, /^NaN$/, ''],
  'an infinite number, deep': [{ rows: [{ price: 1 / 0 }] }, /^Infinity$/, '/rows/0/price'],
  'a NaN in a Number': [{ n: Object(Number.NaN) }, /^NaN$/, '/n'],
  'a function': [() => 1, /a function/, ''],
  'a method that JSON drops': [{ total: 1, compute: () => 1 }, /a function/, '/compute'],
  'a symbol': [{ s: Symbol('s') }, /a symbol/, '/s'],
  'a BigInt': [{ supply: 5n }, /a BigInt/, '/supply'],
  'undefined in an array': [[1, undefined], /^undefined$/, '/1'],
  'a hole in an array': [new Array(3), /^undefined$/, '/0'],
  'an Error': [new Error('x'), /an Error/, ''],
  'an Error with fields': [
    { e: Object.assign(new RangeError('x'), { code: 'E' }) },
    /an Error \(RangeError/,
    '/e',
  ],
  'an Error with toJSON': [Object.assign(new Error('x'), { toJSON: () => ({}) }), /an Error/, ''],
  'an Error of another realm': [runInNewContext('new TypeError("x")'), /an Error/, ''],
  'a Map': [{ m: new Map([[1, 2]]) }, /a Map/, '/m'],
  'a Map with fields': [Object.assign(new Map(), { a: 1 }), /a Map/, ''],
  'a Set': [[new Set([1])], /a Set/, '/0'],
  'a promise': [{ later: Promise.resolve(1) }, /not awaited/, '/later'],
  'a query that is not awaited': [
    [
      new (class Query {
        table = 'rows'
        // biome-ignore lint/suspicious/noThenProperty: it is what is tested
        then() {}
      })(),
    ],
    /not awaited/,
    '/0',
  ],
  'a class that hides its fields': [new Hidden(), /Hidden, which JSON renders as \{\}/, ''],
  'a RegExp': [{ r: /x/ }, /RegExp/, '/r'],
  'a generator': [
    (function* () {
      yield 1
    })(),
    /renders as \{\}/,
    '',
  ],
  'an async generator': [{ s: (async function* () {})() }, /a stream/, '/s'],
  'a ReadableStream': [{ s: new ReadableStream() }, /a stream/, '/s'],
  'a stream of Node’s': [{ s: Readable.from(['a']) }, /a stream/, '/s'],
  'a Buffer inside': [{ file: Buffer.from('x') }, /bytes \(Buffer\)/, '/file'],
  'a typed array inside': [{ v: new Float32Array(2) }, /bytes \(Float32Array\)/, '/v'],
  'an ArrayBuffer inside': [[new ArrayBuffer(2)], /bytes \(ArrayBuffer\)/, '/0'],
  'a Response inside': [{ r: new Response('x') }, /Response/, '/r'],
  'an invalid Date': [{ at: new Date(Number.NaN) }, /invalid Date/, '/at'],
  'a toJSON that gives nothing': [{ a: { toJSON() {} } }, /undefined/, '/a'],
  'a toJSON that gives NaN': [{ a: { toJSON: () => [Number.NaN] } }, /NaN/, '/a/0'],
  'a toJSON that never ends': [endless(), /deeper than 512/, expect.any(String) as never],
  'a toJSON that gives a Map': [{ a: { toJSON: () => new Map() } }, /a Map/, '/a'],
  'an array with a toJSON that gives NaN': [
    [Object.assign([1], { toJSON: () => Number.NaN })],
    /^NaN$/,
    '/0',
  ],
  'a class without a name': [new (class {})(), /^an object, which JSON renders as \{\}$/, ''],
  'a class whose name is no text': [Object.create({ constructor: { name: 7 } }), /^an object, which/, ''],
  'an iterator without a class': [
    Object.assign(Object.create(null), { [Symbol.iterator]() {} }),
    /^an object, which/,
    '',
  ],
  'a class with a long name': [Object.create({ constructor: { name: 'N'.repeat(61) } }), /^N{60}, which/, ''],
  'a long key': [{ ['k'.repeat(61)]: Number.NaN }, /^NaN$/, `/${'k'.repeat(60)}`],
  'a long way': [along(59, 59, 59, 19), /^NaN$/, way(59, 59, 59, 19)],
  'a longer way': [along(59, 59, 59, 20), /^NaN$/, `${way(59, 59, 59, 19)}…`],
  'a cycle': [looped, /contains itself/, '/self/0'],
  'a value that is too deep': [nested(100_000), /deeper than 512/, expect.any(String) as never],
  'a value that is one too deep': [nested(513), /deeper than 512/, expect.any(String) as never],
  'a key with slashes and tildes': [{ 'a/b~c': Number.NaN }, /NaN/, '/a~1b~0c'],
}

describe('is found', () => {
  for (const [name, [value, what, at]] of Object.entries(mistakes)) {
    it(name, () => expect(jsonMistakeIn(value)).toEqual({ what: expect.stringMatching(what), at }))
  }

  it('what a getter throws is thrown', () => {
    const value = {
      get a() {
        throw new Error('no a')
      },
    }
    expect(() => jsonMistakeIn(value)).toThrow('no a')
  })

  it.each<[string, (length: number) => unknown, number]>([
    ['in an array', length => holes(length), 10_000_000],
    ['in all arrays', length => [holes(length)], 9_999_999],
    ['in an array of an object', length => ({ rows: holes(length) }), 9_999_999],
    ['in an object of an array', length => holes(length, { a: Number.NaN }), 9_999_999],
    // Thirty objects that hold each other twice have a billion values: counted to the end it would take hours.
    ['in parts that are shared', length => [...twice([0, 0]), holes(length)], 9_999_993],
  ])('ten million values %s are looked at, and no more', (_, build, length) => {
    expect(jsonMistakeIn(build(length))?.what).toMatch(/^(undefined|NaN)$/)
    expect(jsonMistakeIn(build(length + 1))?.what).toBe('more than 10000000 values')
  })
})

/** A sparse array whose first value ends the walk: its length counts, and nothing else takes time. */
function holes(length: number, first?: unknown): unknown[] {
  const array = [first]
  array[length - 1] = 'last'
  return array
}

const twice = (part: unknown) => [part, part]

it('a BigInt that a program has taught JSON to write is let through', () => {
  const prototype = BigInt.prototype as { toJSON?: () => string }
  prototype.toJSON = function (this: bigint) {
    return this.toString()
  }
  try {
    expect(jsonMistakeIn({ supply: 5n })).toBeUndefined()
  } finally {
    delete prototype.toJSON
  }
})

/** `NaN` under keys of these lengths, and the way to it. */
function along(...lengths: readonly number[]): unknown {
  return lengths.reduceRight<unknown>((inner, length) => ({ ['k'.repeat(length)]: inner }), Number.NaN)
}

function way(...lengths: readonly number[]): string {
  return lengths.map(length => `/${'k'.repeat(length)}`).join('')
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = { value }
  return value
}

function endless(): object {
  return { toJSON: () => ({ inner: endless() }) }
}
