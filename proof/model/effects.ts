/**
 * What a call does in each state of the charge machine, and what may happen to it there. Which state comes next is read from the
 * drawing's table: the explorer does not write the order again.
 */
import { type ChargeFinal, chargeTable, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { next } from '../../src/domain/state-machine/transition-table.js'
import { answer, askLater, close, end, hangUp, release } from './ends.js'
import { checkSent } from './money-rules.js'
import type { Steps } from './steps.js'
import { make } from './store-moves.js'
import type { Moment } from './world.js'

/** Effects that touch neither the store nor the money, and the answer by which the call goes on. */
const GOES_ON: Readonly<Record<string, string>> = {
  admit: 'admitted',
  validate: 'valid',
  price: 'presented',
  credit: 'credited',
}

/** The arrows of the drawing that were walked, as `state.event`. */
export const walked = new Set<string>()

export const FIRST = onwards(chargeTable.initial, { payment: 'any' })

/** Past the states in which nothing can happen that matters here. */
function onwards(state: string, plan: { readonly payment?: string }): string {
  const { effect } = chargeTable.rows[state as keyof typeof chargeTable.rows]
  const event =
    effect === 'entitle' ? (plan.payment === undefined ? 'covered' : 'uncovered') : GOES_ON[effect ?? '']
  if (event === undefined) return state
  walked.add(`${state}.${event}`)
  return onwards(next(chargeTable, state as never, event), plan)
}

function go(after: Moment, index: number, event: string): void {
  const { at } = after.call(index)
  walked.add(`${at}.${event}`)
  const to = onwards(next(chargeTable, at as never, event), after.world.plan.calls[index]!)
  after.setCall(index, { at: to })
  if (chargeTable.rows[to as ChargeFinal].final) end(after, index, to as ChargeFinal)
}

export function stepsOfCall(steps: Steps, index: number): void {
  const { at } = steps.from.call(index)
  if (at === 'ended') return
  if (at === 'inDoubt') askLater(steps, index)
  else if (at === 'close') close(steps, index)
  else stepsOfState(steps, index, at)
}

function stepsOfState(steps: Steps, index: number, at: string): void {
  const { effect } = chargeTable.rows[at as keyof typeof chargeTable.rows]
  if (effect !== null) EFFECTS[effect]!(steps, index)
  else if (OUTCOMES[at as ChargeFinal].closing === 'complete') answer(steps, index)
  else release(steps, index, at as ChargeFinal)
}

type Effect = (steps: Steps, index: number) => void

const EFFECTS: Readonly<Record<string, Effect>> = {
  open(steps, index) {
    steps.move(
      { kind: 'open', call: index },
      (after, { verdict, answerOf, payment }) => {
        if (verdict === 'opened') after.setCall(index, { isHolding: true })
        if (answerOf !== undefined) after.setCall(index, { recorded: { answerOf, payment } })
        // The node does not answer.
        go(after, index, verdict === 'unsure' ? 'storeDown' : verdict)
      },
      after => {
        after.setCall(index, { pending: 'release' })
        go(after, index, 'storeDown')
      },
    )
  },

  recover(steps, index) {
    const { landing, recorded } = steps.from.call(index)
    const txId = recorded!.payment!
    if (landing === undefined) return learn(steps, index, txId)
    steps.move(
      { kind: 'resolve', call: index, txId, verdict: landing },
      (after, { verdict }) => {
        if (verdict === 'opened')
          after.setCall(index, { isHolding: true, recorded: undefined, landing: undefined })
        const event = { completed: 'found', opened: 'absent' }[verdict] ?? verdict
        if (event !== 'found') after.setCall(index, { landing: undefined, recorded: undefined })
        go(after, index, event)
      },
      after => {
        after.setCall(index, { landing: undefined })
        go(after, index, landing === 'found' ? 'found' : 'storeDown')
      },
    )
  },

  /** A payment whose last round is near goes to no facilitator: the chain says whether it was spent before. */
  verify(steps, index) {
    const { isPast, hasLanded } = fateOf(steps, index)
    if (!isPast) steps.add(`call ${index}: verified`, after => go(after, index, 'verified'))
    const refusal = hasLanded ? 'spent' : isPast ? 'expiring' : 'refused'
    steps.add(`call ${index}: ${refusal}`, after => go(after, index, refusal))
  },

  deliver: handle,
  serve: handle,

  record(steps, index) {
    const { from } = steps
    if (from.call(index).isGone)
      return steps.add(`call ${index}: its caller is gone`, after => go(after, index, 'abandoned'))
    const isLate = fateOf(steps, index).isPast
    const lost = (after: Moment) => {
      after.setCall(index, { pending: 'release' })
      go(after, index, 'storeDown')
    }
    steps.move(
      { kind: 'record', call: index },
      (after, { verdict }) => go(after, index, verdict === 'recorded' && isLate ? 'expired' : verdict),
      lost,
    )
    if (from.spare.hangUps === 0) return
    steps.add(`call ${index}: record, and its caller hangs up`, (after, did) => {
      const move = { kind: 'record', call: index } as const
      const answered = make(after, move)
      did({ kind: 'move', move, answered })
      hangUp(after, index)
      go(after, index, answered.verdict === 'recorded' ? 'abandoned' : answered.verdict)
    })
  },

  settle(steps, index) {
    const { hasLanded, isPast } = fateOf(steps, index)
    submit(steps, index, (after, isSettled) => go(after, index, isSettled ? 'settled' : 'unknown'))
    if (!hasLanded) steps.add(`call ${index}: the facilitator says no`, after => go(after, index, 'refused'))
    if (hasLanded || isPast) steps.add(`call ${index}: no clear answer`, after => go(after, index, 'unknown'))
  },

  /** It sends the payment again and asks the chain: only the chain says no. */
  reconcile(steps, index) {
    submit(steps, index, (after, isSettled) => isSettled && go(after, index, 'found'))
    look(steps, index, steps.from.world.plan.calls[index]!.payment!, (after, landing) =>
      go(after, index, { found: 'found', dead: 'absent', unknown: 'unknown' }[landing]),
    )
  },

  /** Only a call that still holds its payment says "not charged". */
  release(steps, index) {
    steps.move(
      { kind: 'close', call: index, how: 'release' },
      (after, { verdict }) => {
        after.setCall(index, { isHolding: false })
        go(after, index, verdict === 'closed' ? 'released' : 'superseded')
      },
      after => {
        after.setCall(index, { isHolding: false, pending: 'release' })
        go(after, index, 'storeDown')
      },
    )
  },
}

function fateOf(steps: Steps, index: number) {
  return steps.from.fate(steps.from.world.plan.calls[index]!.payment!)
}

/** Of an earlier call's payment: it is settled again where this caller sent it again, and the chain is asked. */
function learn(steps: Steps, index: number, txId: string): void {
  if (steps.from.world.plan.calls[index]!.payment === txId)
    submit(steps, index, (after, isSettled) => isSettled && after.setCall(index, { landing: 'found' }))
  look(steps, index, txId, (after, landing) => {
    if (landing === 'unknown') go(after, index, 'undecided')
    else after.setCall(index, { landing })
  })
}

/** The facilitator is sent the payment. It says that it has settled it; or it says nothing, and the payment may land later. */
function submit(steps: Steps, index: number, then: (after: Moment, isSettled: boolean) => unknown): void {
  const txId = steps.from.world.plan.calls[index]!.payment!
  const { hasLanded, isPast, sentBy } = steps.from.fate(txId)
  const bit = 1 << index
  const sending = (after: Moment, isPending: boolean) => {
    after.setFate(txId, {
      sentBy: sentBy | bit,
      ...(isPending ? { isPending } : { isPending, hasLanded: true }),
    })
    checkSent(after, index, txId)
  }
  if (hasLanded || !isPast)
    steps.add(`call ${index}: ${txId} is settled`, after => {
      sending(after, false)
      then(after, true)
    })
  if (!hasLanded && !isPast)
    steps.add(`call ${index}: ${txId} is submitted, without an answer`, after => {
      sending(after, true)
      then(after, false)
    })
}

type Landing = 'found' | 'dead' | 'unknown'

/** The chain is asked. It may always say nothing. */
function look(
  steps: Steps,
  index: number,
  txId: string,
  then: (after: Moment, landing: Landing) => void,
): void {
  const { hasLanded, isPast } = steps.from.fate(txId)
  if (hasLanded) steps.add(`call ${index}: the chain has ${txId}`, after => then(after, 'found'))
  else if (isPast) steps.add(`call ${index}: the chain will never have ${txId}`, after => then(after, 'dead'))
  steps.add(`call ${index}: the chain does not say`, after => then(after, 'unknown'))
}

function handle(steps: Steps, index: number): void {
  if (steps.from.call(index).isGone) {
    steps.add(`call ${index}: its caller is gone`, after => go(after, index, 'abandoned'))
    return
  }
  steps.add(`call ${index}: its handler answers`, after => go(after, index, 'delivered'))
  steps.add(`call ${index}: its handler fails`, after => go(after, index, 'failed'))
}
