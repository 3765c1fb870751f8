/** Walks every order in which calls on one balance, their store and time can act. */
import { type BalanceMove, checkAtRest, checkUnits, makeMove, sellFirst, sellLate } from './balance-moves.js'
import { type BalanceCase, BalanceMoment, BalanceWorld } from './balance-world.js'
import type { Explored } from './explore.js'
import { PackedStates } from './packed-states.js'
import { ruleBrokenBy } from './store-moves.js'
import { NOW_MS, tokenOf } from './world.js'

interface Step {
  readonly label: string
  readonly after: BalanceMoment
  readonly breaks: string | undefined
}

type Does = (after: BalanceMoment) => void

function stepsFrom(from: BalanceMoment): readonly Step[] {
  const found: Step[] = []
  const add = (label: string, does: Does) => {
    const after = from.copy()
    const breaks = ruleBrokenBy(() => {
      does(after)
      checkUnits(after)
    })
    found.push({ label, after, breaks })
  }
  stepsOfTime(from, add)
  for (const index of from.world.plan.calls.keys()) stepsOfCall(from, index, add)
  return found
}

function stepsOfTime(from: BalanceMoment, add: (label: string, does: Does) => void): void {
  for (const claim of from.claims) {
    if (claim.state === 'completed') continue
    if (claim.leaseEndsMs > NOW_MS)
      add(`the lease of ${claim.token} ends`, after => after.setClaim({ ...claim, leaseEndsMs: NOW_MS }))
    else add(`the claim ${claim.name} is forgotten`, after => after.setClaim({ ...claim, state: 'absent' }))
  }
  const { trouble } = from
  const units = from.units()
  if (!trouble.hasEnded)
    add('the period ends', after => {
      after.trouble = { ...trouble, hasEnded: true }
      // What outlasts the period has a later end by now.
      const isOver = units && units.expiresAtMs === units.endsAtMs
      after.setUnits(units && !isOver ? { ...units, endsAtMs: NOW_MS } : undefined)
    })
  else if (units && from.claims.every(({ reserved }) => reserved === undefined))
    add('the balance is forgotten', after => after.setUnits(undefined))
  if (trouble.lateSales > 0)
    add('its sale arrives again', after => {
      after.trouble = { ...trouble, lateSales: trouble.lateSales - 1 }
      sellLate(after)
    })
}

function stepsOfCall(from: BalanceMoment, index: number, add: (label: string, does: Does) => void): void {
  const { at, pending } = from.call(index)
  const { trouble } = from
  /** The move is answered, or it is lost, or its answer is, or it is sent again. */
  const move = (
    kind: BalanceMove,
    answered: (after: BalanceMoment, verdict: ReturnType<typeof makeMove>) => void,
    lost: Does,
  ) => {
    const told = `call ${index}: ${kind}`
    add(told, after => answered(after, makeMove(after, index, kind)))
    if (trouble.losses === 0) return
    const losing = (makes: boolean, then?: Does) => (after: BalanceMoment) => {
      after.trouble = { ...trouble, losses: trouble.losses - 1 }
      if (makes) makeMove(after, index, kind)
      then?.(after)
    }
    add(`${told}, which is lost`, losing(false, lost))
    add(`${told}, whose answer is lost`, losing(true, lost))
    add(`${told}, which is sent again`, losing(true))
  }
  const ends: Does = after => after.setCall(index, { at: 'ended' })
  const endsOwing = (pending: 'count' | 'release') => (after: BalanceMoment) =>
    after.setCall(index, { at: 'ended', pending })

  if (at === 'new')
    move(
      'open',
      (after, opened) => {
        if (typeof opened === 'string' || opened.verdict !== 'opened') return ends(after)
        after.setCall(index, { at: opened.units!.verdict === 'taken' ? 'working' : 'releasing' })
      },
      endsOwing('release'),
    )
  if (at === 'working') {
    add(`call ${index}: its handler answers`, after => after.setCall(index, { at: 'counting' }))
    add(`call ${index}: its handler fails`, after => after.setCall(index, { at: 'releasing' }))
  }
  if (at === 'counting')
    move(
      'count',
      (after, verdict) =>
        after.setCall(index, { at: 'ended', ...(verdict === 'closed' && { told: 'delivered' }) }),
      endsOwing('count'),
    )
  if (at === 'releasing') move('release', ends, endsOwing('release'))
  const isAtWork = at !== 'new' && at !== 'ended'
  const held = from.claims.find(({ token }) => token === tokenOf(index))
  if (isAtWork && !(held && held.leaseEndsMs > NOW_MS))
    add(`call ${index}: renew`, after => void makeMove(after, index, 'renew'))
  if (pending)
    for (const isLast of [true, false])
      add(`call ${index}: its ${pending} arrives${isLast ? '' : ', and is on its way again'}`, after => {
        makeMove(after, index, pending)
        if (isLast) after.setCall(index, { pending: undefined })
      })
  if (trouble.crashes > 0 && (isAtWork || pending))
    add(`call ${index}: its process dies`, after => {
      after.trouble = { ...trouble, crashes: trouble.crashes - 1 }
      after.setCall(index, { at: 'ended', pending: undefined })
    })
}

export interface BalanceExplored extends Omit<Explored, 'violations'> {
  /** The labels of the shortest trace to each broken rule. */
  readonly violations: ReadonlyMap<string, readonly string[]>
}

export function exploreBalance(plan: BalanceCase, isFirstEnough = false): BalanceExplored {
  const world = new BalanceWorld(plan)
  const states = new PackedStates(world.width)
  states.add(sellFirst(world.start()).row, -1, 0)
  const violations = new Map<string, readonly string[]>()
  const momentOf = (state: number) => new BalanceMoment(world, states.row(state).slice())
  const traceTo = (state: number): readonly string[] => {
    const parent = states.parentOf(state)
    if (parent < 0) return []
    return [...traceTo(parent), stepsFrom(momentOf(parent))[states.stepTo(state)]!.label]
  }
  let [transitions, depth, levelEnds, state] = [0, 0, 1, 0]
  for (; state < states.count; state++) {
    if (isFirstEnough && violations.size > 0) break
    if (state === levelEnds) {
      levelEnds = states.count
      depth++
    }
    const moment = momentOf(state)
    const isAtRest = plan.calls.every((_, index) => {
      const { at, pending } = moment.call(index)
      return at === 'ended' && pending === undefined
    })
    const restless = isAtRest ? ruleBrokenBy(() => checkAtRest(moment)) : undefined
    if (restless !== undefined && !violations.has(restless)) violations.set(restless, traceTo(state))
    for (const [at, { label, after, breaks }] of stepsFrom(moment).entries()) {
      transitions++
      if (breaks === undefined) states.add(after.row, state, at)
      else if (!violations.has(breaks)) violations.set(breaks, [...traceTo(state), label])
    }
  }
  return { states: states.count, transitions, depth, isComplete: state === states.count, violations }
}
