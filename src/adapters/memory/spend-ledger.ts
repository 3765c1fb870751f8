/** One process. The spend ledger; a restart loses it. Promise: see the port. */
import { type Clock, systemClock } from '../../ports/clock.js'
import {
  type OpenSpend,
  PAYMENT_LIFE_MAX_MS,
  type SpendLedger,
  type SpendPayment,
} from '../../ports/spend-ledger.js'

const DAY_MS = 86_400_000

/** About 30 MB. Above it the oldest open reservations count as spent; none is dropped early. */
const OPEN_MAX = 100_000

interface Reserved {
  readonly amount: bigint
  readonly atMs: number
}

interface Open extends Reserved {
  readonly payment: SpendPayment
  dueRound: bigint
}

/**
 * A {@link SpendLedger} in the memory of this process, for clients that share one budget. A restart loses it. It
 * takes the monotonic clock: no change of the time of day frees room, and time in which the machine sleeps may not count, so that a
 * spend counts for longer.
 *
 * @param clock For tests. Without it, the system's clock.
 */
export function memorySpendLedger(clock: Pick<Clock, 'monotonic'> = systemClock): SpendLedger {
  // Both are in the order of `atMs`: each entry is added with the present time, or a constant later.
  const reserved = new Map<string, Reserved>()
  const open = new Map<string, Open>()
  const spent = spentByTime()
  let sum = 0n
  let balances = ''

  function expire(): void {
    const endMs = clock.monotonic() - DAY_MS
    sum -= spent.takeUntil(endMs) + expired(reserved, endMs) + expired(open, endMs)
  }

  /** From `landedMs` on at the latest, it counts for 24 hours. Without it, from when the payment can have landed at the latest. */
  function settleAsSpent(id: string, landedMs = Number.POSITIVE_INFINITY): void {
    const { amount, atMs } = open.get(id)!
    open.delete(id)
    spent.add(amount, Math.min(atMs, landedMs))
  }

  return {
    reserve({ id, amount }, capBaseUnits) {
      expire()
      if (reserved.has(id) || open.has(id)) return true
      if (capBaseUnits !== undefined && sum + amount > capBaseUnits) return false
      reserved.set(id, { amount, atMs: clock.monotonic() })
      sum += amount
      return true
    },
    attach(id, payment) {
      expire()
      const known = reserved.get(id)
      if (!known) return open.get(id)?.payment.txId === payment.txId
      reserved.delete(id)
      const atMs = clock.monotonic() + PAYMENT_LIFE_MAX_MS
      open.set(id, { amount: known.amount, atMs, payment, dueRound: payment.lastValid })
      if (open.size > OPEN_MAX) settleAsSpent(open.keys().next().value!)
      return true
    },
    release(id) {
      sum -= reserved.get(id)?.amount ?? 0n
      reserved.delete(id)
    },
    due(network, round, max) {
      expire()
      const found: [bigint, OpenSpend][] = []
      for (const [id, { amount, payment, dueRound }] of open)
        if (payment.network === network && dueRound < round) found.push([dueRound, { id, amount, payment }])
      found.sort(([one], [other]) => Number(one - other))
      return found.slice(0, max).map(([, spend]) => spend)
    },
    postpone(id, round) {
      const known = open.get(id)
      if (known && known.dueRound < round) known.dueRound = round
    },
    settle(id, end) {
      const known = open.get(id)
      if (!known) return
      if (end !== 'dead') return settleAsSpent(id, end === 'spent' ? clock.monotonic() : undefined)
      open.delete(id)
      sum -= known.amount
    },
    balances(change) {
      if (change && balances === change.before) balances = change.after
      return balances
    },
    get spentBaseUnits() {
      expire()
      return sum
    },
  }
}

function expired(entries: Map<string, Reserved>, endMs: number): bigint {
  let sum = 0n
  for (const [id, { amount, atMs }] of entries) {
    if (atMs > endMs) break
    entries.delete(id)
    sum += amount
  }
  return sum
}

interface Entry {
  amount: bigint
  atMs: number
}

/** Amounts by the time from which they count. Each second is one entry, so that a day has at most 86,400 of them. */
export function spentByTime() {
  const entries: Entry[] = []
  return {
    add(amount: bigint, atMs: number) {
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
    takeUntil(endMs: number) {
      let sum = 0n
      while (entries[0] && entries[0].atMs <= endMs) sum += entries.shift()!.amount
      return sum
    },
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}
