/** How a call ends: what it closes, what it says, and what it does afterwards. What each final state closes is read from the drawing. */
import { type ChargeFinal, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { checkDelivered, checkNotCharged, checkReplayed } from './money-rules.js'
import type { Steps } from './steps.js'
import { type Moment, NOW_MS } from './world.js'

/** A final state that has nothing to close ends the call at once. */
export function end(after: Moment, index: number, final: ChargeFinal): void {
  const { closing, charged } = OUTCOMES[final]
  const { isHolding, recorded } = after.call(index)
  if (charged === 'earlier' && recorded) checkReplayed(after, index, recorded.answerOf)
  if (closing === 'keep') keep(after, index)
  if (closing === 'release' && !isHolding) {
    if (final === 'unsettled') checkNotCharged(after, index)
    after.endCall(index, after.call(index))
  }
}

/** Who ends in doubt asks the chain about it later: about its own payment, or about the one that it took over. */
function keep(after: Moment, index: number): void {
  const { isHolding, recorded, pending } = after.call(index)
  if (pending !== undefined || !(isHolding || recorded?.payment)) {
    after.endCall(index, { pending })
    return
  }
  const { late } = after.call(index)
  after.endCall(index, { late })
  after.setCall(index, { at: 'inDoubt', isHolding, recorded: isHolding ? undefined : recorded })
}

/** The answer of a call that was charged, or that a window covers, is handed to the socket. What it holds is closed afterwards. */
export function answer(steps: Steps, index: number): void {
  const { plan, keys } = steps.from.world
  const { key, payment } = plan.calls[index]!
  const { isGone } = steps.from.call(index)
  steps.add(`call ${index}: ${isGone ? 'nobody is there for its answer' : 'its answer leaves'}`, after => {
    if (payment !== undefined && !isGone) checkDelivered(after, index)
    const isForfeit = isGone && plan.mode === 'release' && key !== undefined
    if (isForfeit) {
      const { spare } = after
      after.spare = { ...spare, lostAnswers: spare.lostAnswers | (1 << keys.indexOf(key)) }
    }
    after.setCall(index, { at: 'close', how: isForfeit ? 'forfeit' : 'complete' })
  })
}

export function close(steps: Steps, index: number): void {
  const how = steps.from.call(index).how!
  steps.move(
    { kind: 'close', call: index, how },
    after => after.endCall(index),
    after => after.endCall(index, { pending: how }),
  )
}

/** These ends name the payment and what became of it, instead of "not charged". */
const SAYS_NOTHING_OF_IT: readonly ChargeFinal[] = ['superseded', 'paymentSpent']

/** A call that charged nothing gives back what it holds, and says so where it still held it. */
export function release(steps: Steps, index: number, final: ChargeFinal): void {
  const { pending } = steps.from.call(index)
  const says = (after: Moment, isTaken: boolean) => {
    if (!isTaken && !SAYS_NOTHING_OF_IT.includes(final)) checkNotCharged(after, index)
    after.endCall(index, after.call(index))
  }
  const isTaken = mayBeTaken(steps.from, index)
  // The store was silent when it was asked to record: it is asked to release in the background.
  if (pending !== undefined) {
    steps.add(`call ${index}: ends`, after => says(after, isTaken))
    return
  }
  steps.move(
    { kind: 'close', call: index, how: 'release' },
    (after, { verdict }) => says(after, verdict !== 'closed'),
    after => {
      after.setCall(index, { pending: 'release' })
      says(after, isTaken)
    },
  )
}

/** What the process knows by its own clock: a lease of what it held has ended. */
function mayBeTaken(moment: Moment, index: number): boolean {
  const { claim, payment, slot, token } = moment.world.holds[index]!
  const halves = [claim && [moment.claim(slot, claim.name)], payment && [moment.payment(payment)]]
  return halves.some(half => half && !(half[0]?.token === token && half[0].leaseEndsMs > NOW_MS))
}

export function askLater(steps: Steps, index: number): void {
  const { isHolding, recorded } = steps.from.call(index)
  const txId = isHolding ? steps.from.world.plan.calls[index]!.payment! : recorded!.payment!
  const { hasLanded, isPast } = steps.from.fate(txId)
  if (hasLanded || !isPast) return
  steps.move(
    { kind: 'resolve', call: index, txId, verdict: 'dead', isLater: true },
    after => after.endCall(index),
    () => {},
  )
}

export function hangUp(after: Moment, index: number): void {
  const { spare } = after
  after.spare = { ...spare, hangUps: spare.hangUps - 1 }
  after.setCall(index, { isGone: true })
}
