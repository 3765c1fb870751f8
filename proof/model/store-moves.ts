/** The five moves of the charge store: the product's own decision over the packed records, and what must hold of each of them. */

import type { Hold, OpenMove } from '../../src/domain/charge-store/moves.js'
import type { Claim, Decision, Payment } from '../../src/domain/charge-store/records.js'
import * as transition from '../../src/domain/charge-store/transition.js'
import {
  CLAIM_TTL_MS,
  HOME,
  LEASE_MS,
  type Moment,
  NOW_MS,
  ownName,
  PAYMENT_TTL_MS,
  RETENTION_MS,
  tokenOf,
  type World,
} from './world.js'

/** What a call asks, in a form that a store can be asked as well. */
export type StoreMove =
  | { readonly kind: 'open' | 'record'; readonly call: number }
  /** A call that took another's key over holds that alone. */
  | { readonly kind: 'renew'; readonly call: number; readonly isKeyAlone?: boolean }
  | { readonly kind: 'close'; readonly call: number; readonly how: 'complete' | 'forfeit' | 'release' }
  | {
      readonly kind: 'resolve'
      readonly call: number
      readonly txId: string
      readonly verdict: 'found' | 'dead'
      /** For a payment in doubt, after its call: the call presents no payment then. */
      readonly isLater?: boolean
    }

export interface Answered {
  readonly verdict: string
  /** Of `replayable` and `orphaned`: the call whose run's answer it is, and the recorded payment. */
  readonly answerOf?: number
  readonly payment?: string
}

/** A rule that a step breaks. */
export class Broken extends Error {}

/** The rule that a check finds broken; `undefined` where it finds none. */
export function ruleBrokenBy(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (cause) {
    if (cause instanceof Broken) return cause.message
    throw cause
  }
}

export function broken(rule: string): never {
  throw new Broken(rule)
}

/** Every argument of a move, as the product's effects give it. */
export function argumentsOf(moment: Moment, move: StoreMove) {
  const { world } = moment
  const { payment, bearerFrom, key } = world.plan.calls[move.call]!
  const hold = world.holds[move.call]!
  switch (move.kind) {
    case 'open':
      return {
        ...{ ...hold, leaseMs: LEASE_MS },
        ...(bearerFrom !== undefined && { isBearer: true }),
        caller: bearerFrom ?? HOME,
        ...(key !== undefined && payment !== undefined && { answerName: ownName(payment) }),
      } satisfies OpenMove
    case 'record':
      return {
        ...hold,
        recorded: { answer: answerOf(move.call), payment: { txId: payment!, firstValid: 1n, lastValid: 2n } },
        ...{ leaseMs: LEASE_MS, paymentTtlMs: PAYMENT_TTL_MS, claimTtlMs: CLAIM_TTL_MS },
      }
    case 'renew':
      return { ...hold, ...(move.isKeyAlone && { payment: undefined }) }
    case 'close': {
      const { how } = move
      return {
        ...{ ...hold, how, retentionMs: RETENTION_MS },
        ...(how === 'forfeit' && payment !== undefined && { answerName: ownName(payment) }),
        // A window covered it: nothing was recorded.
        ...(how === 'complete' && payment === undefined && { answer: answerOf(move.call) }),
      }
    }
    case 'resolve': {
      const { txId, verdict, isLater } = move
      const held = isLater ? { ...hold, payment: undefined } : hold
      return { ...held, txId, verdict, retentionMs: RETENTION_MS, leaseMs: LEASE_MS }
    }
  }
}

const ANSWERS = [0, 1, 2, 3].map(call => Uint8Array.of(call))
const answerOf = (call: number) => ANSWERS[call]!

interface Made {
  readonly row: Uint16Array
  readonly answered: Answered
  readonly breaks: string | undefined
}

/** What each move did to each set of records: few are different. */
const MADE = new WeakMap<World, Map<string, Made>>()

/** Makes a move, and keeps what it leaves. @throws Broken */
export function make(moment: Moment, move: StoreMove): Answered {
  const { world, row } = moment
  const known = MADE.get(world) ?? new Map<string, Made>()
  MADE.set(world, known)
  const seen = row.subarray(0, world.seenByStore)
  const text = `${Object.values(move).join()} ${seen.join()}`
  let made = known.get(text)
  if (made === undefined) {
    const after = moment.copy()
    const { answered, breaks } = attempt(after, move)
    made = { row: after.row.slice(0, world.seenByStore), answered, breaks }
    known.set(text, made)
  }
  if (made.breaks !== undefined) broken(made.breaks)
  row.set(made.row)
  return made.answered
}

function attempt(after: Moment, move: StoreMove): Omit<Made, 'row'> {
  try {
    return { answered: makeAndCheck(after, move), breaks: undefined }
  } catch (cause) {
    if (cause instanceof Broken) return { answered: { verdict: '' }, breaks: cause.message }
    throw cause
  }
}

function makeAndCheck(moment: Moment, move: StoreMove): Answered {
  const before = moment.copy()
  const decision = decide(moment, move)
  const answered = answeredBy(decision.verdict)
  const changed = [...decision.claims, ...decision.payments]
  const { isMoneyAlone } = moment.world.plan
  if (!isMoneyAlone) checkFence(before, move, changed)
  if (!isMoneyAlone) checkWhole(before, move, answered, changed)
  for (const claim of decision.claims) moment.setClaim(claim)
  for (const payment of decision.payments) moment.setPayment(payment)
  if (!isMoneyAlone) checkChainAlone(before, moment)
  if (!isMoneyAlone) checkSentAgain(moment, move, answered)
  return answered
}

const { open, record, close, resolve } = transition
const renew = (moment: Moment, hold: Hold) => transition.renew(moment, hold, LEASE_MS, NOW_MS)
const DECIDES = { open, record, renew, close, resolve }

function decide(moment: Moment, move: StoreMove): Decision<unknown> {
  const args = argumentsOf(moment, move)
  try {
    return DECIDES[move.kind](moment, args as never, NOW_MS)
  } catch (cause) {
    return broken(`the decision throws: ${(cause as Error).message}`)
  }
}

interface VerdictOfOpen {
  readonly verdict: string
  readonly answer?: Uint8Array
  readonly recorded?: { readonly answer: Uint8Array; readonly payment?: { readonly txId: string } }
}

/** What the decision or a store says, in the model's words. */
export function answeredBy(verdict: unknown): Answered {
  if (typeof verdict !== 'object') return { verdict: String(verdict) }
  const { verdict: name, answer, recorded } = verdict as VerdictOfOpen
  if (recorded)
    return { verdict: name, answerOf: recorded.answer[0], payment: recorded.payment?.txId } as Answered
  return answer ? { verdict: name, answerOf: answer[0] } : { verdict: name }
}

function beforeOf(before: Moment, record: Claim | Payment): Claim | Payment | undefined {
  return 'txId' in record ? before.payment(record.txId) : before.claim(record.slot, record.name)
}

/** A move changes what its own token holds. Another call's record it takes only where no lease holds it, or the chain has decided. */
function checkFence(before: Moment, move: StoreMove, changed: readonly (Claim | Payment)[]): void {
  const token = tokenOf(move.call)
  // An answer that lost its key takes its payment's name from a call that stopped before it recorded.
  const isForfeit = move.kind === 'close' && move.how === 'forfeit'
  for (const record of changed) {
    const was = beforeOf(before, record)
    if (was === undefined || was.token === token) continue
    const isFree = was.leaseEndsMs <= NOW_MS
    if (move.kind === 'open' && isFree) continue
    if (isForfeit && isFree && !('txId' in was) && was.kept === undefined) continue
    const isDecided = move.kind === 'resolve' && 'txId' in was
    if (isDecided && (was.txId === move.txId || isFree)) continue
    broken('a move changes no record that another call holds')
  }
}

/** Both halves or none. */
function checkWhole(
  before: Moment,
  move: StoreMove,
  { verdict }: Answered,
  changed: readonly (Claim | Payment)[],
): void {
  const { claim, payment } = argumentsOf(before, move)
  const count = (claim ? 1 : 0) + (payment ? 1 : 0)
  const ours = changed.filter(record => record.token === tokenOf(move.call)).length
  const isWhole = {
    open: verdict === 'opened' ? ours === count : changed.length === (verdict === 'orphaned' ? 1 : 0),
    record: verdict === 'recorded' ? ours === count || isSame(before, changed) : changed.length === 0,
    renew: verdict === 'true' ? ours === count : changed.length === 0,
    close: true,
    resolve: verdict !== 'opened' || changed.length === 0 || ours > 0,
  }
  if (!isWhole[move.kind]) broken('a move takes both the key and the payment, or neither')
}

/** A record that is sent again may store its answer anew. */
function isSame(before: Moment, changed: readonly (Claim | Payment)[]): boolean {
  return changed.every(record => beforeOf(before, record)?.state === record.state)
}

/** A payment that may be on its way, or has landed and could be submitted again, is never free. */
function checkChainAlone(before: Moment, after: Moment): void {
  for (const txId of after.world.txIds) {
    const { isPending, hasLanded, isPast } = after.fate(txId)
    const was = before.payment(txId)?.state
    const is = after.payment(txId)?.state
    if (was === 'settling' && is !== 'settling' && is !== 'spent' && (isPending || hasLanded))
      broken('only the chain ends a payment that is settling')
    if (was === 'spent' && is !== 'spent' && !isPast)
      broken('a spent payment stays spent until its last round has passed')
  }
  for (const name of after.world.names) {
    const was = before.claim('', name)
    if (was?.state !== 'settling') continue
    const { isPending, hasLanded } = after.fate(was.kept!.payment!.txId)
    const is = after.claim('', name)
    if (is?.state === 'completed' && !hasLanded)
      broken('a key is completed only where its payment has landed')
    if (is?.state !== 'settling' && is?.state !== 'completed' && isPending)
      broken('only the chain ends a key that is settling')
  }
}

/** A token may send its move again: it hears the same, and changes nothing. */
function checkSentAgain(after: Moment, move: StoreMove, { verdict }: Answered): void {
  const again = after.copy()
  const decision = decide(again, move)
  for (const claim of decision.claims) again.setClaim(claim)
  for (const payment of decision.payments) again.setPayment(payment)
  const isSame = again.row.every((word, at) => word === after.row[at])
  const hears = answeredBy(decision.verdict).verdict
  // What was closed is not there any more. A key that a resolve gave back is free, and its caller comes again.
  const isGone = move.kind === 'close' || (move.kind === 'resolve' && verdict === 'spent')
  if (!isSame || (hears !== verdict && !isGone))
    broken('a move that is sent again changes and answers the same')
}
