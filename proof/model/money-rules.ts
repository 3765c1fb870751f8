/** What section "Store moves" of the design promises callers, as checks of what calls do and are told. */
import * as transition from '../../src/domain/charge-store/transition.js'
import { argumentsOf, broken } from './store-moves.js'
import { HOME, type Moment, NOW_MS, ownName, type World } from './world.js'

/** A payment goes to the facilitator. */
export function checkSent(moment: Moment, index: number, txId: string): void {
  const { key } = moment.world.plan.calls[index]!
  if (key === undefined) return
  for (const other of paymentsOfKey(moment, key)) {
    if (other === txId) continue
    const { isPending, hasLanded, isPast } = moment.fate(other)
    const mayLand = !hasLanded && !isPast
    if (mayLand && (isPending || isAtWork(moment, key, other)))
      broken('no second charge for a key while the first is undecided')
  }
}

const SETTLING = ['settling', 'reconciling', 'releasing']

function isAtWork(moment: Moment, key: string, txId: string): boolean {
  return moment.world.plan.calls.some(
    (plan, index) => plan.key === key && plan.payment === txId && SETTLING.includes(moment.call(index).at),
  )
}

/** The payments that were sent under a key. */
function paymentsOfKey(moment: Moment, key: string): readonly string[] {
  const bits = bitsOf(moment.world, key)
  return moment.world.txIds.filter(txId => (moment.fate(txId).sentBy & bits) !== 0)
}

function bitsOf({ plan }: World, key: string): number {
  return plan.calls.reduce((bits, call, index) => (call.key === key ? bits | (1 << index) : bits), 0)
}

function bitOf({ keys }: World, key: string | undefined): number {
  return key === undefined ? 0 : 1 << keys.indexOf(key)
}

/** A call's own answer leaves, after its payment was settled. */
export function checkDelivered(moment: Moment, index: number): void {
  const txId = moment.world.plan.calls[index]!.payment!
  const { hasLanded, isDelivered, answerOf } = moment.fate(txId)
  if (!hasLanded) broken('no answer leaves before its payment has landed')
  if (isDelivered) broken('a payment is answered by a fresh run at most once')
  if (answerOf !== undefined && answerOf !== index) broken('all answers for a payment are the same')
  moment.setFate(txId, { isDelivered: true, answerOf: index })
}

/** A kept answer leaves. */
export function checkReplayed(moment: Moment, index: number, run: number): void {
  const { calls } = moment.world.plan
  const [asked, ran] = [calls[index]!, calls[run]!]
  if ((asked.body ?? '') !== (ran.body ?? '')) broken('a key with another body gets no answer')
  if (asked.bearerFrom !== undefined && asked.bearerFrom !== (ran.bearerFrom ?? HOME))
    broken('nothing that is kept opens for a stranger')
  if (asked.key !== ran.key && asked.payment !== ran.payment)
    broken('an answer goes to its own key or its own payment')
  if (ran.payment === undefined) return
  const { hasLanded, answerOf } = moment.fate(ran.payment)
  if (!hasLanded) broken('no answer leaves before its payment has landed')
  if (answerOf !== undefined && answerOf !== run) broken('all answers for a payment are the same')
  moment.setFate(ran.payment, { answerOf: run })
}

/** A call that held its payment says that it charged nothing. */
export function checkNotCharged(moment: Moment, index: number): void {
  const { payment } = moment.world.plan.calls[index]!
  if (payment === undefined) return
  const { isPending, hasLanded } = moment.fate(payment)
  if (isPending || hasLanded) broken('"not charged" is never said of what has landed or may land')
}

/** At every moment. */
export function checkCharges(moment: Moment): void {
  const { keys, plan } = moment.world
  const { lostAnswers } = moment.spare
  for (const [at, key] of keys.entries()) {
    const landed = paymentsOfKey(moment, key).filter(txId => moment.fate(txId).hasLanded)
    const isLost = plan.mode === 'release' && (lostAnswers & (1 << at)) !== 0
    if (landed.length > (isLost ? 2 : 1))
      broken('a key is charged once, but for an answer that was seen lost')
  }
}

/** When nobody is at work any more: what was paid for can be had, and nobody waits for ever. */
export function checkPromises(moment: Moment): void {
  const { plan, names } = moment.world
  const later = moment.copy()
  for (const name of names) {
    const claim = later.claim('', name)
    if (claim) later.setClaim({ ...claim, leaseEndsMs: NOW_MS })
  }
  for (const [index, { key, payment }] of plan.calls.entries()) {
    if (payment === undefined) continue
    const { hasLanded, sentBy, isPast, answerOf } = moment.fate(payment)
    const isSent = (sentBy & (1 << index)) !== 0
    const isLost = (moment.spare.lostAnswers & bitOf(moment.world, key)) !== 0
    // An answer that nobody had is kept as long as its payment's record.
    const isOver = isLost && moment.payment(payment)?.state !== 'spent'
    if (hasLanded && isSent && !isOver) checkKept(later, index, payment, answerOf)
    else if (isPast && !hasLanded) checkFree(later, index)
  }
}

/** The caller asks again, and proves that it is the payer. */
function checkKept(later: Moment, index: number, payment: string, answerOf: number | undefined): void {
  const { isBearer: _, ...asked } = { isBearer: true, ...argumentsOf(later, { kind: 'open', call: index }) }
  const again = { ...asked, token: 'later', leaseMs: 1 }
  const byKey = transition.open(later, again, NOW_MS).verdict
  // The payment alone names its answer too, where it lost its key.
  const byPayment = { ...again, claim: { ...again.claim!, name: ownName(payment) } }
  const opened =
    byKey.verdict === 'replayable' || byKey.verdict === 'orphaned'
      ? byKey
      : transition.open(later, byPayment, NOW_MS).verdict
  const answer =
    opened.verdict === 'replayable'
      ? opened.answer
      : opened.verdict === 'orphaned' && opened.recorded.payment?.txId === payment
        ? opened.recorded.answer
        : undefined
  if (answer === undefined) broken('an answer that was paid for can be had by asking again')
  const run = answer[0]!
  const isItsOwn = later.world.plan.calls[run]!.payment === payment
  if (!isItsOwn || (answerOf !== undefined && run !== answerOf))
    broken('all answers for a payment are the same')
}

/** The payment can never land: its key is not locked. */
function checkFree(later: Moment, index: number): void {
  const asked = argumentsOf(later, { kind: 'open', call: index }) as Parameters<typeof transition.open>[1]
  const { verdict } = transition.open(later, { ...asked, token: 'later', payment: 'new' }, NOW_MS)
    .verdict as {
    verdict: string
  }
  if (verdict === 'inProgress' || verdict === 'inUse') broken('a key does not stay locked for ever')
}
