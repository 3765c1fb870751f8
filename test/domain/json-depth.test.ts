/** How deep a text from outside nests, told before a parser builds anything. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { deeperThan } from '../../src/domain/json.js'

/** Levels of objects and arrays, counted on the value that the platform's parser builds. */
const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const DEEP_MAX = 6
/** What opens, closes and escapes, inside of strings. */
const tricky = fc.string({
  unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', 'a', '\u2028'),
  maxLength: 12,
})
const values = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: DEEP_MAX, withCrossShrink: true },
    tricky,
    fc.integer(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(tricky, tie('value'), { maxKeys: 3 }),
  ),
})).value

it('a text nests as deep as its value, whatever its strings hold', () => {
  fc.assert(
    fc.property(values, fc.nat(DEEP_MAX + 1), fc.constantFrom(undefined, 2), (value, depthMax, indent) => {
      expect(deeperThan(JSON.stringify(value, undefined, indent), depthMax)).toBe(depthOf(value) > depthMax)
    }),
    { numRuns: 2_000 },
  )
})

it('a string without an end has nothing behind it, also where its last quote is escaped', () => {
  expect(deeperThan('"[[[[', 2)).toBe(false)
  expect(deeperThan('"\\"[[[[', 2)).toBe(false)
  expect(deeperThan('"\\\\"[[[[', 2)).toBe(true)
})
