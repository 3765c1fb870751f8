/**
 * The smallest failure: faults and acts are taken away as long as the same invariant is still violated (ddmin: Zeller and
 * Hildebrandt, 2002). What is left names the cause.
 */
import { type Episode, episode } from './episode.js'

const EPISODES_MAX = 400

export interface Failure {
  readonly seed: string
  readonly invariant: string
  /** The names of the faults and acts that are enough. */
  readonly only: readonly string[]
}

/** @param episodesMax How many episodes the search may run. */
export async function smallest(failed: Episode, episodesMax = EPISODES_MAX): Promise<Failure> {
  const { seed } = failed
  const { invariant } = failed.violations[0]!
  let left = episodesMax
  const fails = async (names: readonly string[]) => {
    left--
    const { violations } = await episode({ seed, only: new Set(names) })
    return violations.some(violation => violation.invariant === invariant)
  }
  let names = [...failed.acts, ...failed.strikes.map(({ name }) => name)]
  for (let parts = 2; names.length > 1 && left > 0; ) {
    const size = Math.ceil(names.length / parts)
    let smaller: string[] | undefined
    for (let from = 0; from < names.length && !smaller && left > 0; from += size) {
      const without = names.filter((_, at) => at < from || at >= from + size)
      if (await fails(without)) smaller = without
    }
    if (smaller) {
      names = smaller
      parts = Math.max(2, parts - 1)
    } else if (size === 1) break
    else parts = Math.min(names.length, 2 * parts)
  }
  return { seed, invariant, only: names }
}
