/** Accounts, and a draft of them in which a group is applied as a whole or not at all. */
import { BASE_UNITS_MAX } from '../domain/money.js'
import { algoText } from './check-signatures.js'

export interface Holding {
  readonly amount: bigint
  readonly frozen: boolean
}

export interface Account {
  readonly microAlgos: bigint
  readonly holdings: ReadonlyMap<bigint, Holding>
  /** The address whose key signs for this account, since the account was rekeyed. */
  readonly authAddr?: string
}

const EMPTY: Account = Object.freeze({ microAlgos: 0n, holdings: new Map() })
const MIN_BALANCE_MICRO_ALGOS = 100_000n

export type Accounts = Map<string, Account>

/** Drafts can be stacked: the pool is a draft over the ledger, and a group is tried in a draft over the pool. */
export class Draft {
  readonly #base: Pick<ReadonlyMap<string, Account>, 'get'>
  readonly #changed = new Map<string, Account>()
  /** Accounts whose ALGO or number of holdings changed: only those must keep their minimum balance. */
  #touched = new Set<string>()

  constructor(base: Pick<ReadonlyMap<string, Account>, 'get'>) {
    this.#base = base
  }

  get(address: string): Account | undefined {
    return this.#changed.get(address) ?? this.#base.get(address)
  }

  set(address: string, account: Account): void {
    this.#changed.set(address, account)
  }

  account(address: string): Account {
    return this.get(address) ?? EMPTY
  }

  holding(address: string, assetId: bigint): Holding | undefined {
    return this.account(address).holdings.get(assetId)
  }

  setMicroAlgos(address: string, microAlgos: bigint): void {
    const account = this.account(address)
    if (account.microAlgos === microAlgos) return
    this.set(address, { ...account, microAlgos })
    this.#touched.add(address)
  }

  /** Returns why a node would not, as {@link moveAsset} does. */
  moveAlgos(from: string, to: string, microAlgos: bigint): string | undefined {
    const held = this.account(from).microAlgos
    if (held < microAlgos) {
      const data = `{AccountBaseData:{Status:Offline MicroAlgos:${algoText(held)} ...}}`
      return `overspend (account ${from}, data ${data}, tried to spend ${algoText(microAlgos)})`
    }
    this.setMicroAlgos(from, held - microAlgos)
    this.setMicroAlgos(to, this.account(to).microAlgos + microAlgos)
  }

  /** A transfer of zero checks no account: go-algorand lets anyone send zero of any asset to anyone. */
  moveAsset(from: string, to: string, assetId: bigint, amount: bigint): string | undefined {
    if (amount === 0n) return undefined
    const source = this.holding(from, assetId)
    if (!source) return `asset ${assetId} missing from ${from}`
    if (source.frozen) return `asset ${assetId} frozen in ${from}`
    if (source.amount < amount)
      return `underflow on subtracting ${amount} from sender amount ${source.amount}`
    this.setHolding(from, assetId, { ...source, amount: source.amount - amount })
    const target = this.holding(to, assetId)
    if (!target) return `receiver error: must optin, asset ${assetId} missing from ${to}`
    if (target.frozen) return 'asset frozen in recipient'
    if (target.amount + amount > BASE_UNITS_MAX)
      return `overflow on adding ${amount} to receiver amount ${target.amount}`
    this.setHolding(to, assetId, { ...target, amount: target.amount + amount })
  }

  /** `undefined` closes the holding. */
  setHolding(address: string, assetId: bigint, holding: Holding | undefined): void {
    const account = this.account(address)
    const holdings = new Map(account.holdings)
    if (holding) holdings.set(assetId, holding)
    else holdings.delete(assetId)
    if (holdings.size !== account.holdings.size) this.#touched.add(address)
    this.set(address, { ...account, holdings })
  }

  /** Rekeying an account to itself gives it back its own key. */
  rekey(address: string, to: string): void {
    const { authAddr: _, ...account } = this.account(address)
    this.set(address, to === address ? account : { ...account, authAddr: to })
  }

  forget(address: string): void {
    this.set(address, EMPTY)
  }

  /** The first account that fell below its minimum since the last call; an emptied account may go to zero. */
  takeBelowMinimum(): string | undefined {
    const touched = this.#touched
    this.#touched = new Set()
    for (const address of touched) {
      const { microAlgos, holdings } = this.account(address)
      const minimum = minBalanceMicroAlgos(holdings.size)
      const emptied = microAlgos === 0n && holdings.size === 0
      if (microAlgos < minimum && !emptied)
        return `account ${address} balance ${microAlgos} below min ${minimum} (${holdings.size} assets)`
    }
  }

  commit(accounts: { set(address: string, account: Account): unknown }): void {
    for (const [address, account] of this.#changed) accounts.set(address, account)
  }
}

export function minBalanceMicroAlgos(holdings: number): bigint {
  return MIN_BALANCE_MICRO_ALGOS * BigInt(1 + holdings)
}
