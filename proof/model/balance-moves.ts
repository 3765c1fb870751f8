/** The moves of calls on a balance: the product's own decision, and what must hold of each of them. */

import type { Opened, UnitsCounted } from '../../src/domain/charge-store/moves.js'
import type { Decision } from '../../src/domain/charge-store/records.js'
import * as transition from '../../src/domain/charge-store/transition.js'
import { type BalanceMoment, PERIOD_MS, SLOT, SOLD } from './balance-world.js'
import { broken } from './store-moves.js'
import { LEASE_MS, NOW_MS, RETENTION_MS, tokenOf } from './world.js'

export type BalanceMove = 'open' | 'renew' | 'count' | 'release'

function argumentsOf({ world }: BalanceMoment, index: number) {
  const { key, take, charge, hasNoAnswer } = world.plan.calls[index]!
  const claim = { name: key, bodyHash: 'body' }
  const hold = { slot: SLOT, token: tokenOf(index), claim, hasUnits: true }
  const answer = hasNoAnswer ? undefined : Uint8Array.of(index)
  return { hold, take, closing: { ...hold, retentionMs: RETENTION_MS }, charge, answer }
}

function decide(moment: BalanceMoment, index: number, move: BalanceMove) {
  const { hold, take, closing, charge, answer } = argumentsOf(moment, index)
  switch (move) {
    case 'open':
      return transition.open(moment, { ...hold, take, leaseMs: LEASE_MS }, NOW_MS)
    case 'renew':
      return transition.renew(moment, hold, LEASE_MS, NOW_MS)
    case 'count':
      return transition.count(moment, { ...closing, how: 'complete', charge, answer }, NOW_MS)
    case 'release':
      return transition.close(moment, { ...closing, how: 'release' }, NOW_MS)
  }
}

function store(moment: BalanceMoment, { claims, units }: Decision<unknown>): void {
  for (const claim of claims) moment.setClaim(claim)
  if (units) moment.setUnits(units)
}

/** What a sale that is sent again does. */
export function sellLate(moment: BalanceMoment): void {
  const before = moment.units()
  const expiresAtMs = moment.trouble.hasEnded ? NOW_MS : PERIOD_MS
  const sold = transition.sell(moment, { slot: SLOT, units: SOLD, expiresAtMs }, NOW_MS)
  store(moment, sold)
  if (moment.units() !== before) broken('a sale that is sent again restores nothing')
}

export function sellFirst(moment: BalanceMoment): BalanceMoment {
  store(moment, transition.sell(moment, { slot: SLOT, units: SOLD, expiresAtMs: PERIOD_MS }, NOW_MS))
  return moment
}

/** What the move says. It was checked. */
export function makeMove(moment: BalanceMoment, index: number, move: BalanceMove): Opened | string {
  const before = moment.copy()
  const { verdict, ...left } = decide(moment, index, move)
  store(moment, { verdict, ...left })
  CHECKS[move](before, moment, index, verdict as never)
  checkSentAgain(moment, index, move, verdict)
  return move === 'open' ? (verdict as Opened) : wordOf(verdict)
}

function wordOf(verdict: unknown): string {
  return typeof verdict === 'object' ? (verdict as { verdict: string }).verdict : String(verdict)
}

type Check<Verdict> = (before: BalanceMoment, after: BalanceMoment, index: number, verdict: Verdict) => void

const CHECKS: {
  readonly open: Check<Opened>
  readonly renew: Check<boolean>
  readonly count: Check<UnitsCounted>
  readonly release: Check<string>
} = {
  open(before, after, index, opened) {
    const { key, take } = after.world.plan.calls[index]!
    if (opened.verdict !== 'opened') {
      if (!isSame(before, after)) broken('a call that opens nothing takes nothing')
      return
    }
    const units = opened.units!
    const { reserved } = after.claim(SLOT, key)!
    const was = before.units()
    const free = Math.max(0, (was?.unused ?? 0) - before.reserved(SLOT, NOW_MS, key))
    const { hasEnded } = before.trouble
    if (units.verdict === 'taken' && take > free) broken('no call takes more than is free')
    if (units.verdict === 'taken' && hasEnded) broken('no call takes after the end')
    if ((units.verdict === 'none') !== hasEnded) broken('a balance ends with its period, and not before')
    if (units.verdict === 'short' && take <= free) broken('no unit that is free is withheld')
    if (reserved !== (units.verdict === 'taken' ? take : undefined))
      broken('a call has reserved what it took, and nothing else')
    if (after.units()?.unused !== was?.unused) broken('taking counts nothing')
  },

  renew(before, after, index, isRenewed) {
    const { key } = after.world.plan.calls[index]!
    const [was, is] = [before.claim(SLOT, key), after.claim(SLOT, key)]
    if (!isRenewed && !isSame(before, after)) broken('a superseded call changes nothing')
    if (isRenewed && (was?.token !== tokenOf(index) || is?.reserved !== was.reserved))
      broken('what a call has reserved is renewed with its claim')
  },

  count(before, after, index, { verdict, unused }) {
    const { key, charge } = after.world.plan.calls[index]!
    const was = before.claim(SLOT, key)
    const isOurs = was?.token === tokenOf(index)
    const isDone = was?.state === 'completed'
    if (!isOurs && (verdict !== 'superseded' || !isSame(before, after)))
      broken('a superseded call counts nothing')
    if (isOurs && verdict !== 'closed') broken('a call that holds its claim can count, also late')
    if (isOurs && isDone && !isSame(before, after)) broken('a count that is sent again counts nothing more')
    if (isOurs && !isDone && after.claim(SLOT, key)?.state !== 'completed')
      broken('what was charged is not charged again')
    const had = before.units()?.unused
    const counts = isOurs && !isDone ? charge : 0
    const left = had === undefined ? undefined : Math.max(0, had - counts)
    if (after.units()?.unused !== left || unused !== left) broken('exactly the charge is counted')
  },

  release(before, after, index) {
    const was = before.claim(SLOT, after.world.plan.calls[index]!.key)
    const isOurs = was?.token === tokenOf(index)
    if (!isOurs && !isSame(before, after)) broken('a superseded call changes nothing')
    if (after.units() !== before.units()) broken('a release counts nothing')
  },
}

function isSame(one: BalanceMoment, other: BalanceMoment): boolean {
  return one.row.every((word, at) => word === other.row[at])
}

function checkSentAgain(after: BalanceMoment, index: number, move: BalanceMove, verdict: unknown): void {
  const again = after.copy()
  const { verdict: hears, ...left } = decide(again, index, move)
  store(again, { verdict: hears, ...left })
  // What was released is not there any more.
  if (!isSame(after, again) || (move !== 'release' && JSON.stringify(hears) !== JSON.stringify(verdict)))
    broken('a move that is sent again changes and answers the same')
}

/** What a call is told that asks for more than there can be; nothing where no call can take. */
function leftIn(moment: BalanceMoment) {
  const hold = { slot: SLOT, token: 'asking', claim: { name: 'asking', bodyHash: 'body' }, hasUnits: true }
  const asked = { ...hold, take: Number.MAX_SAFE_INTEGER, leaseMs: LEASE_MS }
  const { verdict: opened } = transition.open(moment, asked, NOW_MS)
  return opened.verdict === 'opened' && opened.units?.verdict === 'short' ? opened.units : undefined
}

/** Of every moment. */
export function checkUnits(moment: BalanceMoment): void {
  const { plan } = moment.world
  const units = moment.units()
  const done = moment.claims.filter(({ state }) => state === 'completed')
  const charged = done.reduce((sum, { token }) => sum + plan.calls[Number(token.slice(1))]!.charge, 0)
  if (units && units.unused !== Math.max(0, SOLD - charged))
    broken('what is counted is the sum of the charges of the claims that are completed')
  if (done.some(({ reserved }) => reserved !== undefined)) broken('a call that is done has nothing reserved')
  const left = leftIn(moment)
  if (left && left.free !== Math.max(0, units!.unused - moment.reserved()))
    broken('what is free is what nobody has counted or reserved, and never below 0')
  const atWork = moment.claims.filter(({ reserved, leaseEndsMs }) => reserved && leaseEndsMs > NOW_MS)
  if (atWork.some(({ expiresAtMs }) => !units || units.expiresAtMs < expiresAtMs))
    broken('a balance stays for the calls that reserved before its end')
  for (const index of plan.calls.keys())
    if (moment.call(index).told === 'delivered' && !done.some(({ token }) => token === tokenOf(index)))
      broken('no answer leaves before its charge is counted')
}

/** When nobody is at work any more: every unit is counted or free, and no key is locked. */
export function checkAtRest(moment: BalanceMoment): void {
  const later = moment.copy()
  for (const claim of later.claims) later.setClaim({ ...claim, leaseEndsMs: NOW_MS })
  const left = leftIn(later)
  if (left && left.free !== left.unused) broken('no unit is lost')
  for (const [index] of later.world.plan.calls.entries()) {
    const { hold } = argumentsOf(later, index)
    const { verdict } = transition.open(later, { ...hold, token: 'later', leaseMs: LEASE_MS }, NOW_MS).verdict
    const isDone = later.claim(SLOT, hold.claim.name)?.state === 'completed'
    const isReplayed = verdict === 'replayable' || verdict === 'notKept'
    if (isDone !== isReplayed || (!isDone && verdict !== 'opened'))
      broken('what was charged is told again, and no other key is locked')
  }
}
