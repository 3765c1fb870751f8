/** The overview: what the shown calls earned, what became of them, and how long they took. */
import type { Hello, Outstanding, RunView, Totals } from '../page-events.js'
import { wordsOf } from '../step-words.js'
import { needsOf } from './attention.js'
import { type Bar, bars, plot, redrawn } from './charts.js'
import { button, byId, element, say } from './dom-elements.js'
import { count, dateAndMinute, duration, percent, shortened, span, TIME_ZONE, usd } from './number-format.js'
import type { Runs } from './run-collection.js'
import {
  incomeByDay,
  percentile,
  RESULTS,
  type Result,
  resultOf,
  STAGES,
  type Stage,
  type Sums,
  spansOf,
  stageReader,
  successRate,
  summed,
  sumsOf,
} from './statistics.js'

const LOOKS: Readonly<Record<Result, { readonly label: string; readonly color: string }>> = {
  charged: { label: 'charged', color: 'yes' },
  answered: { label: 'paid before', color: 'earlier' },
  inDoubt: { label: 'in doubt', color: 'maybe' },
  failed: { label: 'failed', color: 'bad' },
  refused: { label: 'refused', color: 'refused' },
  quoted: { label: 'quoted', color: 'quoted' },
}
const STAGE_NAMES = Object.keys(STAGES) as Stage[]
const SHARES = [0.5, 0.95, 0.99]
/** What fits beside a plot. */
const BARS_MAX = { income: 6, outcomes: 12 }
const SPANS_MAX = 60
const NEWEST_MAX = 6

export class Overview {
  constructor(
    readonly onChoose: (name: 'endpoint' | 'final' | 'payer', value: string) => void,
    readonly onOpen: (run: RunView) => void,
  ) {}

  show(all: Runs, { steps, machine }: Hello, { balances, walletLacks }: Totals): void {
    const { shown: runs, quotesHidden, span: chosen, partSinceMs } = all
    const sums = sumsOf(runs)
    this.#tiles(sums, runs, quotesHidden)
    this.#needs(all, walletLacks)
    this.#balances(balances)
    const { today, yesterday } = incomeByDay(all.all, all.nowMs)
    say('days', `today ${usd(today)}, yesterday ${usd(yesterday)}`)
    if (partSinceMs !== undefined) byId('income-note').append(` since ${dateAndMinute(partSinceMs)}`)
    if (runs.length === 0) return
    const startsMs = runs.map(({ startedMs }) => startedMs)
    const [fromMs, untilMs] = chosen ?? [least(startsMs), -least(startsMs.map(ms => -ms))]
    const spans = spansOf(fromMs, untilMs, SPANS_MAX)
    const booked = summed(spans, runs, run => (run.isBooked ? Number(run.amount) : 0))
    plot('income-plot', spans, [{ label: 'income', color: 'accent', values: booked }], {
      print: value => usd(BigInt(value)),
      emptyMax: 10_000,
      description: `Income over time: ${usd(sums.income)} together`,
    })
    const byResult = RESULTS.map(result => ({
      ...LOOKS[result],
      values: summed(spans, runs, run => Number(resultOf(run) === result)),
    }))
    const description = `Calls over time: ${this.#legend(sums)}`
    plot('calls-plot', spans, byResult, { print: count, emptyMax: 1, description })
    latencies(runs, steps)
    for (const id of ['income-span', 'calls-span']) say(id, `per ${span(spans.widthMs)} · ${TIME_ZONE}`)
    const { endpoint, payer } = sums.incomeOf
    bars('by-endpoint', money(endpoint), BARS_MAX.income, name => this.onChoose('endpoint', name))
    bars('by-payer', money(payer, shortened), BARS_MAX.income, name => this.onChoose('payer', name))
    this.#newest(runs)
    const finals = [...sums.finals].map(([final, value]) => {
      const { status, charged } = machine.rows[final]!.meta as Pick<RunView, 'status' | 'charged'>
      const { color } = LOOKS[resultOf({ final, status, charged })]
      return { name: final, value, text: count(value), label: `${status} ${wordsOf(final)}`, color }
    })
    bars('by-outcome', finals, BARS_MAX.outcomes, name => this.onChoose('final', name))
  }

  #tiles({ income, payments, calls, results }: Sums, runs: readonly RunView[], quotesHidden: number): void {
    say('income', usd(income))
    say('income-note', `${count(payments)} ${payments === 1 ? 'payment' : 'payments'}`)
    say('seen', count(calls))
    // The journal has no quotes and no failures of earlier processes, so neither share counts its charges.
    const now = sumsOf(runs.filter(({ number }) => number >= 0))
    const quotes = quotesHidden + results.quoted
    const paid = quotes === 0 ? '' : `, ${percent(Math.min(1, now.payments / quotes))} of quotes were paid`
    const earlier = calls - now.calls
    const journal = earlier === 0 ? '' : `; ${count(earlier)} are charges from the journal`
    say('seen-note', `${quotesHidden > 0 ? 'without' : 'with'} ${count(quotes)} quotes${paid}${journal}`)
    const rate = successRate(now.results)
    say('success', rate === undefined ? '–' : percent(rate))
    const { charged, answered, inDoubt, failed } = now.results
    const good = charged + answered
    say('success-note', `${count(good)} of ${count(good + inDoubt + failed)} that were yours to answer`)
    const times = Float64Array.from(runs, ({ ms }) => ms).sort()
    say('whole', times.length === 0 ? '–' : duration(percentile(times, 0.95)))
  }

  /** What the seller owes in work, and the balances that it owes the most. */
  #balances(balances: Outstanding | undefined): void {
    byId('owed-tile').hidden = balances === undefined
    byId('owed-card').hidden = !balances?.largest.length
    if (!balances) return
    const { count: all, sums, largest } = balances
    const [sold, used, expired, inDoubt] = [sums.sold, sums.used, sums.expired, sums.inDoubt].map(sum =>
      usd(BigInt(sum)),
    )
    say('owed', usd(BigInt(sums.unspent)))
    const doubt = sums.inDoubt === '0' ? '' : `, ${inDoubt} in doubt`
    say(
      'owed-note',
      `unspent of ${count(all)} ${all === 1 ? 'balance' : 'balances'}: ${sold} sold, ${used} used, ${expired} expired${doubt}`,
    )
    const rows = largest.map(({ balance, unspent, endsMs }) => ({
      name: balance,
      value: Number(unspent),
      text: usd(BigInt(unspent)),
      label: `${shortened(balance)}${endsMs === undefined ? '' : `, until ${dateAndMinute(endsMs)}`}`,
    }))
    bars('by-balance', rows, BARS_MAX.income, name => this.onChoose('payer', name))
  }

  /** Of everything that is kept: no filter hides what needs a hand. */
  #needs({ all, nowMs }: Runs, walletLacks: string | undefined): void {
    const needs = needsOf(all, nowMs, walletLacks)
    byId('needs').className = needs.length === 0 ? 'card broad none' : 'card broad maybe'
    const rows = needs.map(({ what, says, runs }) => {
      const last = runs?.at(-1)
      const number = runs && [': ', element('b', count(runs.length))]
      const text = element('span', what, ...(number ?? []), `. ${says}`)
      return element('li', text, last && plain('show the last', () => this.onOpen(last)))
    })
    const none = element('li.note', 'Nothing, as far as the calls that are kept tell.')
    redrawn('needs-rows', rows.length > 0 ? rows : [none])
  }

  #newest(runs: readonly RunView[]): void {
    const paid = runs.filter(({ isBooked }) => isBooked)
    const rows = paid.slice(-NEWEST_MAX).reverse()
    redrawn(
      'newest-rows',
      rows.map(run => {
        const { startedMs, endpoint, payer = 'unknown', amount = 0 } = run
        const shown = plain(`${endpoint} · ${shortened(payer)}`, () => this.onOpen(run))
        shown.classList.add('name')
        const when = element('span.note', dateAndMinute(startedMs))
        return element('li', shown, element('b', usd(BigInt(amount))), when)
      }),
    )
  }

  /** The legend of the plot of calls, with the numbers; says the same in words. */
  #legend({ results }: Sums): string {
    const present = RESULTS.filter(result => results[result] > 0)
    byId('calls-legend').replaceChildren(
      ...present.map(result => {
        const { label, color } = LOOKS[result]
        return element(`li.key.${color}`, `${label} `, element('b', count(results[result])))
      }),
    )
    return present.map(result => `${results[result]} ${LOOKS[result].label}`).join(', ')
  }
}

function latencies(runs: readonly RunView[], steps: readonly string[]): void {
  const rows = STAGE_NAMES.map(stage => {
    const read = stageReader(steps, stage)
    const sorted = Float64Array.from(runs.flatMap(run => read(run) ?? [])).sort()
    const name = element('th', stage)
    name.setAttribute('scope', 'row')
    const texts = SHARES.map(share => (sorted.length === 0 ? '–' : duration(percentile(sorted, share))))
    return element('tr', name, ...texts.map(text => element('td', text)))
  })
  byId('latency-rows').replaceChildren(...rows)
}

function money(of: ReadonlyMap<string, bigint>, labelOf = (name: string) => name): Bar[] {
  return [...of].map(([name, value]) => ({
    name,
    value: Number(value),
    text: usd(value),
    label: labelOf(name),
  }))
}

function plain(text: string, onClick: () => void): HTMLElement {
  const made = button(text, onClick)
  made.className = 'plain'
  return made
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
}
