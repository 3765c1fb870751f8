/** Chance from a seed: the same seed, the same choices (mulberry32). */
export interface Random {
  /** A whole number from `low` up to, not including, `high`. */
  between(low: number, high: number): number
  pick<T>(from: readonly T[]): T
}

export function seeded(seed: number): Random {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low))
  return { between, pick: from => from[between(0, from.length)]! }
}
