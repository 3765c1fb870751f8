/** What tables of stores, doors and callers cross. */

/** `.ci/run` has every combination. */
const EVERY = process.env.EVERY_COMBINATION === '1'

/**
 * Every other one, the first or the second by the place of what it is crossed with: `npm test` so has every pair of two columns of a
 * table, and half of its combinations.
 *
 * @param places of the other columns, each from 0
 */
export function crossed<T>(all: readonly T[], ...places: readonly number[]): readonly T[] {
  const sum = places.reduce((one, other) => one + other, 0)
  return EVERY ? all : all.filter((_, at) => (at + sum) % 2 === 0)
}
