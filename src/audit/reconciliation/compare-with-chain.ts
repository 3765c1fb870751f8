/** Compares runs with the chain: each reported charge has a transaction, and each transaction has a run. */
import { reportsCharge } from '../../domain/income-bookings.js'
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import { formatUsd } from '../../domain/money.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { JournalPiece } from '../journal/journal-reader.js'
import type { JournalHeader } from '../journal/line-format.js'
import { bySeverity, type Difference, differenceOf } from './audit-findings.js'
import { isNear, within } from './audited-period.js'
import type { IncomingTransfers, Period, Transfer } from './incoming-transfers.js'
import { type Fingerprints, landedPaymentOf, paymentOf } from './payment-fingerprints.js'

interface ComparisonOptions {
  readonly journal: () => AsyncIterable<JournalPiece>
  readonly transfers: (header: JournalHeader) => IncomingTransfers
  readonly confirmedRound?: (header: JournalHeader, txId: string) => Promise<bigint | undefined>
  readonly onLanded: (txId: string) => void
  readonly header: JournalHeader
  /** Has the runs that report a charge already. */
  readonly prints: Fingerprints
  readonly runsIn: Period
  readonly transfersIn: Period
  /** The period of the transfers that the chain is asked for: wider than both. */
  readonly listed: Period
}

/** The most payments that are compared one by one; some hundred bytes each. */
const PAYMENTS_MAX = 100_000
/** The longest list of differences. Each entry may cost a request to the chain. */
const DIFFERENCES_MAX = 1_000

export async function compareWithChain(
  options: ComparisonOptions,
): Promise<{ readonly differences: readonly Difference[]; readonly more: boolean }> {
  const { journal, confirmedRound, onLanded, header, prints, runsIn, transfersIn, listed } = options
  const transfers = options.transfers(header)
  const landed = new Map<string, Transfer>()
  const runs = new Map<string, EndedCall[]>()

  async function* incoming(): AsyncGenerator<Transfer> {
    for await (const page of transfers.to(header.payTo, header.asset, listed)) yield* page
  }

  /** The chain first: a run without a charge matters only where its payment landed, and anybody can send refused ones. */
  async function collect(isUnequal: (txId: string) => boolean): Promise<void> {
    for await (const transfer of incoming()) if (isUnequal(transfer.txId)) landed.set(transfer.txId, transfer)
    for await (const piece of journal())
      for (const run of piece.runs) {
        const { txId = '' } = run
        if (!landed.has(txId) && !(reportsCharge(run) && isUnequal(txId))) continue
        const key = txId || `none of ${run.id}`
        const known = runs.get(key)
        if (known) known.push(run)
        else runs.set(key, [run])
      }
  }

  function ofTransfer(transfer: Transfer): Difference | readonly [] {
    const of = runs.get(transfer.txId) ?? []
    const [first] = of.filter(reportsCharge)
    // Runs of the period are compared with their transfers below.
    const booked = first && !within(first.startedMs, runsIn) ? misdated(first, transfer) : undefined
    return unbooked(transfer, of) ?? booked ?? []
  }

  async function ofRuns(): Promise<Difference[]> {
    const differences: Difference[] = []
    for (const all of runs.values()) {
      if (differences.length >= DIFFERENCES_MAX) return differences
      const bookings = all.filter(reportsCharge)
      const [first, ...others] = bookings.filter(({ startedMs }) => within(startedMs, runsIn))
      if (first === undefined) continue
      differences.push(...reportedTwice(bookings))
      const { txId } = first
      const transfer = txId === undefined ? undefined : (landed.get(txId) ?? (await transfers.find(txId)))
      if (transfer === undefined) differences.push(await absent(first))
      else for (const run of [first, ...others]) differences.push(...unequalParts(run, transfer, header))
    }
    return differences
  }

  async function absent(run: EndedCall): Promise<Difference> {
    const round = run.txId === undefined ? undefined : await confirmedRound?.(header, run.txId)
    if (round !== undefined) return differenceOf(run, 'indexer_behind', `the node has it in round ${round}`)
    const named = run.txId === undefined ? 'it names no transaction' : 'its transaction has not landed'
    const amount = formatUsd(paymentOf(run).amount)
    return differenceOf(run, 'missing_transaction', `${amount} was recorded, and ${named}`)
  }

  try {
    for await (const transfer of incoming()) {
      prints.add('chain', landedPaymentOf(transfer))
      onLanded(transfer.txId)
    }
    const { buckets, skipped, has } = prints.unequal(PAYMENTS_MAX)
    if (buckets === 0) return { differences: [], more: false }
    await collect(has)
    const inPeriod = [...landed.values()].filter(({ landedMs }) => within(landedMs, transfersIn))
    const differences = [...inPeriod.flatMap(ofTransfer), ...(await ofRuns())].sort(bySeverity)
    const more = skipped > 0 || differences.length >= DIFFERENCES_MAX
    return { differences: differences.slice(0, DIFFERENCES_MAX), more }
  } finally {
    await transfers.close()
  }
}

/** Two runs that settled it are two answers for one payment. One that settled and one that found it landed are correct. */
function reportedTwice(bookings: readonly EndedCall[]): Difference[] {
  const differences: Difference[] = []
  const ids = new Set<string>()
  for (const run of bookings) {
    if (ids.has(run.id)) differences.push(differenceOf(run, 'doubled_line', 'the run is there again'))
    ids.add(run.id)
  }
  const settled = new Set(bookings.filter(({ charged }) => charged === 'yes').map(({ id }) => id))
  if (settled.size > 1) {
    const says = `${settled.size} charged runs: ${[...settled].join(', ')}`
    differences.push(differenceOf(bookings[0]!, 'charged_twice', says))
  }
  return differences
}

function unequalParts(run: EndedCall, landed: Transfer, header: JournalHeader): Difference[] {
  const differs = (finding: Parameters<typeof differenceOf>[1], says: string) =>
    differenceOf(run, finding, says)
  const { amount } = paymentOf(run)
  const found: Difference[] = []
  if (landed.asset !== header.asset || (run.asset ?? header.asset) !== landed.asset)
    found.push(
      differs('wrong_asset', `it moved asset ${landed.asset || 'none'}, not ${run.asset ?? header.asset}`),
    )
  if (landed.receiver !== header.payTo)
    found.push(differs('wrong_receiver', `it paid ${landed.receiver}, not ${header.payTo}`))
  if (landed.amount !== amount)
    found.push(
      differs('wrong_amount', `${formatUsd(landed.amount)} landed, ${formatUsd(amount)} was recorded`),
    )
  if (run.payer !== undefined && run.payer !== landed.payer)
    found.push(differs('wrong_payer', `${landed.payer} paid, ${run.payer} was recorded`))
  const timed = misdated(run, landed)
  return timed ? [...found, timed] : found
}

/** A run that settled is as old as its payment; a run that found it landed is younger. */
function misdated(run: EndedCall, { landedMs }: Transfer): Difference | undefined {
  const { startedMs, ms, charged } = run
  const fromMs = charged === 'yes' ? startedMs : Number.NEGATIVE_INFINITY
  if (isNear(landedMs, { fromMs, toMs: startedMs + ms })) return undefined
  const [landed, said] = [landedMs, startedMs].map(moment)
  return differenceOf(run, 'wrong_time', `it landed at ${landed}, and the run began at ${said}`)
}

/** Of several runs the last one counts: a payment may be presented again after a call that did not charge it. */
function unbooked(transfer: Transfer, runs: readonly EndedCall[]): Difference | undefined {
  if (runs.some(reportsCharge)) return undefined
  const amount = `${formatUsd(transfer.amount)} from ${transfer.payer}`
  const unbookedBy = (run: EndedCall, what: string) =>
    differenceOf(run, 'unbooked_transaction', `${amount} landed, and was ${what}`)
  const replay = runs.find(({ final }) => final === 'replayed')
  if (replay) return unbookedBy(replay, 'replayed only')
  const answerable = runs.filter(run => mayHaveCharged(run, transfer))
  const told = answerable
    .filter(({ charged, final, code }) => charged === 'maybe' || !namesAsTaken(final, code))
    .sort((a, b) => a.startedMs + a.ms - b.startedMs - b.ms)
    .at(-1)
  if (told?.charged === 'maybe') return differenceOf(told, 'settled_in_doubt', `${amount} landed`)
  if (told)
    return differenceOf(told, 'told_not_charged', `${amount} landed, and the caller was told ${told.code}`)
  const yielded = answerable.find(({ path }) => path.includes('settling.elsewhere'))
  if (yielded)
    return differenceOf(
      yielded,
      'answered_elsewhere',
      `${amount} landed, and the caller was told ${yielded.code}`,
    )
  // Last: a run that told the caller something about the payment explains more than this one.
  const notKept = runs.find(({ charged }) => charged === 'earlier')
  if (notKept) return unbookedBy(notKept, 'not kept for a replay')
  const says = runs.length === 0 ? amount : `${amount}; run ${runs[0]!.id} answered ${runs[0]!.code}`
  return { finding: 'unexplained_transaction', says, txId: transfer.txId, atMs: transfer.landedMs }
}

/**
 * Whether the run may have caused this transfer: it got as far as recording, and the transfer landed after it began. Anybody can
 * present a transfer that landed for something else, and is turned away before that. `undecided` is an end of a call that found the
 * record of an earlier call of ours, which got so far; when that one began is not known.
 */
function mayHaveCharged({ final, path, startedMs }: EndedCall, { landedMs }: Transfer): boolean {
  if (final === 'undecided') return true
  return path.some(step => String(step).startsWith('recording.')) && landedMs >= startedMs - CLOCKS_DIFFER_MS
}

/** A block has the time of its proposer in whole seconds, and a run that of its own process. */
const CLOCKS_DIFFER_MS = 60_000

/** A call that was taken over keeps the path that it walked, and its caller got `superseded`. */
function namesAsTaken(final: string, code: string): boolean {
  return final === 'paymentSpent' || code === OUTCOMES.superseded.code
}

function moment(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
