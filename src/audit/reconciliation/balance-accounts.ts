/** What each balance was sold for, what calls took from it, and what is left: what the seller still owes in work. */
import type { EndedCall } from '../../ports/call-observer.js'

export interface BalanceAccount {
  /** The balance's public name. */
  readonly balance: string
  readonly soldBaseUnits: bigint
  readonly usedBaseUnits: bigint
  /** Costs that a store had not confirmed when their call ended. They are in none of the other sums. */
  readonly inDoubtBaseUnits: bigint
  /** What is left and can still be used. */
  readonly unspentBaseUnits: bigint
  /** What was left when the period ended. */
  readonly expiredBaseUnits: bigint
  /** The end of the period, in milliseconds since the epoch; absent where the sale is in no line. */
  readonly endsMs?: number
}

export interface BalanceAccounts {
  /** @param isBooking Whether the run books its payment, which is income once. */
  add(run: EndedCall, isBooking: boolean): void
  /** Those with the most unspent first. */
  list(nowMs: number): readonly BalanceAccount[]
}

interface Account {
  sold: bigint
  used: bigint
  inDoubt: bigint
  endsMs: number | undefined
}

/** Its size depends on the number of balances, not on that of calls. */
export function balanceAccounts(): BalanceAccounts {
  const accounts = new Map<string, Account>()
  return {
    add({ units, amount, windowEndsMs }, isBooking) {
      if (units === undefined) return
      const account = accounts.get(units.balance) ?? { sold: 0n, used: 0n, inDoubt: 0n, endsMs: undefined }
      accounts.set(units.balance, account)
      // What was paid is what was sold: the payment is held against the chain.
      if (units.sold !== undefined && isBooking) account.sold += BigInt(amount ?? 0)
      account.used += BigInt(units.used ?? 0)
      account.inDoubt += BigInt(units.inDoubt ?? 0)
      account.endsMs ??= units.sold === undefined ? undefined : windowEndsMs
    },
    list: nowMs =>
      [...accounts].map(of(nowMs)).sort((a, b) => Number(b.unspentBaseUnits - a.unspentBaseUnits)),
  }
}

const of =
  (nowMs: number) =>
  ([balance, { sold, used, inDoubt, endsMs }]: readonly [string, Account]): BalanceAccount => {
    // A cost that was counted late may be more than was left: that is the seller's loss.
    const left = sold > used ? sold - used : 0n
    const isOver = endsMs !== undefined && endsMs <= nowMs
    return {
      balance,
      soldBaseUnits: sold,
      usedBaseUnits: used,
      inDoubtBaseUnits: inDoubt,
      unspentBaseUnits: isOver ? 0n : left,
      expiredBaseUnits: isOver ? left : 0n,
      ...(endsMs !== undefined && { endsMs }),
    }
  }
