/** What happens to calls and records without anybody's doing: time, the chain, processes that die, callers that go. */
import type { Claim, Payment } from '../../src/domain/charge-store/records.js'
import { hangUp } from './ends.js'
import type { Steps } from './steps.js'
import { broken, make } from './store-moves.js'
import { type Moment, NOW_MS, PAYMENT_TTL_MS, tokenOf, UNRECORDED_MAX_MS } from './world.js'

/**
 * One move gives a call all that it holds, under one lease, and one renewal renews all of it: so one moment ends all of it. `renew`
 * and `open` would not be atomic if it did not.
 */
export function stepsOfTime(steps: Steps): void {
  const { from } = steps
  for (const { token } of from.world.holds) {
    const held = heldBy(from, token)
    if (held.some(isLeased)) {
      steps.add(`the lease of ${token} ends`, (after, did) => {
        did({ kind: 'lapse', token })
        for (const record of held) keep(after, { ...record, leaseEndsMs: NOW_MS })
      })
      continue
    }
    const unrecorded = lapsedOf(from, token)
    if (unrecorded.length > 0)
      steps.add(`what ${token} held is forgotten`, (after, did) => {
        did({ kind: 'forget', token })
        for (const record of unrecorded) forget(after, record)
      })
  }
  for (const txId of from.world.txIds) {
    const payment = from.payment(txId)
    if (
      payment &&
      UNRECORDED_MAX_MS < payment.expiresAtMs &&
      payment.expiresAtMs <= PAYMENT_TTL_MS &&
      from.fate(txId).isPast
    )
      steps.add(`${txId} is forgotten`, (after, did) => {
        did({ kind: 'forget', txId })
        forget(after, payment)
      })
  }
}

/** What a call that stopped has left and never recorded: time forgets it. */
export function lapsedOf(moment: Moment, token: string): readonly (Claim | Payment)[] {
  return heldBy(moment, token).filter(record => !isLeased(record) && record.expiresAtMs <= UNRECORDED_MAX_MS)
}

/** What a lease has a say in: no completed key, and no spent payment. */
export function heldBy(moment: Moment, token: string): readonly (Claim | Payment)[] {
  const { names, txIds } = moment.world
  const all = [...names.map(name => moment.claim('', name)), ...txIds.map(txId => moment.payment(txId))]
  return all.filter(
    record => record?.token === token && record.state !== 'completed' && record.state !== 'spent',
  ) as (Claim | Payment)[]
}

export const isLeased = ({ leaseEndsMs }: Claim | Payment) => leaseEndsMs > NOW_MS

function keep(after: Moment, record: Claim | Payment): void {
  if ('txId' in record) after.setPayment(record)
  else after.setClaim(record)
}

function forget(after: Moment, record: Claim | Payment): void {
  if ('txId' in record) after.setPayment({ ...record, state: 'free' })
  else after.setClaim({ ...record, state: 'absent' })
}

export function stepsOfChain(steps: Steps): void {
  for (const txId of steps.from.world.txIds) {
    const { isPending, isPast } = steps.from.fate(txId)
    if (isPending)
      steps.add(`${txId} lands`, after => after.setFate(txId, { isPending: false, hasLanded: true }))
    if (!isPast)
      steps.add(`the last round of ${txId} passes`, after =>
        after.setFate(txId, { isPending: false, isPast: true }),
      )
  }
}

/** Where a hang-up makes a difference. One that comes sooner is noticed there. */
const NOTICES_HANG_UP = ['delivering', 'serving', 'recording', 'settled', 'served']

export function stepsAround(steps: Steps, index: number, first: string): void {
  const { from } = steps
  const { at, isGone, isHolding, recorded, pending, late } = from.call(index)
  const { crashes, hangUps } = from.spare
  if (pending) {
    const move = { kind: 'close', call: index, how: pending } as const
    for (const isLast of [true, false])
      steps.add(
        `call ${index}: its ${pending} arrives${isLast ? '' : ', and is on its way again'}`,
        (after, did) => {
          did({ kind: 'move', move, answered: make(after, move) })
          if (isLast) after.setCall(index, { pending: undefined })
        },
      )
  }
  if (late) {
    const move = { kind: late, call: index } as const
    steps.add(`call ${index}: its ${late} arrives after its deadline`, (after, did) => {
      const answered = make(after, move)
      did({ kind: 'move', move, answered })
      after.setCall(index, { late: undefined })
      if (answered.verdict === 'recorded') broken('a record that its call has given up is not made later')
    })
  }
  const isAtWork = at !== 'ended' && at !== 'inDoubt' && at !== first
  if (crashes > 0 && (isAtWork || pending))
    steps.add(`call ${index}: its process dies`, after => {
      after.spare = { ...after.spare, crashes: crashes - 1 }
      after.endCall(index)
    })
  if (hangUps > 0 && !isGone && NOTICES_HANG_UP.includes(at))
    steps.add(`call ${index}: its caller hangs up`, after => hangUp(after, index))
  if (isAtWork && at !== 'close' && (isHolding || recorded) && hasLapsed(steps, index)) {
    const move = { kind: 'renew', call: index, ...(!isHolding && { isKeyAlone: true }) } as const
    steps.add(`call ${index}: renew`, (after, did) =>
      did({ kind: 'move', move, answered: make(after, move) }),
    )
  }
}

/** Else there is nothing that a renewal changes. */
function hasLapsed({ from }: Steps, index: number): boolean {
  return heldBy(from, tokenOf(index)).some(record => !isLeased(record))
}
