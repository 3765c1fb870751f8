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
