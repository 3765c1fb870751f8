/** What each balance was sold for, what calls took from it, and what is left: what the seller still owes in work. */
import type { EndedCall } from '../../ports/call-observer.js'

export interface BalanceAccount {
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

interface Account {
  sold: bigint
  used: bigint
  inDoubt: bigint
  /** The least that the store said was left, also by calls of other replicas. */
  left: bigint | undefined
  endsMs: number | undefined
}

export const SUMS = ['sold', 'used', 'unspent', 'expired', 'inDoubt'] as const

export function sumsOfBalances(accounts: readonly BalanceAccount[]) {
  const sums = { sold: 0n, used: 0n, unspent: 0n, expired: 0n, inDoubt: 0n }
  for (const account of accounts) for (const what of SUMS) sums[what] += account[`${what}BaseUnits`]
  return sums
}

/** Its size depends on the number of balances, not on that of calls. */
export function balanceAccounts() {
  const accounts = new Map<string, Account>()
  return {
    add({ units, amount, windowEndsMs }: EndedCall, isBooking: boolean): void {
      if (units === undefined) return
      const none = { sold: 0n, used: 0n, inDoubt: 0n, left: undefined, endsMs: undefined }
      const account: Account = accounts.get(units.balance) ?? none
      accounts.set(units.balance, account)
      const { left } = units
      if (left !== undefined && !(account.left! < left)) account.left = BigInt(left)
      // What was paid is what was sold: the payment is held against the chain.
      if (units.sold !== undefined && isBooking) account.sold += BigInt(amount ?? 0)
      account.used += BigInt(units.used ?? 0)
      account.inDoubt += BigInt(units.inDoubt ?? 0)
      account.endsMs ??= units.sold === undefined ? undefined : windowEndsMs
    },
    /** Those with the most unspent first. */
    list: (nowMs: number): readonly BalanceAccount[] =>
      [...accounts].map(of(nowMs)).sort((a, b) => Number(b.unspentBaseUnits - a.unspentBaseUnits)),
  }
}

const of =
  (nowMs: number) =>
  ([balance, { sold, used, inDoubt, endsMs, ...said }]: readonly [string, Account]): BalanceAccount => {
    // A cost that was counted late may be more than was left: that is the seller's loss.
    const unused = sold > used ? sold - used : 0n
    const left = said.left !== undefined && (sold === 0n || said.left < unused) ? said.left : unused
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
