/** Compares runs with the chain: each reported charge has a transaction, and each transaction has a run. */
import { reportsCharge } from '../../domain/income-bookings.js'
import { formatUsd } from '../../domain/money.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { JournalHeader } from '../journal/journal-lines.js'
import type { JournalPiece } from '../journal/journal-reader.js'
import { within } from './audited-period.js'
import { misdated, reportedTwice, unbooked, unequalParts } from './compare-one-payment.js'
import { bySeverity, type Difference, differenceOf } from './findings.js'
import type { IncomingTransfers, Period, Transfer } from './incoming-transfers.js'
import { type Fingerprints, landedPaymentOf, paymentOf } from './payment-fingerprints.js'

export interface ComparisonOptions {
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
  const { header, prints, listed } = options
  const transfers = options.transfers(header)
  try {
    for await (const page of transfers.to(header.payTo, header.asset, listed))
      for (const transfer of page) {
        prints.add('chain', landedPaymentOf(transfer))
        options.onLanded(transfer.txId)
      }
    const unequal = prints.unequal(PAYMENTS_MAX)
    if (unequal.buckets === 0) return { differences: [], more: false }
    const found = await collect(options, transfers, unequal)
    const differences = [
      ...differencesOfTransfers(options, found),
      ...(await differencesOfRuns(options, transfers, found)),
    ].sort(bySeverity)
    const more = found.more || differences.length >= DIFFERENCES_MAX
    return { differences: differences.slice(0, DIFFERENCES_MAX), more }
  } finally {
    await transfers.close()
  }
}

interface Found {
  readonly runs: ReadonlyMap<string, readonly EndedCall[]>
  readonly landed: ReadonlyMap<string, Transfer>
  readonly more: boolean
}

/** The chain first: a run without a charge matters only where its payment landed, and anybody can send refused ones. */
async function collect(
  { journal, header, listed }: ComparisonOptions,
  transfers: IncomingTransfers,
  unequal: ReturnType<Fingerprints['unequal']>,
): Promise<Found> {
  const landed = new Map<string, Transfer>()
  for await (const page of transfers.to(header.payTo, header.asset, listed))
    for (const transfer of page) if (unequal.has(transfer.txId)) landed.set(transfer.txId, transfer)
  const runs = new Map<string, EndedCall[]>()
  for await (const piece of journal())
    for (const run of piece.runs) {
      const { txId = '' } = run
      if (!landed.has(txId) && !(reportsCharge(run) && unequal.has(txId))) continue
      const key = txId || `none of ${run.id}`
      const known = runs.get(key)
      if (known) known.push(run)
      else runs.set(key, [run])
    }
  return { runs, landed, more: unequal.skipped > 0 }
}

function differencesOfTransfers(
  { transfersIn, runsIn }: ComparisonOptions,
  { runs, landed }: Found,
): Difference[] {
  return [...landed.values()]
    .filter(({ landedMs }) => within(landedMs, transfersIn))
    .flatMap(transfer => {
      const of = runs.get(transfer.txId) ?? []
      const [first] = of.filter(reportsCharge)
      // Runs of the period are compared with their transfers below.
      const booked = first && !within(first.startedMs, runsIn) ? misdated(first, transfer) : undefined
      return unbooked(transfer, of) ?? booked ?? []
    })
}

async function differencesOfRuns(
  options: ComparisonOptions,
  transfers: IncomingTransfers,
  { runs, landed }: Found,
): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const all of runs.values()) {
    if (differences.length >= DIFFERENCES_MAX) return differences
    const bookings = all.filter(reportsCharge)
    const inPeriod = bookings.filter(({ startedMs }) => within(startedMs, options.runsIn))
    if (inPeriod.length === 0) continue
    differences.push(...reportedTwice(bookings))
    const transfer = await transferOf(inPeriod[0]!, landed, transfers)
    if (transfer === undefined) differences.push(await absent(inPeriod[0]!, options))
    else for (const run of inPeriod) differences.push(...unequalParts(run, transfer, options.header))
  }
  return differences
}

async function transferOf({ txId }: EndedCall, landed: Found['landed'], transfers: IncomingTransfers) {
  return txId === undefined ? undefined : (landed.get(txId) ?? (await transfers.find(txId)))
}

async function absent(run: EndedCall, { header, confirmedRound }: ComparisonOptions): Promise<Difference> {
  const round = run.txId === undefined ? undefined : await confirmedRound?.(header, run.txId)
  if (round !== undefined) return differenceOf(run, 'indexer_behind', `the node has it in round ${round}`)
  const named = run.txId === undefined ? 'it names no transaction' : 'its transaction has not landed'
  const amount = formatUsd(paymentOf(run).amount)
  return differenceOf(run, 'missing_transaction', `${amount} was recorded, and ${named}`)
}
