/** What a charge store holds of claims and payments, as a decision reads it and leaves it. */
import { type ClaimState, claimTable } from '../machines/claim.machine.js'
import { LAPSED_KEPT_MS, VERDICT_FOR_OTHERS } from '../machines/claim-and-payment.rules.js'
import { type PaymentState, paymentTable } from '../machines/payment.machine.js'
import type { UnitsState } from '../machines/subscription.machine.js'
import { type Drawing, next, type StateOf, type Table } from '../state-machine/transition-table.js'
import type { Hold, LeasedHold, RecordedPayment } from './moves.js'

/** A record in its machine's initial state is one that the store deletes. */
interface LeasedRecord<State> {
  readonly state: State
  /** The token of the call that holds the record. */
  readonly token: string
  readonly leaseEndsMs: number
  /** From then on the record counts as absent. */
  readonly expiresAtMs: number
}

/** Its name is unique within its slot. */
export interface Claim extends LeasedRecord<ClaimState>, Required<NonNullable<Hold['claim']>> {
  readonly slot: string
  /** The address from which it was opened. */
  readonly caller: string | undefined
  readonly kept: Kept | undefined
  /** The units that are reserved for its call while its lease lives. */
  readonly reserved: number | undefined
}

export interface Kept {
  /** Absent after a budget dropped it. */
  readonly answer: Uint8Array | undefined
  readonly payment: RecordedPayment | undefined
  /** The token of the call that recorded it. Absent where a window covered the call. */
  readonly by: string | undefined
}

export interface Payment extends LeasedRecord<PaymentState> {
  readonly txId: string
}

/** What a balance has. What its calls have reserved lies in their claims. */
export interface Units {
  readonly slot: string
  readonly state: UnitsState
  /** Reserved ones included. */
  readonly unused: number
  /** No call takes from then on. */
  readonly endsAtMs: number
  /** The end, or that of the longest call. From then on the record counts as absent. */
  readonly expiresAtMs: number
}

/** The records of a store. They stay the same while a move is decided. */
export interface Records {
  claim(slot: string, name: string): Claim | undefined
  payment(txId: string): Payment | undefined
  units(slot: string): Units | undefined
  /** The sum of what the claims in this slot whose leases live have reserved. */
  reserved(slot: string, nowMs: number): number
}

/** The claim of a hold, or the one under another name in its slot. */
export function findClaim(
  records: Records,
  { slot, claim }: Hold,
  nowMs: number,
  name = claim?.name,
): Claim | undefined {
  return name === undefined ? undefined : asOf(nowMs, claimTable, records.claim(slot, name))
}

export function findPayment(records: Records, txId: string | undefined, nowMs: number): Payment | undefined {
  return txId === undefined ? undefined : asOf(nowMs, paymentTable, records.payment(txId))
}

/** No store writes that a lease has run out: each move that reads the record finds it. */
function asOf<D extends Drawing, R extends LeasedRecord<StateOf<D>>>(
  nowMs: number,
  table: Table<D>,
  record: R | undefined,
): R | undefined {
  if (record === undefined || nowMs >= record.expiresAtMs) return undefined
  const lapsed = nowMs < record.leaseEndsMs ? undefined : table.rows[record.state].on.lapsed
  return lapsed === undefined ? record : { ...record, state: lapsed }
}

export const claimLists = ({ state }: Claim, event: string) => claimTable.rows[state].on[event] !== undefined
export const claimAfter = ({ state }: Claim, event: string) => next(claimTable, state, event)
export const paymentLists = ({ state }: Payment, event: string) =>
  paymentTable.rows[state].on[event] !== undefined
export const paymentAfter = ({ state }: Payment, event: string) => next(paymentTable, state, event)

/** Only a completed claim can be evicted. */
export const isCompleted = (claim: Claim) => claimLists(claim, 'evicted')

/** What the call is told of the payment that it presents. */
export function verdictOn(payment: Payment | undefined, { token }: Hold): 'opened' | 'inUse' | 'spent' {
  if (!payment) return 'opened'
  if (payment.token === token && paymentLists(payment, 'opened')) return 'opened'
  return VERDICT_FOR_OTHERS[payment.state]
}

/** The claim after an event that gives it to this call. */
export function holdClaim(
  claim: Claim | undefined,
  { slot, token, claim: asked, leaseMs }: LeasedHold,
  nowMs: number,
  event: string,
  caller: string | undefined,
): Claim {
  const leaseEndsMs = nowMs + leaseMs
  const { name, bodyHash, isOfPayment = false } = claim ?? asked!
  return {
    slot,
    name,
    bodyHash,
    isOfPayment,
    state: next(claimTable, claim?.state ?? claimTable.initial, event),
    token,
    leaseEndsMs,
    expiresAtMs: leaseEndsMs + LAPSED_KEPT_MS,
    caller,
    kept: undefined,
    reserved: undefined,
  }
}

export function holdPayment(
  payment: Payment | undefined,
  { payment: txId, token, leaseMs }: LeasedHold,
  nowMs: number,
): Payment {
  const leaseEndsMs = nowMs + leaseMs
  return {
    txId: txId!,
    state: next(paymentTable, payment?.state ?? paymentTable.initial, 'opened'),
    token,
    leaseEndsMs,
    expiresAtMs: leaseEndsMs + LAPSED_KEPT_MS,
  }
}

/** The records are stored in this order. */
export interface Decision<Verdict> {
  readonly verdict: Verdict
  readonly claims: readonly Claim[]
  readonly payments: readonly Payment[]
  readonly units?: Units | undefined
}

export const NONE: readonly never[] = []

export function unchanged<Verdict>(verdict: Verdict): Decision<Verdict> {
  return { verdict, claims: NONE, payments: NONE }
}

export function leaving<Verdict>(
  verdict: Verdict,
  claim?: Claim,
  payment?: Payment,
  units?: Units,
): Decision<Verdict> {
  return { verdict, claims: claim ? [claim] : NONE, payments: payment ? [payment] : NONE, units }
}
