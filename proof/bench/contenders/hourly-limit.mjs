/** A minute's limit would begin anew, and let somebody in, while a row is measured. */
import { memoryCounters } from '../../../dist/src/adapters/memory/counters.js'

export function hourlyLimit() {
  const counters = memoryCounters()
  const take = (key, { max }) => counters.take(key, { max, floor: 0, periodMs: 3_600_000, isRenewed: false })
  return { ...counters, take }
}
