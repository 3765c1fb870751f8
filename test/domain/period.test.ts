import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { periodMs } from '../../src/domain/period.js'
import { refusedWith } from './refusal.js'

describe('a period', () => {
  it.each([
    ['30d', 2_592_000_000],
    ['1ms', 1],
    ['90s', 90_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['2w', 1_209_600_000],
    ['3653d', 315_619_200_000],
  ])('%s is %d ms', (period, ms) => expect(periodMs(period)).toBe(ms))

  it.each([
    '0d',
    '-1d',
    '1.5d',
    '01d',
    'd',
    '30',
    '30 d',
    ' 30d',
    '30d\n',
    '30D',
    '30days',
    '1y',
    '1d12h',
    '1e3s',
    '3654d',
    '999999999w',
    '9999999999ms',
    '',
  ])('%j is refused', period => refusedWith('invalid_endpoint', () => periodMs(period), /such as '30d'/))

  it.each([[30], [null], [undefined], [{}], [['30d']]])('%o is refused', period => {
    refusedWith('invalid_endpoint', () => periodMs(period))
  })

  it('is a whole number of milliseconds, up to ten years', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 999_999_999 }),
        fc.constantFrom('ms', 's', 'm', 'h', 'd', 'w'),
        (n, unit) => {
          try {
            const ms = periodMs(`${n}${unit}`)
            expect(Number.isSafeInteger(ms) && ms >= n && ms <= 3_653 * 86_400_000).toBe(true)
          } catch {
            refusedWith('invalid_endpoint', () => periodMs(`${n}${unit}`))
          }
        },
      ),
    )
  })
})
