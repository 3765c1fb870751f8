/** One process. The last calls in a ring: a call overwrites the oldest one. */
import type { EndedCall, Runs } from '../../ports/call-observer.js'

export function memoryRuns(capacity: number): Runs {
  const ring: EndedCall[] = []
  let next = 0
  return {
    ended(call) {
      if (capacity < 1) return
      ring[next] = call
      next = (next + 1) % capacity
    },
    list() {
      return [...ring.slice(next), ...ring.slice(0, next)].reverse()
    },
  }
}
