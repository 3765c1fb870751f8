/**
 * Compares a journal of calls with the chain, in both directions, and with the machine. It reads the journal once, and a
 * second time only where they differ. Of a journal and a chain of any length it keeps 16 to 32 bytes for each payment.
 */

import type { JournalPiece } from '../../adapters/journal/journal-reader.js'
import type { LineFlaw } from '../../adapters/journal/line-order-check.js'
import { SvcError } from '../../domain/errors.js'
import { reportsCharge } from '../../domain/income-bookings.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { systemClock } from '../../ports/clock.js'
import type { IncomingTransfers, Period } from '../../ports/incoming-transfers.js'
import type { JournalHeader } from '../../ports/journal-header.js'
import { spanning, widened, within } from './audited-period.js'
import { createBooked } from './booked-payments.js'
import { compareWithChain } from './compare-with-chain.js'
import { bySeverity, type Difference, differenceOf } from './findings.js'
import { createSummary, type DayOfEndpoint } from './income-by-day.js'
import { legalPaths } from './legal-paths.js'
import { fingerprints, paymentOf } from './payment-fingerprints.js'

export interface ReconciliationOptions {
  /** Reads the journals from their beginning, at each call. */
  readonly journal: () => AsyncIterable<JournalPiece>
  readonly transfers: (header: JournalHeader) => IncomingTransfers
  /** The round in which a node has a transaction; `undefined` where it has none. */
  readonly confirmedRound?: (header: JournalHeader, txId: string) => Promise<bigint | undefined>
  /** @default from the beginning of the first journal to a minute ago */
  readonly period?: Partial<Period>
  readonly nowMs?: () => number
  /** Called with each run of the period that books a payment, in the journals' order. */
  readonly onBooked?: (run: EndedCall) => void
}

export interface ReconciliationReport {
  readonly header: JournalHeader
  readonly period: Period
  readonly runs: number
  /** The number of distinct paths of the runs. */
  readonly paths: number
  readonly days: readonly DayOfEndpoint[]
  /** The worst first. */
  readonly differences: readonly Difference[]
  /** There are more differences than the list can have. Correct these and audit again. */
  readonly more: boolean
  readonly lost: number
  readonly unreadable: number
}

/** Calls may still be at work: their transactions land before their runs are written. */
const AT_WORK_MS = 60_000
/** The most errors of the journal itself that are listed. */
const OBJECTIONS_MAX = 100

/** @throws SvcError `empty_journal`, `mixed_journal`, and the errors of the chain's adapters. */
export async function reconcileJournal(options: ReconciliationOptions): Promise<ReconciliationReport> {
  const { nowMs = systemClock.now } = options
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = options.period ?? {}
  const named = { fromMs, toMs }
  const prints = fingerprints()
  const paths = legalPaths()
  const summary = createSummary()
  const booked = createBooked()
  const endpoints = new Set<string>()
  const objections: Difference[] = []
  const seen = { fromMs: Number.POSITIVE_INFINITY, toMs: Number.NEGATIVE_INFINITY }
  let header: JournalHeader | undefined
  let openedMs = Number.POSITIVE_INFINITY
  let [runs, lost, unreadable] = [0, 0, 0]
  const object = (difference: Difference | undefined) => {
    if (difference && objections.length < OBJECTIONS_MAX) objections.push(difference)
  }

  for await (const piece of options.journal()) {
    for (const read of piece.headers) {
      header = sameHeader(header, read)
      openedMs = Math.min(openedMs, wholeSeconds(read.openedMs ?? openedMs))
      for (const name of read.endpoints ?? []) endpoints.add(name)
    }
    lost += piece.lost
    unreadable += piece.unreadable
    for (const flaw of piece.flaws) if (within(flaw.atMs, named) || flaw.atMs === 0) object(flawed(flaw))
    for (const run of piece.runs) {
      // Runs outside the period count here too: of two runs that report a payment, the first books it.
      const isBooking = reportsCharge(run) && (run.txId === undefined || booked.add(run.txId))
      if (!within(run.startedMs, widened(named))) continue
      if (reportsCharge(run)) prints.add('runs', paymentOf(run))
      if (!within(run.startedMs, named)) continue
      runs++
      summary.add(run, isBooking)
      seen.fromMs = Math.min(seen.fromMs, run.startedMs + run.ms)
      seen.toMs = Math.max(seen.toMs, run.startedMs + run.ms)
      const objection = paths.objection(run)
      if (objection !== undefined) object(differenceOf(run, 'illegal_path', objection))
      if (endpoints.size > 0 && !endpoints.has(run.endpoint))
        object(differenceOf(run, 'unknown_endpoint', `the agent sells no ${run.endpoint}`))
      if (isBooking) options.onBooked?.(run)
    }
  }
  if (header === undefined)
    throw new SvcError('The journal does not say whose it is: its first line is missing', 'empty_journal')
  if (runs === 0) throw new SvcError('The journal has no run in this period', 'empty_journal')

  const period = {
    fromMs: Number.isFinite(fromMs) ? fromMs : Math.min(openedMs, seen.fromMs),
    toMs: Number.isFinite(toMs) ? toMs : nowMs() - AT_WORK_MS,
  }
  const { differences, more } = await compareWithChain({
    ...options,
    header,
    prints,
    runsIn: named,
    transfersIn: period,
    listed: widened(spanning(period, seen)),
  })
  return {
    header,
    period: spanning(period, seen),
    runs,
    paths: paths.distinct,
    days: summary.days(),
    differences: eachOnce([...objections, ...differences]).sort(bySeverity),
    more: more || objections.length === OBJECTIONS_MAX,
    lost,
    unreadable,
  }
}

/** Blocks have times in whole seconds: otherwise a payment of the first second would have landed too early. */
function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000
}

function sameHeader(known: JournalHeader | undefined, read: JournalHeader): JournalHeader {
  const { journal, agent, network, payTo, asset } = read
  if (known === undefined) return { journal, agent, network, payTo, asset }
  if (known.network === network && known.payTo === payTo && known.asset === asset) return known
  throw new SvcError(
    'The journals speak of more than one payTo or network: audit each by itself',
    'mixed_journal',
  )
}

function flawed({ flaw, says, run, atMs }: LineFlaw): Difference {
  return run ? differenceOf(run, flaw, says) : { finding: flaw, says, atMs }
}

/** A doubled line that books a payment is found twice: by its number, and by the comparison with the chain. */
function eachOnce(differences: readonly Difference[]): Difference[] {
  const doubled = new Set<string>()
  return differences.filter(({ finding, run }) => {
    if (finding !== 'doubled_line' || run === undefined) return true
    return !doubled.has(run) && doubled.add(run)
  })
}
