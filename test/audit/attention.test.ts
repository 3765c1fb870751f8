/** What the overview says needs its seller, today against yesterday, and the calls that are shown, as CSV. */
import { expect, it } from 'vitest'
import { needsOf } from '../../src/audit/page/browser/attention.js'
import { Runs } from '../../src/audit/page/browser/run-collection.js'
import { csvOf } from '../../src/audit/page/browser/shown-csv.js'
import { incomeByDay } from '../../src/audit/page/browser/statistics.js'
import type { RunView } from '../../src/audit/page/page-events.js'

const NOW_MS = new Date(2026, 0, 2, 12).getTime()
const HOUR_MS = 3_600_000
const run = (other: Partial<RunView>): RunView => ({
  ...{ number: 0, id: '', traceId: '', endpoint: 'work', final: 'settled', status: 200, code: 'settled' },
  ...{ charged: 'yes', startedMs: NOW_MS - 60_000, ms: 1, path: [], timingsMs: [] },
  ...other,
})
const failed = run({ charged: 'no', final: 'failed', status: 500, code: 'failed' })
const counted = (runs: readonly RunView[]) =>
  needsOf(runs, NOW_MS).map(each => [each.what, each.runs?.length])

it('names what needs a hand, the gravest first, and nothing where nothing does', () => {
  const doubt = run({ charged: 'maybe', final: 'inDoubt', status: 503 })
  const lost = run({ charged: 'no', final: 'unavailable', status: 503, code: 'facilitator_unavailable' })
  expect(needsOf([run({}), failed, run({ charged: 'maybe', landed: false })], NOW_MS)).toEqual([])
  const all = [
    ...[run({ streamBroken: true, brokenBy: 'seller' }), run({ streamBroken: true, brokenBy: 'caller' })],
    ...[doubt, { ...doubt, landed: true }, run({ mismatch: 'payer' })],
    ...[lost, { ...lost, startedMs: NOW_MS - 2 * HOUR_MS }],
  ]
  expect(counted(all)).toEqual([
    ['Payments that landed after their calls ended in doubt', 1],
    ['Paid streams that broke on your side', 1],
    ['Payments in doubt', 1],
    ['Calls of the last hour without a facilitator that answers', 1],
    ['Settlements that differ from their payments', 1],
  ])
})

it('calls an endpoint failing by its latest calls, and what callers did wrong is none of them', () => {
  const refused = run({ charged: 'no', final: 'invalid', status: 400 })
  const other = run({ endpoint: 'other' })
  expect(counted([failed, failed, refused, refused])).toEqual([])
  expect(counted([failed, other, run({}), failed, other, other])).toEqual([
    ['Failures among the latest 3 calls of work', 2],
  ])
  expect(counted([...Array(20).fill(failed), ...Array(10).fill(run({}))])).toEqual([])
})

it('adds up today and yesterday by the midnight of the reader, each payment once', () => {
  const paid = (hoursAgo: number, amount: string) =>
    run({ isBooked: true, amount, startedMs: NOW_MS - hoursAgo * HOUR_MS })
  const all = [paid(1, '1'), paid(11.9, '2'), paid(12.1, '10'), paid(35.9, '20'), paid(36.1, '100')]
  expect(incomeByDay([...all, run({ amount: '1000' })], NOW_MS)).toEqual({ today: 3n, yesterday: 30n })
})

it('finds calls by parts of their names, quotes too, and leaves out a wallet of one’s own', () => {
  const runs = new Runs()
  const quote = run({ id: 'q', final: 'quoted', status: 402, charged: 'no' })
  runs.add([
    run({ id: 'a', payer: 'MINE', txId: 'TXA' }),
    run({ id: 'b', payer: 'THEIRS', txId: 'TXB' }),
    quote,
  ])
  const base = { endpoint: '', final: '', charged: '', periodMs: 0, quotes: false }
  const shown = (search: string) => {
    runs.filter({ ...base, search })
    return runs.shown.map(({ id }) => id)
  }
  expect(shown('')).toEqual(['a', 'b'])
  expect(shown(' txb ')).toEqual(['b'])
  expect(shown('-mine')).toEqual(['b'])
  expect(shown('tx -mine')).toEqual(['b'])
  expect(shown('-')).toEqual(['a', 'b'])
  expect(shown('q')).toEqual(['q'])
  expect(shown('.*')).toEqual([])
})

it('writes rows that no spreadsheet runs', () => {
  const [head, row] = csvOf([run({ id: '1', payer: '=HYPERLINK("http://x")', amount: '1234000000' })]).split(
    '\r\n',
  )
  expect(head).toBe('time,endpoint,status,outcome,charged,usd,transaction,payer,call,ms')
  expect(row).toMatch(
    /^2026-01-02T[\d:.]+Z,work,200,settled,yes,1234\.00,,"'=HYPERLINK\(""http:\/\/x""\)",1,1$/,
  )
})
