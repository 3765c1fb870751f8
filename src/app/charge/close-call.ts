/** The end of a call: applies what its final state says to all that it holds: claim, payment, credit, a window's call. */
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { Closed, CloseMove } from '../../ports/charge-store.js'
import { closeMove, isUnrecorded, untilAnswered } from './build-close-move.js'
import type { Call } from './call-at-work.js'
import type { ChargeDeps, InFlight } from './charge-deps.js'
import { countNow } from './effects/count.js'
import { settleCredit } from './effects/credit.js'
import { recordMove } from './effects/record.js'
import { mayBeTaken } from './effects/settle.js'
import { discardStream, isFreeStream, sendStream, wholeStream } from './stream-to-caller.js'
import { countWindowCall, dropWindow, endWindowCall, storeWindow } from './subscription-windows.js'

/**
 * Waits for a release, because the answer says "not charged" only once the payment is free again. Sends a completion
 * without waiting: after a settlement, a store's error never withholds an answer. The completion counts as in flight
 * until the store was asked once, so a server that stops still asks. Returns `superseded` where another call may hold
 * the key or the payment by now, and nothing where there is nothing to wait for.
 */
export function closeCall(
  deps: ChargeDeps,
  call: Call,
  final: ChargeFinal,
  inFlight: InFlight,
): Promise<'superseded' | undefined> | undefined {
  const { closing } = OUTCOMES[final]
  const { held } = call.holds
  const holds = held || call.window.sold !== undefined || call.window.used?.isCounted === true
  settleCredit(deps, call, final)
  const keeps = lostAnswers(deps, call)
  if (closing === 'complete' && call.handled.source === undefined)
    countWindowCall(deps, call, inFlight, held === true && keeps === 'replay')
  if (call.handled.source !== undefined) {
    if (closing === 'complete') return closeAfterStream(deps, call, inFlight)
    if (closing === 'keep' && held) return keepAfterStream(deps, call, inFlight)
    discardStream(call)
  }
  if (closing === 'release' && holds) return releaseAll(deps, call)
  if (closing === 'keep' || !held) {
    if (closing === 'keep') passOn(deps, call)
    else dropLease(deps, call)
    return undefined
  }
  // Not when the response has ended: a caller that is gone without a word can hold its connection for many minutes, and with it a
  // renewed lease, behind which no retry gets the recorded answer.
  const dropsNow = keeps === 'release' || !isUnrecorded(call)
  if (dropsNow) dropLease(deps, call)
  const finish = (how: CloseMove['how']) =>
    void (dropsNow ? close : closeAndDrop)(deps, call, how).finally(inFlight.leave)
  inFlight.enter()
  // The specification says: an answer that its caller never received frees the claim, and a retry may be charged
  // again. With `replay`, the store keeps whatever was charged for.
  if (keeps === 'release') call.request.caller.onEnd(arrived => finish(arrived ? 'complete' : 'forfeit'))
  else finish(keeps === undefined ? 'forfeit' : 'complete')
  return undefined
}

/**
 * What happens to an answer that does not arrive. With a key, its mode says so; without one (`payment`), the answer is kept for the
 * payer of its payment. `undefined`: it is not kept.
 */
function lostAnswers({ rules }: ChargeDeps, call: Call): 'release' | 'replay' | 'payment' | undefined {
  if (call.request.task !== undefined || call.balance !== undefined) return 'replay'
  if (call.holds.key !== undefined) return rules.idempotency?.onLostResponse
  return call.payment.read !== undefined && rules.keepAnswersMs > 0 ? 'payment' : undefined
}

/** While its stream leaves, the call keeps what it holds, and its leases: callers with its key are told that it is in progress. */
function closeAfterStream(deps: ChargeDeps, call: Call, inFlight: InFlight): undefined {
  const lost = lostAnswers(deps, call)
  inFlight.enter()
  const sent = sendStream(deps, call, lost === undefined ? 0 : deps.rules.answerBytesMax)
  const closed = sent
    .then(async ({ brokenBy, bytes }) => {
      if (bytes !== undefined) {
        call.handled.source = undefined
        call.handled.answer = { ...call.handled.answer!, stream: undefined, body: bytes }
      }
      const isKept = lost === 'release' ? brokenBy === undefined : lost !== undefined
      const isFree = isFreeStream(call, brokenBy)
      if (isFree && call.balance) call.balance.charged = 0
      await endWindowCall(deps, call, brokenBy === 'seller' ? 'giveBack' : 'use')
      if (call.balance && !isFree && (await countNow(deps, call)) === 'unknown') return
      if (call.holds.held)
        await closeAndDrop(deps, call, isFree ? 'release' : isKept ? 'complete' : 'forfeit')
      else dropLease(deps, call)
    })
    .catch(cause => {
      deps.logger.error({ err: cause, txId: call.payment.txId }, 'a call was not closed after its stream')
      dropLease(deps, call)
    })
  // What it took of a balance is told when the store has said so.
  call.handled.streamEnd = call.balance === undefined ? sent : closed.then(() => sent)
  void Promise.all([closed, call.handled.streamEnd]).then(inFlight.leave)
}

/**
 * Nobody knows yet whether this call was charged. The caller knows this and will ask again. The server reads the stream now, to
 * have the answer then. Until the store has it the call keeps its leases, and callers with its key are told that it is in
 * progress.
 */
function keepAfterStream(deps: ChargeDeps, call: Call, inFlight: InFlight): undefined {
  inFlight.enter()
  recordStream(deps, call)
    .catch(cause => {
      deps.logger.warn(
        { err: cause, txId: call.payment.txId, endpoint: call.endpoint.def.name },
        'the stream of a call in doubt was not kept; if the call was charged, its caller gets no answer',
      )
      return endWindowCall(deps, call, 'giveBack')
    })
    .finally(() => {
      passOn(deps, call)
      inFlight.leave()
    })
}

/** The next call with the key need not wait. If none comes, the record ends when the chain has proved that nothing is owed. */
function passOn({ upkeep: { leases, inDoubt } }: ChargeDeps, call: Call): void {
  const { owned, held } = call.holds
  if (owned === undefined) return
  leases.pass(owned.hold.token)
  // A call that took over an earlier call's claim, and could not decide its payment, holds that claim alone.
  const payment = held ? call.payment.read : call.earlier.recorded?.payment
  if (payment !== undefined) inDoubt.add(owned.hold, payment)
}

/** @throws Error where the stream broke, another call took this one over, or the server stops while the store is down */
async function recordStream(deps: ChargeDeps, call: Call): Promise<void> {
  call.handled.answer = await wholeStream(deps, call, deps.rules.answerBytesMax)
  call.handled.source = undefined
  const move = recordMove(deps, call)
  const onFailed = (err: unknown) =>
    deps.logger.warn({ err, txId: call.payment.txId }, 'a stream was not recorded; the store is asked again')
  if ((await untilAnswered(deps, () => deps.store.record(move), onFailed)) === 'recorded')
    return endWindowCall(deps, call, 'use')
  throw new Error('another call took this one over')
}

/**
 * A call that was taken over is superseded, however it ended: it charged nothing, but its successor may have charged.
 * (A process was suspended while it verified. It then answered 402 with a new quote and "you were not charged" for a
 * payment that another process had settled meanwhile.) If the store does not answer, a lease that may have lapsed
 * counts as lapsed.
 */
async function releaseAll(deps: ChargeDeps, call: Call): Promise<'superseded' | undefined> {
  const [given] = await Promise.all([giveBack(deps, call), endWindowCall(deps, call, 'giveBack')])
  // Asked now: the process may have stood still while it waited for the store.
  const isOurs = given === 'released' || (given === 'storeDown' && !mayBeTaken(deps, call))
  dropLease(deps, call)
  return isOurs ? undefined : 'superseded'
}

/**
 * Gives back what the call holds, and drops the window that it was selling. Returns `released` where all of it was
 * still this call's own. A call that took it over may owe the recorded answer and the window's key in it. The effect of
 * `releasing` and `yielding`, too: after settling began, "not charged" is true only of a payment that this call still holds.
 */
export async function giveBack(deps: ChargeDeps, call: Call) {
  if (call.holds.held === 'unknown') {
    deps.upkeep.pendingCloses.add({ how: 'release', retentionMs: 0, ...call.holds.owned!.hold })
    return 'storeDown'
  }
  const closed = call.holds.held ? await close(deps, call, 'release') : 'closed'
  call.holds.held = false
  if (closed === undefined) return 'storeDown'
  if (closed === 'superseded') return closed
  if (call.window.sold !== undefined) await dropWindow(deps, call.window.sold)
  call.window.sold = undefined
  return 'released'
}

/**
 * The close may carry the only copy of the answer: while it waits for the store, the lease stays, and callers with the key are told
 * that the call is in progress.
 */
async function closeAndDrop(deps: ChargeDeps, call: Call, how: CloseMove['how']): Promise<void> {
  if ((await close(deps, call, how)) !== undefined) dropLease(deps, call)
}

function dropLease({ upkeep: { leases } }: ChargeDeps, { holds: { owned } }: Call): void {
  if (owned !== undefined) leases.drop(owned.hold.token)
}

/** `undefined` where the store does not answer what it did. */
async function close(deps: ChargeDeps, call: Call, how: CloseMove['how']): Promise<Closed | undefined> {
  const move = closeMove(deps, call, how)
  const about = { how, txId: call.payment.txId }
  let closed: Closed | undefined
  try {
    closed = await deps.store.close(move)
  } catch (err) {
    deps.logger.error({ ...about, err }, 'the charge store did not close; it is asked again')
    deps.upkeep.pendingCloses.add(move)
  }
  const { sold } = call.window
  if (how === 'release' || closed === 'closed' || sold === undefined) return closed
  // The store may have lost what it recorded, and the window that was paid for with it. Where that is there, this changes nothing.
  const onFailed = (err: unknown) => deps.logger.warn({ ...about, err }, 'a sold window was not stored again')
  const untilMs = deps.clock.monotonic() + deps.rules.timeouts.certaintyMs
  await untilAnswered(deps, () => storeWindow(deps, call, sold), onFailed, untilMs).catch(() => {})
  return closed
}
