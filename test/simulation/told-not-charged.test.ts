/** What the simulation forgives a call that said "not charged" for a payment that landed; and what it does not. */
import { expect, it } from 'vitest'
import { toldNotCharged } from '../../proof/simulation/invariants/at-the-end.js'
import { Truth } from '../../proof/simulation/world/truth.js'
import type { World } from '../../proof/simulation/world/world.js'
import type { EndedCall } from '../../src/ports/call-observer.js'

const ledger = { landed: () => ({}) } as unknown as World['ledger']

interface Story {
  /** When the store made the record that the first call gave up on. */
  readonly appliedMs?: number
  /** How the call that took the record over ended; absent where its process died. */
  readonly taker?: EndedCall['final']
  readonly takenMs?: number
  readonly settledMs?: number
  readonly path?: string
  readonly isReleased?: true
}

/** Call `first` gives up on its record at 20 and says "not charged". Call `second` takes the record over. */
function violationsOf({
  appliedMs = 10,
  taker,
  takenMs = 30,
  settledMs = 31,
  path,
  isReleased,
}: Story): number {
  const truth = new Truth(
    () => 40,
    () => {},
    () => {},
    () => {},
  )
  const txId = 'payment'
  const told = { id: 'first', path: [path ?? 'recording.storeDown'], final: 'unavailable' }
  truth.calls.push({ ...told, code: 'store_unavailable', txId } as unknown as EndedCall)
  truth.endedMs.set('first', 20)
  truth.holds.push({ call: 'first', txId, from: 'seller0.1', atMs: 5 })
  truth.records.push({ call: 'first', txId, atMs: 9, stillMs: () => 0, appliedMs })
  if (isReleased) truth.released.add('first')
  truth.holds.push({ call: 'second', txId, from: 'seller0.2', atMs: takenMs })
  truth.settlesSent.push({ txId, from: 'seller0.2', atMs: settledMs })
  if (taker) truth.calls.push({ id: 'second', path: [], final: taker, txId } as unknown as EndedCall)
  toldNotCharged({ truth, ledger })
  return truth.violations.length
}

it.each([
  ['got the answer', 'replayed'],
  ['heard that the answer was not kept', 'answerNotKept'],
  ['heard that nobody knows yet', 'undecided'],
  ['was cut off by the death of its process', undefined],
] as const)('forgives it where a later request brought the payment again, and %s', (_, taker) => {
  expect(violationsOf({ ...(taker && { taker }) })).toBe(0)
})

it('forgives it where the server stopped before the store answered the release', () => {
  expect(violationsOf({ taker: 'replayed', path: 'recording.stopped' })).toBe(0)
})

it.each<[string, Story]>([
  ['the later request was told "not charged", too', { taker: 'paymentInUse' }],
  ['somebody settled before the payment was brought again', { taker: 'replayed', settledMs: 29 }],
  ['the record was taken over before it was made', { taker: 'replayed', takenMs: 9 }],
  ['the record was made after its call had spoken', { taker: 'replayed', appliedMs: 21 }],
  ['its record was released', { taker: 'replayed', path: 'recording.stopped', isReleased: true }],
  ['it had sent its own payment to be settled', { taker: 'replayed', path: 'settling.refused' }],
])('does not forgive it where %s', (_, story) => {
  expect(violationsOf(story)).toBe(1)
})
