/** The rows of features that the simulation's episodes have: each pair meets, and few are left out. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import {
  coveringArray,
  type Pair,
  pairName,
  pairsOf,
  pairsOfRow,
} from '../../proof/simulation/covering-array.js'
import { CANNOT, featuresOf, MetPairs, RANDOM_ROWS, ROWS, TABLE } from '../../proof/simulation/pairs.js'

const SMALL = { one: ['a', 'b', 'c'], two: ['d', 'e'], three: ['f', 'g', 'h', 'i'] }

it('a covering array has each pair, and none of those that cannot exist', () => {
  const cannot: Pair[] = [
    ['one=a', 'two=d'],
    ['three=i', 'two=d'],
  ]
  const met = new Set(coveringArray(SMALL, cannot).flatMap(pairsOfRow))
  // Counted by hand: 3·2 + 3·4 + 2·4, without two.
  expect(met.size).toBe(24)
  for (const [one, other] of cannot) expect(met).not.toContain(pairName(one, other))
  expect([...pairsOf(SMALL, cannot).keys()].sort()).toEqual([...met].sort())
})

it('values may have spaces and equals signs', () => {
  const table = { one: ['a b', 'a'], two: ['c=d', 'e'] }
  expect(coveringArray(table, [])).toEqual([
    { one: 'a b', two: 'c=d' },
    { one: 'a b', two: 'e' },
    { one: 'a', two: 'c=d' },
    { one: 'a', two: 'e' },
  ])
})

it('a pair that fits in no row is said, instead of left out', () => {
  const cannot = SMALL.three.map(value => ['one=a', `three=${value}`] as const)
  expect(() => coveringArray(SMALL, cannot)).toThrow('no row can have one=a two=')
})

it('the rows of the simulation have every pair, several times in 300 episodes', () => {
  const met = new MetPairs()
  for (const row of ROWS) met.add(pairsOfRow(row))
  expect(met.missing).toEqual([])
  expect(ROWS.length).toBeLessThanOrEqual(300 / 6)
  const rows = new Set(Array.from({ length: 300 }, (_, at) => featuresOf(String(at + 1))))
  expect(rows.size).toBe(ROWS.length)
})

it('rows at random are the same for the same seed, bring what the array does not, and no pair that cannot exist', () => {
  const random = Array.from({ length: 300 }, (_, at) => featuresOf(`${RANDOM_ROWS}${at}`))
  expect(featuresOf(`${RANDOM_ROWS}7`)).toEqual(random[7])
  expect(new Set(random.map(row => JSON.stringify(row))).size).toBe(300)
  const impossible = new Set(CANNOT.map(({ pair: [one, other] }) => pairName(one, other)))
  expect(random.flatMap(pairsOfRow).filter(pair => impossible.has(pair))).toEqual([])
})

it('at most one pair in twenty is left out, each with a reason', () => {
  const all = pairsOf(TABLE, []).size
  expect(CANNOT.length).toBeLessThanOrEqual(all / 20)
  for (const { because } of CANNOT) expect(because.length).toBeGreaterThan(40)
})

it('the README shows a matrix of the pairs, with a line for each value', () => {
  const readme = readFileSync(new URL('../../proof/simulation/README.md', import.meta.url), 'utf8')
  for (const [factor, values] of Object.entries(TABLE))
    for (const value of values) expect(readme).toContain(`| ${factor}: ${value} |`)
})
