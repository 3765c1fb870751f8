/**
 * Histories drawn by seed: nothing is reported where nothing is wrong, and each planted difference is found under its right name,
 * wherever and whenever it is planted. `npm run histories` draws a thousand; `AUDIT_SEED` draws others.
 */
import { describe, expect, it } from 'vitest'
import { Dice } from '../../proof/simulation/kernel/dice.js'
import { type JournalRun, runText } from '../../src/audit/journal/line-format.js'
import { FINDINGS, type Finding } from '../../src/audit/reconciliation/audit-findings.js'
import type { Transfer } from '../../src/audit/reconciliation/incoming-transfers.js'
import { callOn, replayedPath, settledPath } from './calls.js'
import {
  type Audited,
  auditOf,
  drawHistory,
  type Entry,
  endpointsOf,
  type History,
  type Payment,
  type StoryName,
  strangers,
  type WrittenLine,
} from './drawn-history.js'

const HISTORIES = Number(process.env.AUDIT_HISTORIES ?? 100)
const SEED = process.env.AUDIT_SEED ?? 'audit'
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

type Expected = readonly [finding: Finding, of: string | undefined]
/** Changes the history, and says what an audit has to find then; `undefined` where the history has no place for it. */
type Plant = (history: History) => readonly ((audited: Audited) => Expected)[] | undefined

const says =
  (finding: Finding, of: string | undefined): ((audited: Audited) => Expected) =>
  () => [finding, of]

/** A payment of one of these stories in which nothing else is planted. */
function take({ dice, payments }: History, ...stories: StoryName[]): Payment | undefined {
  const free = payments.filter(each => stories.includes(each.story) && !each.isPlanted)
  if (free.length === 0) return undefined
  const taken = dice.pick(free)
  taken.isPlanted = true
  return taken
}

const PAID = ['paid', 'stream', 'window', 'replayed', 'spentAgain'] as const

function changed(entry: Entry, more: Partial<JournalRun>): void {
  entry.run = { ...entry.run!, ...more }
}

/** Its payment lands although no call was told so: a minute before the call began, by another clock, up to an hour after. */
function lands(history: History, { runs: [first] }: Payment): void {
  const { startedMs, txId } = first!.run!
  const landedMs = Math.floor((startedMs + history.dice.between(-50_000, 60 * MINUTE_MS)) / 1_000) * 1_000
  history.landed.add({ ...strangers(history.dice, landedMs), txId: txId! })
}

function landedAsElse(part: (landed: Transfer, history: History) => Partial<Transfer>): Changed {
  return (history, payment) => {
    const { landed } = history
    landed.delete(payment.transfer!)
    landed.add({ ...payment.transfer!, ...part(payment.transfer!, history) })
  }
}
type Changed = (history: History, payment: Payment) => void

const onPayment =
  (finding: Finding, stories: readonly StoryName[], change: Changed, of = 0): Plant =>
  history => {
    const payment = take(history, ...stories)
    if (payment === undefined) return undefined
    change(history, payment)
    return [says(finding, payment.runs[of]!.run!.id)]
  }

const without: Changed = ({ landed }, { transfer }) => void landed.delete(transfer!)

/** A run beside those of a payment, in any journal, at its place by time. */
function addRun({ dice, journals }: History, run: JournalRun): void {
  const journal = dice.between(0, journals.length - 1)
  const own = { ...run, endpoint: endpointsOf(journal)[0]! }
  const entry: Entry = { run: own, atMs: run.startedMs + run.ms, text: () => runText(own) }
  const entries = journals[journal]!
  const at = entries.findIndex(({ atMs }) => atMs > entry.atMs)
  entries.splice(at < 0 ? entries.length : at, 0, entry)
}

/** A journal whose lines nobody touched yet, and the change of one of them, never the last one. */
function onLine(
  change: (lines: WrittenLine[], at: number, dice: Dice) => void,
  found: (entry: Entry) => readonly ((audited: Audited) => Expected)[],
): Plant {
  return history => {
    const { dice, journals, payments, tampered } = history
    const free = [...journals.keys()].filter(
      journal => !tampered.has(journal) && journals[journal]!.length > 3,
    )
    if (free.length === 0) return undefined
    const journal = dice.pick(free)
    const others = new Set(
      payments.filter(each => each.story !== 'paid' || each.isPlanted).flatMap(each => each.runs),
    )
    const entry = dice.pick(
      journals[journal]!.slice(0, -1).filter(each => !others.has(each) && !isStreamEnd(each)),
    )
    if (entry === undefined) return undefined
    const payment = payments.find(({ runs }) => runs.includes(entry))
    if (payment) payment.isPlanted = true
    tampered.set(journal, lines => {
      const all = [...lines]
      change(
        all,
        all.findIndex(line => line.entry === entry),
        dice,
      )
      return all
    })
    return found(entry)
  }
}

const isStreamEnd = ({ text }: Entry) => text().includes('"stream":')

/** Kinds, each with its places: how it comes about. Where and when in the history is drawn. */
const PLANTS: Readonly<Record<Finding, Readonly<Record<string, Plant>>>> = {
  told_not_charged: {
    'the chain has it after all': onPayment('told_not_charged', ['denied'], lands),
  },
  charged_twice: {
    'in any journal, some minutes later': history => {
      const payment = take(history, 'paid')
      if (payment === undefined) return undefined
      const { id, startedMs, ...run } = payment.runs[0]!.run!
      const later = startedMs + history.dice.between(0, 4 * MINUTE_MS)
      const again = { ...run, id: `${id}-again`, startedMs: later }
      addRun(history, again)
      return [({ order }) => ['charged_twice', order.find(each => each === id || each === again.id)]]
    },
  },
  settled_in_doubt: {
    'the chain has it': onPayment('settled_in_doubt', ['neverLanded'], lands),
  },
  answered_elsewhere: {
    'and nobody answered': onPayment('answered_elsewhere', ['elsewhereNever'], lands),
  },
  missing_transaction: {
    'nothing came': onPayment('missing_transaction', PAID, without),
    'nothing of what it found to have landed': onPayment('missing_transaction', ['landedLater'], without, 1),
    'no transaction is named': history => {
      const payment = take(history, 'paid')
      if (payment === undefined) return undefined
      const { run } = payment.runs[0]!
      history.landed.delete(payment.transfer!)
      changed(payment.runs[0]!, { txId: undefined })
      return [says('missing_transaction', run!.id)]
    },
  },
  unbooked_transaction: {
    'replayed only': history => {
      const payment = take(history, 'landedLater')
      if (payment === undefined) return undefined
      const [, found, replay] = payment.runs
      const { id, startedMs, ms, endpoint, txId, payer } = found!.run!
      // The line that booked it says that it replayed: no more than the line after it.
      found!.run = { ...callOn(replayedPath, 'replayed'), id, startedMs, ms, endpoint, txId, payer }
      return [
        ({ order }) => ['unbooked_transaction', order.find(each => each === id || each === replay!.run!.id)],
      ]
    },
  },
  unexplained_transaction: {
    'of a stranger': history => {
      const { dice, fromMs, toMs } = history
      const transfer = strangers(dice, Math.floor(dice.between(fromMs + 1_000, toMs) / 1_000) * 1_000)
      history.landed.add(transfer)
      return [says('unexplained_transaction', transfer.txId)]
    },
    'of a call that a crash cut': history => {
      const payment = take(history, 'paid', 'window')
      if (payment === undefined) return undefined
      for (const entries of history.journals) {
        const at = entries.indexOf(payment.runs[0]!)
        // A journal has at least one call.
        if (at >= 0) entries.splice(at, 1)
      }
      return [says('unexplained_transaction', payment.transfer!.txId)]
    },
  },
  wrong_amount: {
    'on the chain': onPayment(
      'wrong_amount',
      PAID,
      landedAsElse(({ amount }, { dice }) => ({ amount: amount + BigInt(dice.span(1, 1_000_000)) })),
    ),
    'in the journal': onPayment('wrong_amount', PAID, (_, { runs: [first] }) =>
      changed(first!, { amount: `${first!.run!.amount}0` }),
    ),
  },
  wrong_asset: {
    'on the chain': onPayment(
      'wrong_asset',
      PAID,
      landedAsElse(() => ({ asset: '1' })),
    ),
    'in the journal': onPayment('wrong_asset', PAID, (_, { runs: [first] }) =>
      changed(first!, { asset: '31566704' }),
    ),
  },
  wrong_receiver: {
    'it went to somebody': onPayment(
      'wrong_receiver',
      PAID,
      landedAsElse((_, { dice }) => ({ receiver: strangers(dice, 0).payer })),
    ),
  },
  wrong_payer: {
    'somebody else paid': history => {
      const payment = take(history, ...PAID)
      if (payment === undefined) return undefined
      changed(payment.runs[0]!, { payer: strangers(history.dice, 0).payer })
      return [says('wrong_payer', payment.runs[0]!.run!.id)]
    },
  },
  wrong_time: {
    'days before or after': onPayment(
      'wrong_time',
      ['paid', 'window', 'spentAgain'],
      ({ dice }, { runs: [first] }) => {
        const days = dice.between(1, 40) * (dice.chance(0.5) ? 1 : -1)
        changed(first!, { startedMs: first!.run!.startedMs + days * DAY_MS })
      },
    ),
    'it landed on another day': onPayment(
      'wrong_time',
      PAID,
      landedAsElse(({ landedMs }, { dice }) => ({ landedMs: landedMs + dice.between(1, 40) * DAY_MS })),
    ),
  },
  unknown_endpoint: {
    'of a paid call': onPayment('unknown_endpoint', PAID, (_, { runs: [first] }) =>
      changed(first!, { endpoint: 'not-sold' }),
    ),
    'of a call that charged nothing': onPayment(
      'unknown_endpoint',
      ['denied', 'neverLanded'],
      (_, { runs: [first] }) => changed(first!, { endpoint: '' }),
    ),
  },
  illegal_path: {
    'a step is left out': onPayment('illegal_path', PAID, ({ dice }, { runs: [first] }) => {
      const { path } = first!.run!
      changed(first!, { path: path.toSpliced(dice.between(0, path.length - 1), 1) })
    }),
    'it goes on after its end': onPayment('illegal_path', PAID, ({ dice }, { runs: [first] }) =>
      changed(first!, { path: [...settledPath, dice.pick(settledPath)] }),
    ),
    'it says another end': onPayment('illegal_path', ['neverLanded', 'denied'], (_, { runs: [first] }) =>
      changed(first!, { final: 'timedOut' }),
    ),
  },
  edited_line: {
    'how long it took': onLine(
      (lines, at) => {
        const { text } = lines[at]!
        lines[at] = { ...lines[at]!, text: text.replace(/"(ms|calls)":/, '"$1":1') }
      },
      ({ run }) => [says('edited_line', run?.id)],
    ),
    'the head': history => {
      if (history.editedHead !== undefined) return undefined
      history.editedHead = history.dice.between(0, history.journals.length - 1)
      return [says('edited_line', undefined)]
    },
  },
  missing_lines: {
    'of any call': onLine(
      (lines, at) => lines.splice(at, 1),
      ({ run }) => [
        says('missing_lines', undefined),
        ...(run?.charged === 'yes' ? [says('unexplained_transaction', run.txId)] : []),
      ],
    ),
  },
  doubled_line: {
    'anywhere after it': onLine(
      (lines, at, dice) => lines.splice(dice.between(at + 1, lines.length), 0, { text: lines[at]!.text }),
      ({ run }) => [says('doubled_line', run?.id)],
    ),
  },
  moved_line: {
    'to anywhere after it': onLine(
      (lines, at, dice) => {
        const [moved] = lines.splice(at, 1)
        const next = lines.findIndex((line, to) => to >= at && line.entry)
        lines.splice(dice.between(next + 1, lines.length), 0, moved!)
      },
      ({ run }) => [says('moved_line', run?.id)],
    ),
  },
  indexer_behind: {
    'of a paid call': onPayment('indexer_behind', PAID, (history, payment) => {
      without(history, payment)
      history.ahead.add(payment.transfer!.txId)
    }),
  },
}

const found = ({ report }: Audited): Expected[] =>
  report.differences.map(({ finding, run, txId }) => [finding, run ?? txId])

const sorted = (all: readonly Expected[]) => all.map(each => each.join(' ')).toSorted()

describe('histories that are drawn', () => {
  it(`reports nothing in ${HISTORIES} of them, in whole and in part`, async () => {
    let [runs, payments, files] = [0, 0, 0]
    for (let number = 0; number < HISTORIES; number++) {
      const seed = `${SEED}-clean-${number}`
      const history = drawHistory(seed)
      const dice = new Dice(`${seed}-period`)
      const at = () => dice.between(history.fromMs, history.toMs)
      const [a, b] = [at(), at()]
      const isWhole = dice.chance(0.5)
      const period = isWhole ? undefined : { fromMs: Math.min(a, b), toMs: Math.max(a, b) + 1 }
      const audited = await auditOf(history, period, dice.chance(0.2)).catch(cause => {
        // A part in which nobody called has nothing to audit.
        if (isWhole || cause.code !== 'empty_journal') throw cause
        return undefined
      })
      if (audited === undefined) continue
      runs += audited.report.runs
      files += audited.report.missing ? 1 : 0
      payments += audited.report.days.reduce((sum, { charged }) => sum + charged, 0)
      expect(audited.report, seed).toMatchObject({ more: false, lost: 0, unreadable: 0 })
      expect(audited.report.differences, seed).toEqual([])
    }
    // They are no empty books.
    expect(runs).toBeGreaterThan(HISTORIES * 10)
    expect(payments).toBeGreaterThan(HISTORIES * 5)
    expect(files).toBeGreaterThan(HISTORIES / 50)
  }, 300_000)

  const places = Object.entries(PLANTS).flatMap(([kind, ways]) =>
    Object.entries(ways).map(([place, plant]) => [kind as Finding, place, plant] as const),
  )
  it('plants every kind that an audit can find', () => {
    expect(Object.keys(PLANTS).toSorted()).toEqual(Object.keys(FINDINGS).toSorted())
  })

  it.each(places)('finds %s: %s', async (kind, place, plant) => {
    let planted = 0
    for (let number = 0; planted < Math.max(4, HISTORIES / 20); number++) {
      const seed = `${SEED}-${kind}-${place}-${number}`
      const history = drawHistory(seed)
      const expected = plant(history)
      if (expected === undefined) continue
      planted++
      const audited = await auditOf(history)
      expect(sorted(found(audited)), seed).toEqual(sorted(expected.map(each => each(audited))))
      expect(found(audited).map(([finding]) => finding)).toContain(kind)
    }
  })

  it('finds each of several that are planted in one history', async () => {
    for (let number = 0; number < HISTORIES; number++) {
      const seed = `${SEED}-several-${number}`
      const history = drawHistory(seed)
      const dice = new Dice(`${seed}-plants`)
      const chosen = Array.from({ length: dice.between(2, 4) }, () => dice.pick(places))
      const expected = chosen.flatMap(([, , plant]) => plant(history) ?? [])
      const audited = await auditOf(history)
      const names = chosen.map(([kind, place]) => `${kind}: ${place}`).join('; ')
      expect(sorted(found(audited)), `${seed}: ${names}`).toEqual(sorted(expected.map(each => each(audited))))
    }
  }, 300_000)
})
