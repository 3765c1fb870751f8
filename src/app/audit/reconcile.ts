/**
 * Holds a journal of calls against the chain, both ways, and against the machine. It reads the journal once, and a second
 * time only where something differs; it remembers neither, however long they are.
 */
import type { JournalPiece } from '../../adapters/journal/read-journal.js'
import { SvcError } from '../../domain/errors.js'
import type { Books } from '../../ports/books.js'
import type { IncomingTransfers, Period } from '../../ports/incoming-transfers.js'
import type { EndedCall } from '../../ports/witness.js'
import { compareWithChain } from './compare.js'
import type { Difference } from './differences.js'
import { fingerprints, paymentOf } from './fingerprints.js'
import { legalPaths } from './legal-paths.js'
import { spanning, widened, within } from './period.js'
import { createSummary, type DayOfEndpoint } from './summary.js'

export interface AuditOptions {
  /** The journal from its beginning, whenever it is asked for. */
  readonly journal: () => AsyncIterable<JournalPiece>
  readonly transfers: (books: Books) => IncomingTransfers
  /** The round that a node has a transaction in, where it knows of it. */
  readonly confirmedRound?: (books: Books, txId: string) => Promise<bigint | undefined>
  /** @default from the end of the first run to the end of the last */
  readonly period?: Partial<Period>
  readonly nowMs?: () => number
  /** Told of each charged run of the period, in the journal's order. */
  readonly onCharged?: (run: EndedCall) => void
}

export interface AuditReport {
  readonly books: Books
  readonly period: Period
  readonly runs: number
  /** Distinct ways through the machine that the runs took. */
  readonly paths: number
  readonly days: readonly DayOfEndpoint[]
  readonly differences: readonly Difference[]
  /** Differences were more than could be listed; mend these and audit again. */
  readonly more: boolean
  readonly lost: number
  readonly unreadable: number
}

/** Calls may still be at work on a journal that was written to so lately: their transactions land before their runs end. */
const AT_WORK_MS = 60_000
const ILLEGAL_MAX = 100

/** @throws SvcError `empty_journal`, `mixed_journal`; and whatever the chain's adapters throw. */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const { nowMs = Date.now } = options
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = options.period ?? {}
  const named = { fromMs, toMs }
  const prints = fingerprints()
  const paths = legalPaths()
  const summary = createSummary()
  const illegal: Difference[] = []
  const seen = { fromMs: Number.POSITIVE_INFINITY, toMs: Number.NEGATIVE_INFINITY }
  let books: Books | undefined
  let [runs, lost, unreadable] = [0, 0, 0]

  for await (const piece of options.journal()) {
    for (const each of piece.books) books = sameBooks(books, each)
    lost += piece.lost
    unreadable += piece.unreadable
    for (const run of piece.runs) {
      if (!within(run.startedMs, widened(named))) continue
      if (run.charged === 'yes') prints.add('runs', paymentOf(run))
      if (!within(run.startedMs, named)) continue
      runs++
      summary.add(run)
      seen.fromMs = Math.min(seen.fromMs, run.startedMs + run.ms)
      seen.toMs = Math.max(seen.toMs, run.startedMs + run.ms)
      const objection = paths.objection(run)
      if (objection !== undefined && illegal.length < ILLEGAL_MAX) illegal.push(illegalPath(run, objection))
      if (run.charged === 'yes') options.onCharged?.(run)
    }
  }
  if (books === undefined)
    throw new SvcError('The journal does not say whose it is: its first line is missing', 'empty_journal')
  if (runs === 0) throw new SvcError('The journal has no run in this period', 'empty_journal')

  const period = {
    fromMs: Number.isFinite(fromMs) ? fromMs : seen.fromMs,
    toMs: Number.isFinite(toMs) ? toMs : Math.min(seen.toMs + 1, nowMs() - AT_WORK_MS),
  }
  const { differences, more } = await compareWithChain({
    ...options,
    books,
    prints,
    runsIn: named,
    transfersIn: period,
    listed: widened(spanning(period, seen)),
  })
  const all = [...illegal, ...differences].sort((a, b) => a.atMs - b.atMs)
  return {
    books,
    period: spanning(period, seen),
    runs,
    paths: paths.distinct,
    days: summary.days(),
    differences: all,
    more: more || illegal.length === ILLEGAL_MAX,
    lost,
    unreadable,
  }
}

function sameBooks(known: Books | undefined, read: Books): Books {
  if (known === undefined) return read
  const { network, payTo, asset } = known
  if (read.network === network && read.payTo === payTo && read.asset === asset) return known
  throw new SvcError(
    'The journal speaks of more than one payTo or network: audit each by itself',
    'mixed_journal',
  )
}

function illegalPath(run: EndedCall, says: string): Difference {
  const { id, endpoint, startedMs, txId } = run
  return { finding: 'illegal_path', says, run: id, endpoint, txId, atMs: startedMs }
}
