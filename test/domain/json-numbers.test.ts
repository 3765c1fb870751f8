/** Two bodies have one hash only where the handler sees one value. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentOf } from '../../src/domain/handler.js'
import { canonicalJson, mayHoldUnusualNumbers, NumberOverflow, plainNumbers } from '../../src/domain/json.js'

const read = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  return mayHoldUnusualNumbers(text) ? plainNumbers(value) : value
}

/** Digits, fractions and exponents as JSON allows them, most of them absurd. */
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 320n }).map(String)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,30}$/)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,4}$/)),
  )
  .map(parts => parts.join(''))

describe('numbers of a text', () => {
  it('are finite and not -0, or refused: what is read has a text that means the same', () => {
    fc.assert(
      fc.property(numberText, text => {
        const parsed = Number(text)
        if (!Number.isFinite(parsed)) {
          expect(() => read(`[${text}]`)).toThrow(NumberOverflow)
          return
        }
        const [value] = read(`[${text}]`) as [number]
        expect(value === parsed && !Object.is(value, -0)).toBe(true)
        expect(Object.is(JSON.parse(canonicalJson(value)), value)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  it('are looked at in every place, and the first that is none is named', () => {
    for (const [text, pointer] of [
      ['1e999', ''],
      ['{"a": [0, {"b/c~": -1e999}]}', '/a/1/b~1c~0'],
    ] as const) {
      expect(() => read(text)).toThrow(expect.objectContaining({ pointer }))
    }
    expect(read('{"a": [-0, {"b": -0.0, "c": "-0"}], "d": -1e-999}')).toEqual({
      a: [0, { b: 0, c: '-0' }],
      d: 0,
    })
    expect(read('-0')).toBe(0)
  })

  it('are looked at in a time that grows with the text, however they are written', () => {
    const texts = {
      'long runs of digits': `[${Array(3_300).fill('9'.repeat(308)).join(',')}]`,
      'one run of digits': `[0.${'9'.repeat(1_000_000)}]`,
      exponents: `[${Array(250_000).fill('1e1').join(',')}]`,
      'zeros below zero': `[${Array(300_000).fill('-0').join(',')}]`,
    }
    for (const [how, text] of Object.entries(texts)) {
      const startedMs = performance.now()
      read(text)
      expect(performance.now() - startedMs, how).toBeLessThan(5_000)
    }
  })

  it('beyond 2^53 are the nearest double, for the hash and the handler alike', () => {
    expect(canonicalJson(read('9007199254740993'))).toBe('9007199254740992')
    expect(read('9007199254740993')).toBe(9007199254740992)
  })
})

it('canonical JSON has no text for what is no number', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, { a: [Number.NEGATIVE_INFINITY] }]) {
    expect(() => canonicalJson(value)).toThrow(RangeError)
  }
})

it('an answer with such a number is text for doors that carry data: as data it would be null', () => {
  const answer = (body: string) => ({ status: 200, headers: { 'content-type': 'application/json' }, body })
  expect(contentOf(answer('{"n":1e999}'))).toEqual({ kind: 'text', text: '{"n":1e999}' })
  expect(contentOf(answer('{"n":1e2}'))).toEqual({ kind: 'json', text: '{"n":1e2}', value: { n: 100 } })
})
