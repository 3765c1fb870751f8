/** What an audit finds where one call's word stands against another's, and of which period. `reconcile.drawn.test.ts` plants every kind. */
import { describe, expect, it } from 'vitest'
import { type JournalPiece, pieceOf } from '../../src/audit/journal/journal-reader.js'
import type { Difference } from '../../src/audit/reconciliation/audit-findings.js'
import type { IncomingTransfers, Transfer } from '../../src/audit/reconciliation/incoming-transfers.js'
import {
  type ReconciliationOptions,
  reconcileJournal,
} from '../../src/audit/reconciliation/reconciliation-report.js'
import { reportsCharge } from '../../src/domain/income-bookings.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import { heapBytes } from '../support/heap-bytes.js'
import {
  AMOUNT,
  ASSET,
  callOf,
  callOn,
  HEADER,
  PAY_TO,
  PAYER,
  recoveredPath,
  STARTED_MS,
  settledPath,
  WAYS,
} from './calls.js'

const DAY = { fromMs: STARTED_MS - 3_600_000, toMs: STARTED_MS + 3_600_000 }

/** One of every way through the machine. */
const everyWay = Array.from({ length: WAYS }, (_, number) => callOf(number))

function transferOf({ txId, startedMs }: EndedCall, other: Partial<Transfer> = {}): Transfer {
  const landedMs = Math.floor(startedMs / 1_000) * 1_000
  return {
    txId: txId!,
    payer: PAYER,
    receiver: PAY_TO,
    asset: ASSET,
    amount: BigInt(AMOUNT),
    landedMs,
    ...other,
  }
}

const transfersOf = (runs: readonly EndedCall[]) => runs.filter(reportsCharge).map(run => transferOf(run))

/** A chain that lists what has landed for us, and knows the rest when it is asked by id. */
function chainOf(landed: readonly Transfer[]): IncomingTransfers {
  return {
    async *to(payTo, asset, { fromMs, toMs }) {
      const ours = landed.filter(each => each.receiver === payTo && each.asset === asset)
      yield ours.filter(({ landedMs }) => landedMs > fromMs && landedMs < toMs)
    },
    find: async txId => landed.find(each => each.txId === txId),
    close: async () => {},
  }
}

function audited(
  runs: readonly EndedCall[],
  landed: readonly Transfer[] = transfersOf(runs),
  options: Partial<ReconciliationOptions> = {},
) {
  const piece: JournalPiece = {
    headers: [HEADER],
    runs,
    lost: 0,
    unreadable: 0,
    streams: [],
    counts: [],
    flaws: [],
  }
  return reconcileJournal({
    journal: async function* () {
      yield piece
    },
    transfers: () => chainOf(landed),
    period: DAY,
    ...options,
  })
}

const found = ({ differences }: { differences: readonly Difference[] }) =>
  differences.map(({ finding, run, txId }) => [finding, run ?? txId])

describe('an audit', () => {
  it('finds nothing where everything agrees, on every way through the machine', async () => {
    const report = await audited(everyWay)
    expect(report).toMatchObject({ runs: WAYS, paths: WAYS, differences: [], more: false })
    expect(report.days).toEqual([
      expect.objectContaining({ day: '2026-01-02', endpoint: 'even' }),
      expect.objectContaining({ day: '2026-01-02', endpoint: 'odd' }),
    ])
    const landed = transfersOf(everyWay)
    expect(landed.length).toBeGreaterThan(everyWay.filter(({ charged }) => charged === 'yes').length)
    expect(report.days.reduce((sum, { charged }) => sum + charged, 0)).toBe(landed.length)
    expect(report.days.reduce((sum, { takenBaseUnits }) => sum + takenBaseUnits, 0n)).toBe(
      landed.reduce((sum, { amount }) => sum + amount, 0n),
    )
  })

  const [first, second, ...others] = everyWay.filter(({ charged }) => charged === 'yes')
  const charged = [first!, second!, ...others]
  const without = (run: EndedCall) => transfersOf(charged).filter(({ txId }) => txId !== run.txId)
  const [doubtful] = everyWay.filter(({ final }) => final === 'inDoubt')
  const recovered = callOn(recoveredPath, 'replayed', 902)
  /** It got as far as recording, and was told that nothing was charged. */
  const denied = {
    ...everyWay.find(({ final, path }) => final === 'unsettled' && path.includes('recording.recorded'))!,
    txId: 'N'.repeat(52),
  }
  const refused = { ...everyWay.find(({ path }) => path.at(-1) === 'verifying.refused')!, txId: denied.txId }
  const expired = { ...everyWay.find(({ path }) => path.at(-1) === 'delivering.expired')!, txId: denied.txId }
  const undecided = { ...everyWay.find(({ final }) => final === 'undecided')!, txId: 'U'.repeat(52) }
  const hourBefore = { landedMs: STARTED_MS - 3_000_000 }
  const spent = { ...everyWay.find(({ path }) => path.at(-1) === 'opening.spent')!, txId: 'P'.repeat(52) }
  const yielded = {
    ...everyWay.find(({ path }) => path.includes('settling.elsewhere'))!,
    txId: 'Y'.repeat(52),
  }
  const doubt = { ...doubtful!, txId: 'D'.repeat(52) }
  const turnedAway = everyWay.find(({ path }) => path[0] === 'received.draining')!

  const planted: [string, () => ReturnType<typeof audited>, [string, string][]][] = [
    [
      'no call that was turned away before it could charge: anybody can present the transfer of another purchase',
      () => audited([...charged, refused, expired], [...transfersOf(charged), transferOf(denied)]),
      [['unexplained_transaction', denied.txId]],
    ],
    ...[denied, doubt, yielded].map((run): [string, () => ReturnType<typeof audited>, [string, string][]] => [
      `no call that ended ${run.final}, where the transfer had landed before it began`,
      () => audited([...charged, run], [...transfersOf(charged), transferOf(run, hourBefore)]),
      [['unexplained_transaction', run.txId]],
    ]),
    [
      'a call in doubt about the record of an earlier one, whose payment had landed before',
      () => audited([...charged, undecided], [...transfersOf(charged), transferOf(undecided, hourBefore)]),
      [['settled_in_doubt', undecided.id]],
    ],
    [
      'nothing of a call that was taken over: it says nothing about the charge',
      () =>
        audited(
          [...charged, { ...denied, status: 409, code: 'superseded' }],
          [...transfersOf(charged), transferOf(denied)],
        ),
      [['unexplained_transaction', denied.txId!]],
    ],
    [
      'nothing: a call that was told "not charged", and brought its payment again',
      () =>
        audited(
          [...charged, { ...denied, txId: second!.txId, startedMs: second!.startedMs - 5_000 }],
          transfersOf(charged),
        ),
      [],
    ],
    [
      'a call in doubt, though the same payment was turned away at the door later',
      () =>
        audited(
          [...charged, doubt, { ...turnedAway, txId: doubt.txId, startedMs: doubt.startedMs + 60_000 }],
          [...transfersOf(charged), transferOf(doubt)],
        ),
      [['settled_in_doubt', doubt.id]],
    ],
    [
      'a call in doubt, though the same payment had failed to buy an answer before',
      () =>
        audited(
          [...charged, doubt, { ...denied, txId: doubt.txId, startedMs: doubt.startedMs - 60_000 }],
          [...transfersOf(charged), transferOf(doubt)],
        ),
      [['settled_in_doubt', doubt.id]],
    ],
    [
      'a transaction of which runs only say that it is spent',
      () => audited([...charged, spent], [...transfersOf(charged), transferOf(spent)]),
      [['unexplained_transaction', spent.txId!]],
    ],
  ]
  it.each(planted)('finds %s', async (_, auditing, expected) => {
    expect(found(await auditing())).toEqual(expected)
  })

  const forged: [string, Partial<EndedCall>][] = [
    ['begins elsewhere', { path: settledPath.slice(1) }],
    ['leaves a step out', { path: settledPath.toSpliced(3, 1) }],
    ['takes an event that is not listed', { path: [...settledPath.slice(0, -1), 'settling.granted'] }],
    ['stops half-way', { path: settledPath.slice(0, 4) }],
    ['goes on after its end', { path: [...settledPath, 'settled.again'] }],
    ['ends in another state than the run', { final: 'unsettled' }],
    ['means another charge than the run', { charged: 'no' }],
    ['is no text', { path: [1, null] as unknown as string[] }],
  ]
  it.each(forged)('finds a path that %s', async (_, forgery) => {
    const run = { ...callOn(settledPath, 'settled', 1), ...forgery }
    const report = await audited([run], [transferOf(run)])
    expect(report.differences.map(({ finding }) => finding)).toContain('illegal_path')
  })

  it('counts a call in doubt until the chain has decided its payment, or the payment is too old to land', async () => {
    const endedMs = doubt.startedMs + doubt.ms
    const doubtsIn = async (landed: readonly Transfer[], nowMs: number, run: EndedCall = doubt) => {
      const runs = [...charged, run]
      const report = await audited(runs, [...transfersOf(charged), ...landed], { nowMs: () => nowMs })
      return [report.days.reduce((sum, { inDoubt }) => sum + inDoubt, 0), report.decidedByMs]
    }
    // A thousand rounds of four seconds, and ten minutes for clocks.
    const decidedMs = endedMs + 4_600_000
    expect(await doubtsIn([], endedMs + 60_000)).toEqual([1, decidedMs])
    expect(await doubtsIn([], decidedMs - 1, { ...doubt, txId: undefined })).toEqual([1, decidedMs])
    expect(await doubtsIn([], decidedMs)).toEqual([0, undefined])
    expect(await doubtsIn([transferOf(doubt)], endedMs + 60_000)).toEqual([0, undefined])
  })

  it('looks at a period: what lies outside is neither counted nor missed', async () => {
    const dayMs = 86_400_000
    const yesterday = { ...first!, startedMs: first!.startedMs - dayMs }
    const midnightMs = Math.floor(second!.startedMs / 1_000) * 1_000
    // Asked before the period and landed in it, and the other way round.
    const before = { ...others[0]!, startedMs: midnightMs - 1_500 }
    const report = await audited(
      [yesterday, before, second!],
      [transferOf(before, { landedMs: midnightMs }), transferOf(second!)],
      { period: { fromMs: midnightMs, toMs: midnightMs + dayMs } },
    )
    expect(report).toMatchObject({ runs: 1, differences: [] })
  })

  it('without a period goes on to a minute ago: a tail that was cut off shows, and calls at work are left alone', async () => {
    const last = charged.at(-1)!
    const at = (nowMs: number) =>
      audited(charged.slice(0, -1), transfersOf(charged), { period: undefined, nowMs: () => nowMs })
    const hourLater = await at(last.startedMs + 3_600_000)
    expect(found(hourLater)).toEqual([['unexplained_transaction', last.txId]])
    expect(hourLater.period.toMs).toBe(last.startedMs + 3_540_000)
    expect(found(await at(last.startedMs + 59_000))).toEqual([])
  })

  it('without a period begins when the journal was begun: first lines that were cut off show', async () => {
    const head = { ...HEADER, openedMs: first!.startedMs - 1_000 }
    const options = (header: typeof HEADER) => ({
      period: undefined,
      nowMs: () => charged.at(-1)!.startedMs + 3_600_000,
      journal: async function* () {
        yield {
          headers: [header],
          runs: charged.slice(1),
          lost: 0,
          unreadable: 0,
          streams: [],
          counts: [],
          flaws: [],
        }
      },
    })
    const report = await audited(charged, transfersOf(charged), options(head))
    expect(found(report)).toEqual([['unexplained_transaction', first!.txId]])
  })

  it('names what callers were told wrongly before all else', async () => {
    const report = await audited([...charged, denied], [...without(first!), transferOf(denied)])
    expect(found(report)).toEqual([
      ['told_not_charged', denied.id],
      ['missing_transaction', first!.id],
    ])
  })

  it('books a payment once, whichever runs report it, and in whichever order', async () => {
    const slow = { ...recovered, txId: second!.txId, startedMs: second!.startedMs }
    for (const runs of [
      [slow, ...charged],
      [...charged, slow],
    ]) {
      const booked: string[] = []
      const report = await audited(runs, transfersOf(charged), { onBooked: ({ txId }) => booked.push(txId!) })
      expect(report.differences).toEqual([])
      expect(booked.toSorted()).toEqual(charged.map(({ txId }) => txId).toSorted())
      expect(report.days.reduce((sum, { takenBaseUnits }) => sum + takenBaseUnits, 0n)).toBe(
        transfersOf(charged).reduce((sum, { amount }) => sum + amount, 0n),
      )
    }
  })

  it('finds a payment that was booked in another month than it landed in, in either month', async () => {
    const dayMs = 86_400_000
    const moved = { ...second!, startedMs: second!.startedMs + 40 * dayMs }
    const runs = [first!, moved, ...others]
    const landed = transfersOf(charged)
    const month = (fromMs: number) => ({ period: { fromMs, toMs: fromMs + 30 * dayMs } })
    expect(found(await audited(runs, landed, month(STARTED_MS - dayMs)))).toEqual([['wrong_time', moved.id]])
    expect(found(await audited(runs, landed, month(moved.startedMs - dayMs)))).toEqual([
      ['wrong_time', moved.id],
    ])
  })

  it('of a period without a run finds what landed in it', async () => {
    expect(found(await audited([], transfersOf([first!])))).toEqual([
      ['unexplained_transaction', first!.txId],
    ])
  })

  it('names many differences, and says where there are more', async () => {
    const many = Array.from({ length: 1_500 }, (_, number) => callOn(settledPath, 'settled', number))
    const report = await audited(many, [])
    expect(report.more).toBe(true)
    expect(report.differences).toHaveLength(1_000)
  })

  it('fails where the chain does not answer, where nothing is in the journal, and where two are mixed', async () => {
    const silent: IncomingTransfers = {
      ...chainOf([]),
      // biome-ignore lint/correctness/useYield: it fails before its first page
      async *to() {
        throw new Error('no answer')
      },
    }
    await expect(audited(charged, [], { transfers: () => silent })).rejects.toThrow('no answer')
    await expect(audited([])).rejects.toMatchObject({ code: 'empty_journal' })
    const mixed: JournalPiece = {
      headers: [HEADER, { ...HEADER, payTo: PAYER }],
      runs: charged,
      lost: 0,
      unreadable: 0,
      streams: [],
      counts: [],
      flaws: [],
    }
    const journal = async function* () {
      yield mixed
    }
    await expect(audited(charged, [], { journal })).rejects.toMatchObject({ code: 'mixed_journal' })
  })
})

describe('a hundred thousand runs', () => {
  const RUNS = 100_000
  const LOOKS_EACH = 10_000
  const AT_ONCE = 2_000

  it('take no more memory than a thousand', async () => {
    const run = callOn(settledPath, 'settled', 0)
    const txIdAt = (number: number) => String(number).padStart(52, '0')
    const template = JSON.stringify({ ...run, txId: txIdAt(0) })
    const numbersFrom = (from: number) => Array.from({ length: AT_ONCE }, (_, at) => txIdAt(from + at))
    let heapMax = 0
    const journal = async function* () {
      yield { ...pieceOf(''), headers: [HEADER] }
      for (let from = 0; from < RUNS; from += AT_ONCE) {
        if (from % LOOKS_EACH === 0) heapMax = Math.max(heapMax, heapBytes())
        yield pieceOf(
          numbersFrom(from)
            .map(txId => template.replace(txIdAt(0), txId))
            .join('\n'),
        )
      }
    }
    const transfers = (): IncomingTransfers => ({
      ...chainOf([]),
      async *to() {
        for (let from = 0; from < RUNS; from += AT_ONCE)
          yield numbersFrom(from).map(txId => transferOf({ ...run, txId }))
      },
    })
    const heapBefore = heapBytes()
    const startedMs = performance.now()
    const report = await reconcileJournal({ journal, transfers, period: DAY })
    const tookMs = performance.now() - startedMs
    const grewMB = (heapMax - heapBefore) / 1024 / 1024
    console.log(`${RUNS} runs: ${Math.round(tookMs)} ms, ${Math.round(grewMB)} MB of heap`)
    expect(report).toMatchObject({ runs: RUNS, differences: [], more: false })
    expect(grewMB).toBeLessThan(6)
  }, 120_000)
})
