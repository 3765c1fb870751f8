/** Balances, and a draft of them in which a group is applied as a whole or not at all. */

export interface Holding {
  readonly amount: bigint
  readonly frozen: boolean
}

export interface Account {
  readonly microAlgos: bigint
  readonly holdings: ReadonlyMap<bigint, Holding>
}

const EMPTY: Account = Object.freeze({ microAlgos: 0n, holdings: new Map() })
const MIN_BALANCE_MICRO_ALGOS = 100_000n

export type Accounts = Map<string, Account>

export class Draft {
  readonly #base: ReadonlyMap<string, Account>
  readonly #changed = new Map<string, Account>()
  /** Accounts whose ALGO or number of holdings changed: only those must keep their minimum balance. */
  #touched = new Set<string>()

  constructor(base: ReadonlyMap<string, Account>) {
    this.#base = base
  }

  account(address: string): Account {
    return this.#changed.get(address) ?? this.#base.get(address) ?? EMPTY
  }

  holding(address: string, assetId: bigint): Holding | undefined {
    return this.account(address).holdings.get(assetId)
  }

  setMicroAlgos(address: string, microAlgos: bigint): void {
    const account = this.account(address)
    if (account.microAlgos === microAlgos) return
    this.#changed.set(address, { ...account, microAlgos })
    this.#touched.add(address)
  }

  /** `undefined` closes the holding. */
  setHolding(address: string, assetId: bigint, holding: Holding | undefined): void {
    const account = this.account(address)
    const holdings = new Map(account.holdings)
    if (holding) holdings.set(assetId, holding)
    else holdings.delete(assetId)
    if (holdings.size !== account.holdings.size) this.#touched.add(address)
    this.#changed.set(address, { ...account, holdings })
  }

  /** The first account that fell below its minimum since the last call; an emptied account may go to zero. */
  takeBelowMinimum(): string | undefined {
    const touched = this.#touched
    this.#touched = new Set()
    for (const address of touched) {
      const { microAlgos, holdings } = this.account(address)
      const minimum = minBalanceMicroAlgos(holdings.size)
      const emptied = microAlgos === 0n && holdings.size === 0
      if (microAlgos < minimum && !emptied) {
        return `account ${address} balance ${microAlgos} below min ${minimum} (${holdings.size} assets)`
      }
    }
  }

  commit(accounts: Accounts): void {
    for (const [address, account] of this.#changed) accounts.set(address, account)
  }
}

export function minBalanceMicroAlgos(holdings: number): bigint {
  return MIN_BALANCE_MICRO_ALGOS * BigInt(1 + holdings)
}
