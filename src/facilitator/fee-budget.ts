/**
 * What the sponsor may spend on fees in a day. A fee is reserved before the group is submitted, and given back only if the
 * node refused the group and no other node can have it. A payment that is asked about again is reserved once.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../ports/clock.js'

export type FeeBudget = ReturnType<typeof feeBudget>

/** Of a payment and of the sponsor's own transaction. */
export const PAYMENT_FEE_MICRO_ALGOS = 2_000n
const DAY_MS = 86_400_000
/** When the list is full, the oldest entry is removed; its fee stays counted. */
const RESERVATIONS_MAX = 10_000

export function feeBudget(perDayMax: bigint, clock: Pick<Clock, 'now' | 'monotonic'>) {
  const reserved = new LRUCache<string, { readonly fee: bigint; readonly day: number }>({
    maxSize: RESERVATIONS_MAX,
    sizeCalculation: () => 1,
  })
  let day = 0
  let begunAtMs = Number.NEGATIVE_INFINITY
  let spent = 0n

  function turn(): void {
    const today = Math.floor(clock.now() / DAY_MS)
    // If the clock is set back, the old day goes on for at most 24 real hours. Without that limit, a clock that once jumped a year
    // ahead would give no new budget for a year.
    if (today <= day && clock.monotonic() - begunAtMs < DAY_MS) return
    day = today
    begunAtMs = clock.monotonic()
    spent = 0n
  }

  return {
    get today() {
      turn()
      return spent
    },
    covers(fee: bigint) {
      turn()
      return spent + fee <= perDayMax
    },
    holds: (txId: string) => reserved.has(txId),
    /** `false` where the day's fees would be more than the most. */
    reserve(txId: string, fee: bigint) {
      turn()
      if (reserved.has(txId)) return true
      if (spent + fee > perDayMax) return false
      spent += fee
      reserved.set(txId, { fee, day })
      return true
    },
    /** The group was not submitted after all: its fee is free again. */
    giveBack(txId: string) {
      turn()
      const held = reserved.get(txId)
      reserved.delete(txId)
      if (held?.day === day) spent -= held.fee
    },
  }
}
