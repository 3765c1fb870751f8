/**
 * Units that were sold, of which calls take: a balance. What a call may cost is reserved in its claim, so it is fenced by the claim's
 * token, lives as long as its lease, and is renewed and given back with it. What it did cost is counted where the claim completes.
 */
import { subscriptionTable } from '../machines/subscription.machine.js'
import { next } from '../state-machine/transition-table.js'
import type { Hold, Opened, OpenMove, SellMove, UnitsTaken } from './moves.js'
import {
  type Claim,
  type Decision,
  leaving,
  type Payment,
  type Records,
  type Units,
  unchanged,
} from './records.js'

/** @throws RangeError for what is no count of units: a negative charge would be a gift. */
export function wholeUnits(units: number): number {
  if (Number.isSafeInteger(units) && units >= 0) return units
  throw new RangeError(`units are a whole number from 0; this is ${units}`)
}

const lists = ({ state }: Units, event: string) => subscriptionTable.rows[state].on[event] !== undefined

export function findUnits(
  records: Records,
  { slot, hasUnits }: Pick<Hold, 'slot' | 'hasUnits'>,
  nowMs: number,
): Units | undefined {
  const units = hasUnits ? records.units(slot) : undefined
  if (!units || nowMs >= units.expiresAtMs) return undefined
  return nowMs < units.endsAtMs ? units : { ...units, state: next(subscriptionTable, units.state, 'ended') }
}

/** Opens a claim, and reserves what its call may cost. What the claim had reserved before is replaced. */
export function reserve(
  records: Records,
  move: OpenMove,
  take: number,
  before: Claim | undefined,
  claim: Claim,
  payment: Payment | undefined,
  nowMs: number,
): Decision<Opened> {
  const opened = (units: UnitsTaken): Opened => ({ verdict: 'opened', units })
  const units = findUnits(records, move, nowMs)
  if (!units || lists(units, 'collected')) return leaving(opened({ verdict: 'none' }), claim, payment)
  const { unused } = units
  const most = wholeUnits(take)
  const replaced = before && nowMs < before.leaseEndsMs ? (before.reserved ?? 0) : 0
  const free = Math.max(0, unused - records.reserved(move.slot, nowMs) + replaced)
  if (most > free || !lists(units, 'taken'))
    return leaving(opened({ verdict: 'short', unused, free }), claim, payment)
  const lasting = units.expiresAtMs < claim.expiresAtMs ? outlasting(units, claim.expiresAtMs) : undefined
  return leaving(opened({ verdict: 'taken', unused }), { ...claim, reserved: most }, payment, lasting)
}

/** A balance stays for the calls that reserved before its end, so that nothing that comes late restores it. */
export function outlasting(units: Units, expiresAtMs: number): Units {
  return { ...units, expiresAtMs: Math.max(units.expiresAtMs, expiresAtMs) }
}

/** What was served late is the seller's loss: no more is counted than there is. */
export function charged(units: Units | undefined, charge: number): Units | undefined {
  if (!units) return undefined
  const unused = Math.max(0, units.unused - wholeUnits(charge))
  return { ...units, unused, state: next(subscriptionTable, units.state, unused > 0 ? 'counted' : 'usedUp') }
}

export function sell(
  records: Records,
  { slot, units, expiresAtMs }: SellMove,
  nowMs: number,
): Decision<undefined> {
  if (nowMs >= expiresAtMs || findUnits(records, { slot, hasUnits: true }, nowMs)) return unchanged(undefined)
  const state = next(subscriptionTable, subscriptionTable.initial, 'stored')
  const sold = { slot, state, unused: wholeUnits(units), endsAtMs: expiresAtMs, expiresAtMs }
  return leaving(undefined, undefined, undefined, sold)
}

export function drop(records: Records, slot: string, nowMs: number): Decision<undefined> {
  const units = findUnits(records, { slot, hasUnits: true }, nowMs)
  const dropped = units && { ...units, state: next(subscriptionTable, units.state, 'unsettled') }
  return leaving(undefined, undefined, undefined, dropped)
}
