/** The world of a balance: its units, the claims of a few calls that take of it, and what each call knows. */
import type { Claim, Records, Units } from '../../src/domain/charge-store/records.js'
import { claimTable } from '../../src/domain/machines/claim.machine.js'
import { subscriptionTable } from '../../src/domain/machines/subscription.machine.js'
import { Parts } from './packed-states.js'
import { NOW_MS } from './world.js'

export interface TakingCall {
  readonly key: string
  readonly take: number
  readonly charge: number
  /** Too large to be kept. */
  readonly hasNoAnswer?: boolean
}

export interface BalanceCase {
  readonly name: string
  readonly calls: readonly TakingCall[]
}

export const BALANCE_CASES: readonly BalanceCase[] = [
  {
    name: 'a balance, two keys',
    calls: [
      { key: 'k', take: 2, charge: 2 },
      { key: 'l', take: 2, charge: 2 },
    ],
  },
  {
    name: 'a balance, one key twice',
    calls: [
      { key: 'k', take: 2, charge: 2 },
      { key: 'k', take: 3, charge: 3, hasNoAnswer: true },
    ],
  },
  {
    name: 'a balance, one key twice and another',
    calls: [
      { key: 'k', take: 2, charge: 2 },
      { key: 'k', take: 2, charge: 1 },
      { key: 'l', take: 2, charge: 2 },
    ],
  },
]

export const SLOT = 'balance'
/** Two calls of these cases do not fit in it together. */
export const SOLD = 3
/** Shorter than a lease: what is reserved before it outlasts it. */
export const PERIOD_MS = 50_000

export interface Taking {
  readonly at: 'new' | 'working' | 'counting' | 'releasing' | 'ended'
  /** What its caller was told, where that is of its own run. */
  readonly told: 'delivered' | undefined
  /** A closing move that is sent until the store answers. */
  readonly pending: 'count' | 'release' | undefined
}

export interface Trouble {
  readonly crashes: number
  readonly losses: number
  readonly lateSales: number
  readonly hasEnded: boolean
}

const NEW: Taking = { at: 'new', told: undefined, pending: undefined }

/** Where in a row each part has its place. */
export class BalanceWorld {
  readonly names: readonly string[]
  readonly width: number
  readonly claims = new Parts<Claim>(({ kept, ...claim }) => JSON.stringify([claim, kept?.answer?.[0]]))
  readonly units = new Parts<Units>()
  readonly calls = new Parts<Taking>()
  readonly troubles = new Parts<Trouble>()

  constructor(readonly plan: BalanceCase) {
    this.names = [...new Set(plan.calls.map(({ key }) => key))]
    this.width = this.names.length + 1 + plan.calls.length + 1
  }

  start(): BalanceMoment {
    const moment = new BalanceMoment(this, new Uint16Array(this.width))
    for (const index of this.plan.calls.keys()) moment.setCall(index, NEW)
    moment.trouble = { crashes: 1, losses: 2, lateSales: 1, hasEnded: false }
    return moment
  }
}

export class BalanceMoment implements Records {
  constructor(
    readonly world: BalanceWorld,
    readonly row: Uint16Array,
  ) {}

  copy(): BalanceMoment {
    return new BalanceMoment(this.world, this.row.slice())
  }

  claim(_slot: string, name: string): Claim | undefined {
    return this.world.claims.of(this.row[this.world.names.indexOf(name)]!)
  }

  get claims(): readonly Claim[] {
    return this.world.names.flatMap(name => this.claim(SLOT, name) ?? [])
  }

  setClaim(claim: Claim): void {
    const kept = claim.state === claimTable.initial ? undefined : claim
    this.row[this.world.names.indexOf(claim.name)] = this.world.claims.numberOf(kept)
  }

  payment(): undefined {}

  units(): Units | undefined {
    return this.world.units.of(this.row[this.world.names.length]!)
  }

  setUnits(units: Units | undefined): void {
    const kept = units?.state === subscriptionTable.initial ? undefined : units
    this.row[this.world.names.length] = this.world.units.numberOf(kept)
  }

  reserved(_slot?: string, _nowMs?: number, butName?: string): number {
    const live = this.claims.filter(({ leaseEndsMs, name }) => leaseEndsMs > NOW_MS && name !== butName)
    return live.reduce((sum, { reserved = 0 }) => sum + reserved, 0)
  }

  call(index: number): Taking {
    return this.world.calls.of(this.row[this.#callAt(index)]!)!
  }

  setCall(index: number, change: Partial<Taking>): void {
    const { calls } = this.world
    const at = this.#callAt(index)
    this.row[at] = calls.numberOf({ ...(calls.of(this.row[at]!) ?? NEW), ...change })
  }

  #callAt(index: number): number {
    return this.world.names.length + 1 + index
  }

  get trouble(): Trouble {
    return this.world.troubles.of(this.row[this.world.width - 1]!)!
  }

  set trouble(trouble: Trouble) {
    this.row[this.world.width - 1] = this.world.troubles.numberOf(trouble)
  }
}
