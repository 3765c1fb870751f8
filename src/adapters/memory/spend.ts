/** One process's spend ledger; a restart forgets what was spent. Promise: see the port. */
import { type Clock, systemClock } from '../../ports/clock.js'
import type { SpendLedger } from '../../ports/spend.js'

const DAY_MS = 86_400_000

/** What is spent within one second is one entry, so that a day never holds more than 86 400 of them. */
const RESOLUTION_MS = 1_000

interface Counted {
  amount: bigint
  atMs: number
}

/**
 * A {@link SpendLedger} in this process's memory, for clients that share one budget; a restart forgets what was spent.
 *
 * @param clock Of use to tests; without it, the system's.
 */
export function memorySpendLedger(clock: Pick<Clock, 'now'> = systemClock): SpendLedger {
  const reserved = new Map<string, Counted>()
  const spent: Counted[] = []
  let sum = 0n

  function expire(): void {
    const endMs = clock.now() - DAY_MS
    while (spent[0] && spent[0].atMs <= endMs) sum -= spent.shift()!.amount
    for (const [id, { amount, atMs }] of reserved) {
      if (atMs > endMs) break
      reserved.delete(id)
      sum -= amount
    }
  }

  function forget(id: string): void {
    const counted = reserved.get(id)
    if (!counted) return
    reserved.delete(id)
    sum -= counted.amount
  }

  return {
    reserve({ id, amount }, capBaseUnits) {
      expire()
      if (capBaseUnits !== undefined && sum + amount > capBaseUnits) return false
      reserved.set(id, { amount, atMs: clock.now() })
      sum += amount
      return true
    },
    commit({ id, amount }) {
      forget(id)
      const atMs = clock.now()
      const last = spent.at(-1)
      if (last && Math.floor(last.atMs / RESOLUTION_MS) === Math.floor(atMs / RESOLUTION_MS)) {
        last.amount += amount
        last.atMs = atMs
      } else {
        spent.push({ amount, atMs })
      }
      sum += amount
    },
    release: ({ id }) => forget(id),
    get spentBaseUnits() {
      expire()
      return sum
    },
  }
}
