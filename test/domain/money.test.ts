import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BASE_UNITS_MAX, formatUsd, parseBaseUnits, usdToBaseUnits } from '../../src/domain/money.js'
import { refusedWith } from './refusal.js'

describe('a price', () => {
  it.each([
    ['$0.01', 10_000n],
    ['0.01', 10_000n],
    ['$1', 1_000_000n],
    ['0.000001', 1n],
    ['$0.10', 100_000n],
    ['007.5', 7_500_000n],
    ['$9999999999999.999999', 9_999_999_999_999_999_999n],
  ])('%s is %d base units', (usd, baseUnits) => expect(usdToBaseUnits(usd)).toBe(baseUnits))

  it.each([
    '$0.0000001',
    '1e-7',
    '1e6',
    '-1',
    '-$1',
    '$-1',
    '+1',
    'NaN',
    'Infinity',
    '18446744073709551616',
    '$10000000000000',
    '1,000',
    '1_000',
    '1 000',
    '0',
    '$0',
    '$0.00',
    '0.000000',
    '',
    '$',
    '.',
    '.5',
    '1.',
    '$.5',
    '1.2.3',
    ' 1',
    '1 ',
    '1\n',
    '$$1',
    '€1',
    '1$',
    '0x10',
    '１',
    '٣',
    '1.0000000',
    'free',
    'dynamic',
  ])('%j is refused, not rounded', usd =>
    refusedWith('invalid_price', () => usdToBaseUnits(usd), /such as '\$0\.01'/),
  )

  it.each([
    [1],
    [0.01],
    [Number.NaN],
    [2 ** 64],
    [1n],
    [null],
    [undefined],
    [true],
    [{}],
    [[]],
    [['1']],
    [() => '1'],
    [Symbol('1')],
    [new String('1')],
  ])('%o is refused: a price is a string', usd => refusedWith('invalid_price', () => usdToBaseUnits(usd)))

  it('is not repeated at length in the refusal', () => {
    refusedWith('invalid_price', () => usdToBaseUnits('9'.repeat(10_000)), /^.{0,200}$/)
  })

  it('of any amount is read back as it was shown, to the millionth', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 9_999_999_999_999_999_999n), baseUnits => {
        expect(usdToBaseUnits(formatUsd(baseUnits))).toBe(baseUnits)
        expect(usdToBaseUnits(formatUsd(baseUnits).slice(1))).toBe(baseUnits)
      }),
    )
  })

  it('is what its digits say, whatever floating point would make of them', () => {
    const decimals = fc
      .tuple(fc.nat(10 ** 13 - 1), fc.nat(999_999))
      .filter(([whole, parts]) => whole + parts > 0)
    fc.assert(
      fc.property(decimals, ([whole, parts]) => {
        const usd = `${whole}.${String(parts).padStart(6, '0')}`
        expect(usdToBaseUnits(usd)).toBe(BigInt(whole) * 1_000_000n + BigInt(parts))
      }),
    )
  })

  it('is positive, below 64 bits, and refused otherwise: whatever string is given', () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^\$?[\d.,e+-]{0,25}$/))
    fc.assert(
      fc.property(texts, text => {
        let baseUnits: bigint
        try {
          baseUnits = usdToBaseUnits(text)
        } catch {
          return refusedWith('invalid_price', () => usdToBaseUnits(text))
        }
        expect(baseUnits > 0n && baseUnits <= BASE_UNITS_MAX).toBe(true)
        expect(text).toMatch(/^\$?\d+(\.\d{1,6})?$/)
      }),
    )
  })
})

describe('an amount', () => {
  it.each([
    [0n, '$0.00'],
    [1n, '$0.000001'],
    [10n, '$0.00001'],
    [10_000n, '$0.01'],
    [100_000n, '$0.10'],
    [1_000_000n, '$1.00'],
    [1_234_500n, '$1.2345'],
    [12_345_678_900_000n, '$12345678.90'],
  ])('of %d base units is shown as %s', (baseUnits, usd) => expect(formatUsd(baseUnits)).toBe(usd))

  it('on the wire is read back as it was written', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, BASE_UNITS_MAX), baseUnits => {
        expect(parseBaseUnits(baseUnits.toString())).toBe(baseUnits)
      }),
    )
  })

  it.each([
    '',
    '-1',
    '+1',
    '01',
    '00',
    '1.0',
    '1e3',
    '0x1',
    ' 1',
    '1 ',
    '1n',
    '18446744073709551616',
    '9'.repeat(21),
    '１',
  ])('%j on the wire is unreadable', text => expect(parseBaseUnits(text)).toBeUndefined())

  it.each([[1], [1n], [null], [undefined], [['1']], [{}]])('%o on the wire is unreadable', value => {
    expect(parseBaseUnits(value)).toBeUndefined()
  })
})
