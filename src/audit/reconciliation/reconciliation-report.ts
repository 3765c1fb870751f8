/** Reads the journal once, and again only where it differs from the chain. Keeps 16 to 32 bytes for each payment. */
import { STREAM_TIMEOUT_MAX_MS } from '../../domain/endpoint-limits.js'
import { SvcError } from '../../domain/errors.js'
import { reportsCharge } from '../../domain/income-bookings.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { systemClock } from '../../ports/clock.js'
import type { JournalPiece } from '../journal/journal-reader.js'
import type { EndedStream, JournalHeader, JournalRun } from '../journal/line-format.js'
import type { LineFlaw } from '../journal/line-order-check.js'
import { bySeverity, type Difference, differenceOf } from './audit-findings.js'
import { landedBy, spanning, widened, within } from './audited-period.js'
import { type BalanceAccount, balanceAccounts } from './balance-accounts.js'
import { legalPaths } from './check-recorded-paths.js'
import { compareWithChain } from './compare-with-chain.js'
import { createSummary, type DayOfEndpoint } from './income-by-day.js'
import type { IncomingTransfers, Period } from './incoming-transfers.js'
import { decidedByMs, openDoubts } from './open-doubts.js'
import { createBooked, fingerprints, paymentOf } from './payment-fingerprints.js'

export interface ReconciliationOptions {
  readonly journal: () => AsyncIterable<JournalPiece>
  readonly transfers: (header: JournalHeader) => IncomingTransfers
  /** The round in which a node has a transaction; `undefined` where it has none. */
  readonly confirmedRound?: (header: JournalHeader, txId: string) => Promise<bigint | undefined>
  /** @default from the beginning of the first journal to a minute ago */
  readonly period?: Partial<Period>
  readonly nowMs?: () => number
  readonly onBooked?: (run: EndedCall) => void
  /** Called with each run of the period whose stream broke, after it may have been booked. */
  readonly onBroken?: (run: EndedCall) => void
}

export interface ReconciliationReport {
  readonly header: JournalHeader
  readonly period: Period
  /** The calls with a line of their own: they charged or may have charged. */
  readonly runs: number
  /** The other calls. */
  readonly counted: number
  /** When the first journal was begun; absent where none says so. */
  readonly openedMs?: number
  readonly missing?: MissingLines
  readonly paths: number
  readonly days: readonly DayOfEndpoint[]
  /** The balances that were sold or used in the period. */
  readonly balances: readonly BalanceAccount[]
  /** When the last payment in doubt is decided; absent where the chain has decided all. */
  readonly decidedByMs?: number
  readonly differences: readonly Difference[]
  /** There are more differences than the list can have. Correct these and audit again. */
  readonly more: boolean
  readonly lost: number
  readonly unreadable: number
}

export interface MissingLines {
  readonly lines: number
  readonly beforeMs: number
  /** The period that was asked for begins earlier. */
  readonly isInPeriod: boolean
}

/** Calls may still be at work: their transactions land before their runs are written. */
export const AT_WORK_MS = 60_000
/** The endpoint of calls that were counted without their endpoint. */
const OTHERS = '(others)'
/** The most errors of the journal itself that are listed. */
const OBJECTIONS_MAX = 100

export async function reconcileJournal(options: ReconciliationOptions): Promise<ReconciliationReport> {
  const { nowMs = systemClock.now } = options
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = options.period ?? {}
  const named = { fromMs, toMs }
  const prints = fingerprints()
  const paths = legalPaths()
  const summary = createSummary()
  const booked = createBooked()
  const balances = balanceAccounts()
  const doubts = openDoubts(nowMs())
  const streams = streamsOf(options, nowMs())
  /** What each agent sells: several may share an address, and a gate names nothing. */
  const sold = new Map<string, Set<string>>()
  let endpoints = new Set<string>()
  const objections: Difference[] = []
  const seen = { fromMs: Number.POSITIVE_INFINITY, toMs: Number.NEGATIVE_INFINITY }
  let header: JournalHeader | undefined
  let openedMs = Number.POSITIVE_INFINITY
  let [runs, counted, lost, unreadable, missingLines] = [0, 0, 0, 0, 0]
  let keptMs = Number.NEGATIVE_INFINITY
  const saw = (ms: number) => {
    seen.fromMs = Math.min(seen.fromMs, ms)
    seen.toMs = Math.max(seen.toMs, ms)
  }
  const object = (difference: Difference | undefined) => {
    if (difference && objections.length < OBJECTIONS_MAX) objections.push(difference)
  }

  for await (const piece of options.journal()) {
    for (const read of piece.headers) {
      header = sameHeader(header, read)
      // Blocks have times in whole seconds: otherwise a payment of the first second would have landed too early.
      openedMs = Math.min(openedMs, Math.floor((read.openedMs ?? openedMs) / 1_000) * 1_000)
      endpoints = sold.get(read.agent) ?? new Set()
      sold.set(read.agent, endpoints)
      for (const name of read.endpoints ?? []) endpoints.add(name)
    }
    lost += piece.lost
    unreadable += piece.unreadable
    if (piece.missing) {
      missingLines += piece.missing.lines
      keptMs = Math.max(keptMs, piece.missing.beforeMs)
    }
    for (const flaw of piece.flaws) if (within(flaw.atMs, named) || flaw.atMs === 0) object(flawed(flaw))
    for (const run of piece.runs) {
      // Runs outside the period count here too: of two runs that report a payment, the first books it.
      const isBooking = reportsCharge(run) && (run.txId === undefined || booked(run.txId))
      if (!within(run.startedMs, widened(named))) continue
      if (reportsCharge(run)) prints.add('runs', paymentOf(run))
      if (!within(run.startedMs, named)) continue
      runs++
      summary.add(run, isBooking)
      balances.add(run, isBooking)
      doubts.add(run)
      saw(run.startedMs + run.ms)
      const objection = paths.objection(run)
      if (objection !== undefined) object(differenceOf(run, 'illegal_path', objection))
      if (endpoints.size > 0 && !endpoints.has(run.endpoint))
        object(differenceOf(run, 'unknown_endpoint', `the agent sells no ${run.endpoint}`))
      if (isBooking) options.onBooked?.(run)
      streams.add(run)
    }
    for (const { counted: kinds, fromMs: startedMs } of piece.counts) {
      if (!within(startedMs, named)) continue
      saw(startedMs)
      for (const { endpoint = OTHERS, calls } of kinds) {
        counted += calls
        summary.count(calls, { endpoint, startedMs })
      }
    }
    for (const ended of piece.streams) streams.end(ended)
  }
  streams.close()
  if (header === undefined)
    throw new SvcError('The journal does not say whose it is: its first line is missing', 'empty_journal')
  const noRun = () => new SvcError('The journal has no run in this period', 'empty_journal')

  const period = {
    fromMs: Number.isFinite(fromMs) ? fromMs : Math.min(openedMs, seen.fromMs),
    toMs: Number.isFinite(toMs) ? toMs : nowMs() - AT_WORK_MS,
  }
  if (!Number.isFinite(period.fromMs)) throw noRun()
  const { differences, more } = await compareWithChain({
    ...options,
    onLanded: doubts.landed,
    header,
    prints,
    runsIn: named,
    // The run of a payment that landed when the first line was written may be in a line before it.
    transfersIn: { ...period, fromMs: Math.max(period.fromMs, landedBy(keptMs)) },
    listed: widened(spanning(period, seen)),
  })
  const found = eachOnce([...objections, ...differences]).sort(bySeverity)
  if (runs + counted + found.length === 0) throw noRun()
  const undecided = doubts.list()
  for (const run of undecided) summary.doubt(run)
  const { fromMs: beganMs, toMs: endedMs } = spanning(period, seen)
  return {
    header,
    period: { fromMs: Math.max(beganMs, keptMs), toMs: endedMs },
    ...(Number.isFinite(openedMs) && { openedMs }),
    ...(missingLines > 0 && {
      missing: {
        lines: missingLines,
        beforeMs: keptMs,
        isInPeriod: Number.isFinite(fromMs) && fromMs < keptMs,
      },
    }),
    runs,
    counted,
    paths: paths.distinct,
    days: summary.days(),
    balances: balances.list(nowMs()),
    ...(undecided.length > 0 && { decidedByMs: undecided.map(decidedByMs).reduce((a, b) => Math.max(a, b)) }),
    differences: found,
    more: more || objections.length === OBJECTIONS_MAX,
    lost,
    unreadable,
  }
}

/** As long as any stream may take, and some time for its end to be written. */
const STREAM_MAX_MS = STREAM_TIMEOUT_MAX_MS + AT_WORK_MS

/** Joins runs whose streams were leaving when they were written with the ends of these streams. */
function streamsOf({ onBroken }: Pick<ReconciliationOptions, 'onBroken'>, nowMs: number) {
  const leaving = new Map<string, EndedCall>()
  const broken = (run: EndedCall, brokenBy: EndedCall['brokenBy']) =>
    onBroken?.({ ...run, streamBroken: true, brokenBy })
  return {
    add(run: JournalRun): void {
      if (run.streaming) leaving.set(run.id, run)
      else if (run.streamBroken) onBroken?.(run)
    },
    end({ stream, brokenBy }: EndedStream): void {
      const run = leaving.get(stream)
      leaving.delete(stream)
      if (run && brokenBy) broken(run, brokenBy)
    },
    /** A stream that has no end after so long broke with its process. */
    close(): void {
      for (const run of leaving.values())
        if (run.startedMs + run.ms + STREAM_MAX_MS < nowMs) broken(run, 'seller')
    },
  }
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
