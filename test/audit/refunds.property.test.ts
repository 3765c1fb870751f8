/**
 * Random histories of runs and transfers: the list of refunds holds what is owed, and nothing else. Each history is made of payments
 * whose stories are known, so that what is owed is known without the code under test.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { EndedStream, JournalRun } from '../../src/audit/journal/line-format.js'
import type { Transfer } from '../../src/audit/reconciliation/incoming-transfers.js'
import { type OwedReason, owedRefunds } from '../../src/audit/reconciliation/owed-refunds.js'
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import {
  AMOUNT,
  ASSET,
  callOf,
  callOn,
  HEADER,
  PAY_TO,
  PAYER,
  pathEndingIn,
  pathTo,
  recoveredPath,
  replayedPath,
  STARTED_MS,
  settledPath,
  txIdOf,
  WAYS,
} from './calls.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW_MS = STARTED_MS + 3 * DAY_MS

interface Line {
  readonly run: JournalRun
  /** How its stream ended, in a line after it; absent where it has no such line. */
  readonly end?: Pick<EndedStream, 'brokenBy'>
}
interface Story {
  readonly name: string
  readonly lines: readonly Line[]
  /** Whether the payment landed, and how long after the first run began. */
  readonly landedAfterMs?: number
  readonly owed?: OwedReason
  readonly mayBeKept?: OwedReason
}

const toReleased = pathTo('unsettled', [...settledPath.slice(0, -1), 'settling.refused'])
const elsewherePath = pathTo('paymentSpent', [...settledPath.slice(0, -1), 'settling.elsewhere'])
const afterMs = { landedAfterMs: 3_000 }
const on = (path: readonly string[], final: ChargeFinal, more: Partial<JournalRun> = {}): Line => ({
  run: { ...callOn(path, final), ...more },
})
const settled = on(settledPath, 'settled')
const streaming = (brokenBy?: 'caller' | 'seller', more: Partial<JournalRun> = {}): Line => ({
  ...on(settledPath, 'settled', { streaming: true, ...more }),
  end: { brokenBy },
})
const doubt = on(pathTo('inDoubt', []), 'inDoubt')
const denied = on(toReleased, 'unsettled')
const found = on(recoveredPath, 'replayed')
const replayed = on(replayedPath, 'replayed')
const notKept = on(pathEndingIn('recovering.notKept'), 'answerNotKept')
const window = { windowEndsMs: NOW_MS + DAY_MS }

const STORIES: readonly Story[] = [
  { name: 'paid and answered', lines: [settled], ...afterMs },
  { name: 'told not charged, and so it is', lines: [denied] },
  { name: 'told not charged, and it landed', lines: [denied], ...afterMs, owed: 'told_not_charged' },
  { name: 'told not charged, and brought again', lines: [denied, settled], ...afterMs },
  { name: 'in doubt, and never landed', lines: [doubt] },
  { name: 'in doubt, and it landed', lines: [doubt], ...afterMs, owed: 'settled_in_doubt' },
  { name: 'in doubt, and answered later', lines: [doubt, found, replayed], ...afterMs },
  { name: 'in doubt, and not kept', lines: [doubt, notKept], ...afterMs, owed: 'answer_not_kept' },
  {
    name: 'answered elsewhere, nobody knows where',
    lines: [on(elsewherePath, 'paymentSpent')],
    ...afterMs,
    owed: 'answered_elsewhere',
  },
  { name: 'answered elsewhere', lines: [on(elsewherePath, 'paymentSpent'), settled], ...afterMs },
  { name: 'a whole stream', lines: [streaming()], ...afterMs },
  { name: 'a stream that the seller broke', lines: [streaming('seller')], ...afterMs, owed: 'stream_broken' },
  { name: 'a stream that died', lines: [{ run: streaming().run }], ...afterMs, owed: 'stream_broken' },
  {
    name: 'a stream that is leaving',
    lines: [{ run: { ...streaming().run, startedMs: NOW_MS - HOUR_MS } }],
    ...afterMs,
  },
  { name: 'a stream that was replayed', lines: [streaming('seller'), replayed], ...afterMs },
  {
    name: 'a stream that its caller broke',
    lines: [streaming('caller')],
    ...afterMs,
    mayBeKept: 'stream_left',
  },
  {
    name: 'the broken first stream of a window',
    lines: [streaming('seller', window)],
    ...afterMs,
    mayBeKept: 'window_sold',
  },
  { name: 'a transfer that no run knows', lines: [], landedAfterMs: 0 },
]

/** What strangers do with a payment that they have seen: it changes nothing of what is owed. */
const turnedAway = Array.from({ length: WAYS }, (_, number) => callOf(number)).filter(
  ({ path, charged }) => charged === 'no' && !path.some(step => step.startsWith('recording.')),
)
const gotFar: readonly Line[] = [denied, doubt, on(elsewherePath, 'paymentSpent')]

interface Told {
  readonly story: Story
  readonly atMs: number
  readonly strangers: readonly { readonly way: number; readonly laterMs: number }[]
  /** Runs that got as far as recording, an hour and more after the transfer had landed: a facilitator that verifies anything. */
  readonly late: readonly number[]
}
const told: fc.Arbitrary<Told> = fc.record({
  story: fc.constantFrom(...STORIES),
  atMs: fc.integer({ min: 0, max: DAY_MS }),
  strangers: fc.array(
    fc.record({ way: fc.nat(turnedAway.length - 1), laterMs: fc.integer({ min: -HOUR_MS, max: DAY_MS }) }),
    { maxLength: 3 },
  ),
  late: fc.array(fc.nat(gotFar.length - 1), { maxLength: 2 }),
})

function historyOf(all: readonly Told[]) {
  let id = 0
  const runs: JournalRun[] = []
  const streams: EndedStream[] = []
  const chain: Transfer[] = []
  const expected: { readonly owed: string[]; readonly mayBeKept: string[] } = { owed: [], mayBeKept: [] }
  for (const [number, { story, atMs, strangers, late }] of all.entries()) {
    const txId = txIdOf(number)
    const beganMs = STARTED_MS + atMs
    const write = ({ run, end }: Line, startedMs: number) => {
      const isNow = run.startedMs > STARTED_MS + DAY_MS
      const own = { ...run, id: `run-${id++}`, txId, startedMs: isNow ? run.startedMs : startedMs }
      runs.push(own)
      if (end) streams.push({ stream: own.id, txId, ...end })
    }
    for (const [at, line] of story.lines.entries()) write(line, beganMs + at * 60_000)
    for (const { way, laterMs } of strangers) write({ run: turnedAway[way]! }, beganMs + laterMs)
    const first = runs.find(run => run.txId === txId && story.lines.length > 0)
    const landedMs = (first?.startedMs ?? beganMs) + (story.landedAfterMs ?? 0)
    if (story.landedAfterMs === undefined) continue
    chain.push({ txId, payer: PAYER, receiver: PAY_TO, asset: ASSET, amount: BigInt(AMOUNT), landedMs })
    for (const far of late) write(gotFar[far]!, landedMs + HOUR_MS)
    if (story.owed) expected.owed.push(`${story.owed} ${txId}`)
    if (story.mayBeKept) expected.mayBeKept.push(`${story.mayBeKept} ${txId}`)
  }
  return { runs, streams, chain, expected }
}

it('holds what is owed and nothing else, whatever strangers present, in one journal and in two', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(told, { minLength: 1, maxLength: 12 }), fc.nat(), async (all, cut) => {
      const { runs, streams, chain, expected } = historyOf(all)
      // Without any run there is nothing to audit.
      const whole = [{ ...callOn(settledPath, 'settled', 999), id: 'first' }, ...runs]
      const at = cut % whole.length
      const piece = { headers: [HEADER], counts: [], lost: 0, unreadable: 0, flaws: [] }
      const landed = [...chain, { ...chain[0], ...transferOf(999) }]
      const books = await owedRefunds({
        async *journal() {
          yield { ...piece, runs: whole.slice(0, at), streams: [] }
          yield { ...piece, runs: whole.slice(at), streams }
        },
        transfers: () => ({
          async *to(receiver, asset, { fromMs, toMs }) {
            yield landed
              .filter(each => each.receiver === receiver && each.asset === asset)
              .filter(({ landedMs }) => landedMs >= fromMs && landedMs < toMs)
          },
          find: async txId => landed.find(each => each.txId === txId),
          close: async () => {},
        }),
        period: { fromMs: STARTED_MS - DAY_MS, toMs: NOW_MS + DAY_MS },
        nowMs: () => NOW_MS,
        clock: { now: () => NOW_MS },
      })
      const texts = (list: typeof books.refunds) => list.map(({ reason, txId }) => `${reason} ${txId}`)
      expect(texts(books.refunds).toSorted()).toEqual(expected.owed.toSorted())
      expect(texts(books.mayBeKept).toSorted()).toEqual(expected.mayBeKept.toSorted())
    }),
    { numRuns: 200 },
  )
})

function transferOf(number: number): Transfer {
  const landedMs = STARTED_MS + number * 1_000
  return {
    txId: txIdOf(number),
    payer: PAYER,
    receiver: PAY_TO,
    asset: ASSET,
    amount: BigInt(AMOUNT),
    landedMs,
  }
}
