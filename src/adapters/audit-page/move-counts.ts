/** Counts each move of a machine, and keeps the last durations of its state. */
import type { EdgeView } from './page-events.js'

export interface Tally {
  add(path: readonly number[], timingsMs: readonly number[]): void
  /** The moves whose count differs from the count in `seen`. Updates `seen`. */
  changedSince(seen: Uint32Array): readonly EdgeView[]
}

/** Enough durations for a steady and recent median. A move takes 1 kB. */
const RECENT = 128

export function createTally(steps: number): Tally {
  const counts = new Uint32Array(steps)
  const recent = Array.from({ length: steps }, () => new Float64Array(RECENT))
  return {
    add(path, timingsMs) {
      for (const [at, step] of path.entries()) {
        recent[step]![counts[step]! % RECENT] = timingsMs[at] ?? 0
        counts[step]!++
      }
    },
    changedSince(seen) {
      const changed: EdgeView[] = []
      for (const [step, count] of counts.entries()) {
        if (seen[step] === count) continue
        seen[step] = count
        changed.push([step, count, rounded(median(recent[step]!.slice(0, count)))])
      }
      return changed
    },
  }
}

function median(values: Float64Array): number {
  const sorted = values.sort()
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Rounds to microseconds. */
export function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
