/** What the explorer's world is made of: a few calls, the records of one store, and what the chain knows of each payment. */
import type { Hold } from '../../src/domain/charge-store/moves.js'
import type { Claim, Payment, Records } from '../../src/domain/charge-store/records.js'
import { claimTable } from '../../src/domain/machines/claim.machine.js'
import { LAPSED_KEPT_MS } from '../../src/domain/machines/claim-and-payment.rules.js'
import { paymentTable } from '../../src/domain/machines/payment.machine.js'
import { Parts } from './packed-states.js'

/** One request, as its caller sends it. */
export interface CallPlan {
  /** Absent: the payment is its own name. */
  readonly key?: string
  /** Absent: a window covers the call. */
  readonly payment?: string
  readonly body?: string
  /** Of a caller without a proof and without a random key: the address that it comes from. */
  readonly bearerFrom?: string
}

export interface Case {
  readonly name: string
  /** What becomes of a key whose answer was seen to be lost. */
  readonly mode: 'release' | 'replay'
  readonly calls: readonly CallPlan[]
  /** How many of each there may be. Leases lapse, and calls stand still, as often as they like. */
  readonly crashes?: number
  readonly losses?: number
  readonly hangUps?: number
  /** A move that was given up arrives after all. The stores do not allow it: each such move has a deadline in the store's time. */
  readonly ignoresDeadlines?: boolean
  /** What callers are told and charged is checked, and no single move of the store. */
  readonly isMoneyAlone?: boolean
}

/** All moves happen at this moment: instead of the time, what it ends is moved. */
export const NOW_MS = 0
export const LEASE_MS = 100_000
export const PAYMENT_TTL_MS = 300_000
export const RETENTION_MS = 1_000_000
export const CLAIM_TTL_MS = PAYMENT_TTL_MS + RETENTION_MS
/** From here on a record outlives its lease. */
export const UNRECORDED_MAX_MS = LEASE_MS + LAPSED_KEPT_MS
export const SLOT = 'payer'
/** The address of all callers that name none of their own. */
export const HOME = 'home'

/** A payment: what the chain knows, and what was done for it. */
export interface Fate {
  /** It was submitted, and may land. */
  readonly isPending: boolean
  readonly hasLanded: boolean
  /** Its last valid round is over. */
  readonly isPast: boolean
  /** The calls that sent it to be settled, as bits, but for those that got a clear no. */
  readonly sentBy: number
  readonly isDelivered: boolean
  /** The call whose run's answer was given for it. */
  readonly answerOf: number | undefined
}

/** What a call that is at work knows. */
export interface CallState {
  /** A state of the charge machine; `close`: it still has to close; `inDoubt`: it ended so, and the chain is asked later; `ended`. */
  readonly at: string
  readonly isHolding: boolean
  readonly isGone: boolean
  /** What it took over: whose run's answer, for which payment. */
  readonly recorded: { readonly answerOf: number; readonly payment: string | undefined } | undefined
  readonly landing: 'found' | 'dead' | undefined
  readonly how: 'complete' | 'forfeit' | undefined
  /** A closing move that is sent until the store answers. */
  readonly pending: 'complete' | 'forfeit' | 'release' | undefined
  /** A move that was given up, and that the network still has. */
  readonly late: 'open' | 'record' | undefined
}

export interface Spare {
  readonly crashes: number
  readonly losses: number
  readonly hangUps: number
  /** The keys, as bits, whose caller was seen to be gone when its answer was sent. */
  readonly lostAnswers: number
}

const ENDED: CallState = {
  at: 'ended',
  isHolding: false,
  isGone: false,
  recorded: undefined,
  landing: undefined,
  how: undefined,
  pending: undefined,
  late: undefined,
}

/** The parts of a case's states, and where in a row each has its place. */
export class World {
  readonly names: readonly string[]
  readonly txIds: readonly string[]
  readonly keys: readonly string[]
  readonly holds: readonly Hold[]
  readonly width: number
  /** So many of the first numbers of a row are records and fates. */
  readonly seenByStore: number
  readonly claims = new Parts<Claim>(textOfClaim)
  readonly payments = new Parts<Payment>()
  readonly fates = new Parts<Fate>()
  readonly calls = new Parts<CallState>(call => Object.values(call).map(textOf).join())
  readonly spares = new Parts<Spare>()

  constructor(readonly plan: Case) {
    const { calls } = plan
    this.txIds = [...new Set(calls.flatMap(({ payment }) => payment ?? []))]
    this.keys = [...new Set(calls.flatMap(({ key }) => key ?? []))]
    this.names = [...this.keys, ...this.txIds.map(ownName)]
    this.holds = calls.map(({ key, payment, body = 'body' }, at) => ({
      slot: SLOT,
      token: tokenOf(at),
      claim: {
        name: key ?? ownName(payment!),
        bodyHash: body,
        ...(key === undefined && { isOfPayment: true }),
      },
      ...(payment !== undefined && { payment }),
    }))
    this.seenByStore = this.names.length + 2 * this.txIds.length
    this.width = this.seenByStore + calls.length + 1
  }

  start(at: string): Moment {
    const moment = new Moment(this, new Uint16Array(this.width))
    const { crashes = 0, losses = 0, hangUps = 0, calls } = this.plan
    for (const txId of this.txIds) {
      const unknown = { isPending: false, hasLanded: false, isPast: false, sentBy: 0 }
      moment.setFate(txId, { ...unknown, isDelivered: false, answerOf: undefined })
    }
    for (const index of calls.keys()) moment.setCall(index, { ...ENDED, at })
    moment.spare = { crashes, losses, hangUps, lostAnswers: 0 }
    return moment
  }
}

/** A state of the world that is taken apart, and may be changed. */
export class Moment implements Records {
  constructor(
    readonly world: World,
    readonly row: Uint16Array,
  ) {}

  copy(): Moment {
    return new Moment(this.world, this.row.slice())
  }

  claim(_slot: string, name: string): Claim | undefined {
    const at = this.world.names.indexOf(name)
    return at < 0 ? undefined : this.world.claims.of(this.row[at]!)
  }

  /** A record in its machine's first state is one that the store deletes. */
  setClaim(claim: Claim): void {
    const kept = claim.state === claimTable.initial ? undefined : claim
    this.row[this.world.names.indexOf(claim.name)] = this.world.claims.numberOf(kept)
  }

  payment(txId: string): Payment | undefined {
    const at = this.world.txIds.indexOf(txId)
    return at < 0 ? undefined : this.world.payments.of(this.row[this.world.names.length + at]!)
  }

  setPayment(payment: Payment): void {
    const at = this.world.names.length + this.world.txIds.indexOf(payment.txId)
    const kept = payment.state === paymentTable.initial ? undefined : payment
    this.row[at] = this.world.payments.numberOf(kept)
  }

  /** No balance: that is another world. */
  units(): undefined {}

  reserved(): number {
    return 0
  }

  fate(txId: string): Fate {
    return this.world.fates.of(this.row[this.#fateAt(txId)]!)!
  }

  setFate(txId: string, change: Partial<Fate>): void {
    const { fates } = this.world
    const at = this.#fateAt(txId)
    this.row[at] = fates.numberOf({ ...fates.of(this.row[at]!), ...change } as Fate)
  }

  #fateAt(txId: string): number {
    const { names, txIds } = this.world
    return names.length + txIds.length + txIds.indexOf(txId)
  }

  call(index: number): CallState {
    return this.world.calls.of(this.row[this.#callAt(index)]!)!
  }

  setCall(index: number, change: Partial<CallState>): void {
    const { calls } = this.world
    const at = this.#callAt(index)
    this.row[at] = calls.numberOf({ ...(calls.of(this.row[at]!) ?? ENDED), ...change })
  }

  /** What a call knew is forgotten, but for the moves that are still on their way. */
  endCall(index: number, { pending, late }: Partial<CallState> = {}): void {
    this.setCall(index, { ...ENDED, pending, late })
  }

  #callAt(index: number): number {
    return this.world.seenByStore + index
  }

  get spare(): Spare {
    return this.world.spares.of(this.row[this.world.width - 1]!)!
  }

  set spare(spare: Spare) {
    this.row[this.world.width - 1] = this.world.spares.numberOf(spare)
  }
}

export const tokenOf = (index: number) => `t${index}`
export const ownName = (payment: string) => `of ${payment}`

function textOf(value: unknown): unknown {
  return typeof value === 'object' ? JSON.stringify(value) : value
}

function textOfClaim({ kept, ...claim }: Claim): string {
  return JSON.stringify([claim, kept && [kept.answer?.[0], kept.payment?.txId, kept.by]])
}
