/** The numbers of the overview: what is income, what is a success, what a percentile is, and where a plot's spans begin. */
import { describe, expect, it } from 'vitest'
import {
  percentile,
  spansOf,
  stageReader,
  successRate,
  summed,
  sumsOf,
} from '../../src/audit/page/browser/statistics.js'
import type { RunView } from '../../src/audit/page/page-events.js'

const run = (other: Partial<RunView>): RunView => ({
  ...{ number: 0, id: '', traceId: '', endpoint: 'work', final: 'settled', status: 200, code: '' },
  ...{ charged: 'yes', startedMs: 0, ms: 1, path: [], timingsMs: [] },
  ...other,
})
const booked = (amount: string, payer?: string) => run({ isBooked: true, amount, payer })

describe('the numbers of the overview', () => {
  it('count a payment once, by its endpoint and its payer, to the last base unit', () => {
    const { income, payments, incomeOf } = sumsOf([
      booked('9007199254740993', 'A'),
      booked('1', 'B'),
      booked('1'),
      // It settled the payment that another run has booked.
      run({ amount: '1', payer: 'B' }),
    ])
    expect({ income, payments }).toEqual({ income: 9007199254740995n, payments: 3 })
    expect([...incomeOf.payer]).toEqual([
      ['A', 9007199254740993n],
      ['B', 1n],
      ['unknown', 1n],
    ])
    expect([...incomeOf.endpoint]).toEqual([['work', 9007199254740995n]])
  })

  it('call a success what was answered, and leave out what callers did wrong', () => {
    const no = { charged: 'no' } as const
    const { results } = sumsOf([
      run({}),
      run({ charged: 'earlier', final: 'replayed' }),
      run({ ...no, final: 'served' }),
      run({ ...no, final: 'failed', status: 500 }),
      run({ charged: 'maybe', final: 'inDoubt', status: 503 }),
      run({ ...no, final: 'invalid', status: 400 }),
      run({ ...no, final: 'quoted', status: 402 }),
    ])
    expect(results).toEqual({ charged: 1, answered: 2, inDoubt: 1, failed: 1, refused: 1, quoted: 1 })
    expect(successRate(results)).toBe(0.6)
    expect(successRate(sumsOf([]).results)).toBeUndefined()
  })

  it('name the value that a share of the calls does not exceed', () => {
    const values = Float64Array.from({ length: 100 }, (_, at) => at + 1)
    expect([0.5, 0.95, 0.99, 1].map(share => percentile(values, share))).toEqual([50, 95, 99, 100])
    expect(percentile(Float64Array.of(7), 0.5)).toBe(7)
  })

  it('count the whole time until a payment is certain as settling', () => {
    const steps = ['verifying.verified', 'settling.unknown', 'reconciling.found']
    const slow = run({ path: [0, 1, 2], timingsMs: [5, 20, 300] })
    expect(stageReader(steps, 'settle')(slow)).toBe(320)
    expect(stageReader(steps, 'handler')(slow)).toBeUndefined()
  })

  it('lose no call at the edges of a plot, however long it is', () => {
    for (const lastedMs of [0, 1, 59_999, 3_600_000, 86_400_000 * 3, 86_400_000 * 4_000]) {
      const fromMs = Date.UTC(2026, 2, 1, 12, 34, 56)
      const spans = spansOf(fromMs, fromMs + lastedMs, 60)
      expect(spans.beginsMs.length).toBeLessThanOrEqual(60)
      expect(spans.beginsMs[0]).toBeLessThanOrEqual(fromMs)
      expect(spans.beginsMs.at(-1)! + spans.widthMs).toBeGreaterThan(fromMs + lastedMs)
      const edges = [fromMs, fromMs + lastedMs].map(startedMs => run({ startedMs }))
      const counts = summed(spans, edges, () => 1)
      expect(counts[0]! + (counts.length > 1 ? counts.at(-1)! : 0)).toBe(2)
    }
  })
})
