/** Amounts by the time from which they count. Each second is one entry, so that a day has at most 86,400 of them. */

export interface SpentByTime {
  add(amount: bigint, atMs: number): void
  /** Removes the entries up to `endMs`, and returns their sum. */
  takeUntil(endMs: number): bigint
}

interface Entry {
  amount: bigint
  atMs: number
}

export function spentByTime(): SpentByTime {
  const entries: Entry[] = []
  return {
    add(amount, atMs) {
      let at = entries.length
      // Only an amount that was settled long after its reservation has to search for its place.
      while (at > 0 && entries[at - 1]!.atMs > atMs) at--
      const near = [entries[at], entries[at - 1]].find(
        entry => entry && secondOf(entry.atMs) === secondOf(atMs),
      )
      if (!near) {
        entries.splice(at, 0, { amount, atMs })
        return
      }
      near.amount += amount
      near.atMs = Math.max(near.atMs, atMs)
    },
    takeUntil(endMs) {
      let sum = 0n
      while (entries[0] && entries[0].atMs <= endMs) sum += entries.shift()!.amount
      return sum
    },
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}
