/** One process. The records of claims and payments, until their time ends, and the bounds of what they may take. */
import {
  type Claim,
  claimAfter,
  claimLists,
  type Decision,
  isCompleted,
  type Payment,
  paymentLists,
  type Records,
  type Units,
} from '../../domain/charge-store/records.js'
import { claimTable } from '../../domain/machines/claim.machine.js'
import { paymentTable } from '../../domain/machines/payment.machine.js'
import { subscriptionTable } from '../../domain/machines/subscription.machine.js'
import { KeptAnswers } from './drop-oldest-answers.js'
import { Expiry } from './expiry-by-second.js'

/** A claim and its payment take this besides the answer, as measured on Node 20. */
const RECORD_BYTES = 1_750

export interface ChargeBounds {
  /**
   * The most completed answers of each kind: paid with a key, paid without one, and covered by a window. The oldest answer of the
   * owner that has the most makes room; a key stays without its answer. @default 500
   */
  readonly max: number
  /**
   * The most claims, and the most payments, of calls at work that have recorded nothing. Answers have a bound of their own: with
   * one bound for both, 520 unfunded payments pushed paid answers out. @default 10000
   */
  readonly callsMax: number
  /**
   * The most bytes of answers whose payments are not decided. They stay, so above it new calls are refused. A call that works
   * already may go beyond it. @default 268435456
   */
  readonly settlingBytesMax: number
}

type Kept = readonly [claims: Claim[], payments: Payment[], units: Units[]]

export class ChargeRecords implements Records {
  readonly #claims = new Map<string, Claim>()
  readonly #payments = new Map<string, Payment>()
  readonly #units = new Map<string, Units>()
  readonly #reserved = new ReservedUnits()
  readonly #expiry = new Expiry<Claim | Payment | Units>()
  readonly #answers: KeptAnswers
  #claimsAtWork = 0
  #paymentsAtWork = 0
  #settlingBytes = 0

  constructor(private readonly bounds: ChargeBounds) {
    this.#answers = new KeptAnswers(bounds.max)
  }

  claim(slot: string, name: string): Claim | undefined {
    return this.#claims.get(keyOf(slot, name))
  }

  payment(txId: string): Payment | undefined {
    return this.#payments.get(txId)
  }

  units(slot: string): Units | undefined {
    return this.#units.get(slot)
  }

  reserved(slot: string, nowMs: number): number {
    return this.#reserved.sum(slot, nowMs)
  }

  /** Forgets what has ended by then, and returns that moment. */
  collect(nowMs: number): number {
    this.#expiry.collect(nowMs, record => {
      if ('txId' in record) this.#keepPayment({ ...record, state: paymentTable.initial })
      else if ('unused' in record) this.#keepUnits({ ...record, state: subscriptionTable.initial })
      else this.#keepClaim({ ...record, state: claimTable.initial })
    })
    return nowMs
  }

  get all(): Kept {
    return [[...this.#claims.values()], [...this.#payments.values()], [...this.#units.values()]]
  }

  restore([claims, payments, units]: Kept): void {
    this.keep({ verdict: undefined, claims, payments })
    for (const each of units) this.#keepUnits(each)
  }

  /** Answers whose payments are not decided must stay: when they fill the memory, no new call may begin. */
  hasRoomFor({ claims, payments }: Decision<unknown>): boolean {
    const { callsMax, settlingBytesMax } = this.bounds
    const isFull = this.#claimsAtWork >= callsMax || this.#settlingBytes >= settlingBytesMax
    if (isFull && claims.some(({ slot, name }) => !this.claim(slot, name))) return false
    return this.#paymentsAtWork < callsMax || payments.every(({ txId }) => this.payment(txId))
  }

  keep<Verdict>({ verdict, claims, payments, units }: Decision<Verdict>): Verdict {
    for (const claim of claims) this.#keepClaim(claim)
    for (const payment of payments) this.#keepPayment(payment)
    if (units) this.#keepUnits(units)
    return verdict
  }

  #keepClaim(given: Claim): void {
    const key = keyOf(given.slot, given.name)
    const before = this.#claims.get(key)
    if (before) this.#leaveClaim(before)
    const claim = withOwnAnswer(given, before)
    if (!this.#put(this.#claims, key, claim, claimTable.initial)) return
    this.#reserved.add(claim)
    if (claimLists(claim, 'recorded')) this.#claimsAtWork++
    this.#settlingBytes += settlingBytesOf(claim)
    if (!isCompleted(claim)) return
    const old = this.#answers.add(claim)
    if (old) this.#keepClaim({ ...old, state: claimAfter(old, 'evicted') })
  }

  #leaveClaim(claim: Claim): void {
    if (claimLists(claim, 'recorded')) this.#claimsAtWork--
    this.#settlingBytes -= settlingBytesOf(claim)
    this.#answers.remove(claim)
    this.#reserved.remove(claim)
  }

  #keepPayment(payment: Payment): void {
    const before = this.#payments.get(payment.txId)
    if (before && paymentLists(before, 'recorded')) this.#paymentsAtWork--
    if (!this.#put(this.#payments, payment.txId, payment, paymentTable.initial)) return
    if (paymentLists(payment, 'recorded')) this.#paymentsAtWork++
  }

  #keepUnits(units: Units): void {
    this.#put(this.#units, units.slot, units, subscriptionTable.initial)
  }

  /** Whether there is such a record now: one that has ended is in its table's initial state. */
  #put<R extends Claim | Payment | Units>(
    records: Map<string, R>,
    key: string,
    record: R,
    initial: string,
  ): boolean {
    const before = records.get(key)
    if (before) this.#expiry.drop(before)
    const isThere = record.state !== initial
    if (isThere) this.#expiry.file(record)
    if (isThere) records.set(key, record)
    else records.delete(key)
    return isThere
  }
}

/** A claim's name is unique within its payer's slot. A transaction id is unique by itself. */
function keyOf(slot: string, name: string): string {
  return `${slot.length} ${slot}${name}`
}

/** Only the chain decides what settles: until then its answer must stay. */
function settlingBytesOf(claim: Claim): number {
  return claimLists(claim, 'found') ? claim.kept!.answer!.byteLength + RECORD_BYTES : 0
}

/** Bytes are copied on their way in and out, so that no caller can change the answer of another. */
function withOwnAnswer(claim: Claim, before: Claim | undefined): Claim {
  const { kept } = claim
  if (!kept?.answer || kept.answer === before?.kept?.answer) return claim
  return { ...claim, kept: { ...kept, answer: copyOf(kept.answer) } }
}

export function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}

interface Reserved {
  readonly claims: Set<Claim>
  units: number
  /** No lease ends before this moment. */
  lapsesMs: number
}

class ReservedUnits {
  readonly #slots = new Map<string, Reserved>()

  sum(slot: string, nowMs: number): number {
    const reserved = this.#slots.get(slot)
    if (!reserved) return 0
    if (nowMs >= reserved.lapsesMs) {
      reserved.lapsesMs = Number.POSITIVE_INFINITY
      for (const claim of reserved.claims) {
        if (claim.leaseEndsMs <= nowMs) this.remove(claim)
        else reserved.lapsesMs = Math.min(reserved.lapsesMs, claim.leaseEndsMs)
      }
    }
    return reserved.units
  }

  add(claim: Claim): void {
    if (claim.reserved === undefined) return
    const reserved = this.#slots.get(claim.slot) ?? {
      claims: new Set<Claim>(),
      units: 0,
      lapsesMs: claim.leaseEndsMs,
    }
    this.#slots.set(claim.slot, reserved)
    reserved.claims.add(claim)
    reserved.units += claim.reserved
    reserved.lapsesMs = Math.min(reserved.lapsesMs, claim.leaseEndsMs)
  }

  remove(claim: Claim): void {
    const reserved = this.#slots.get(claim.slot)
    if (!reserved?.claims.delete(claim)) return
    reserved.units -= claim.reserved!
    if (reserved.claims.size === 0) this.#slots.delete(claim.slot)
  }
}
