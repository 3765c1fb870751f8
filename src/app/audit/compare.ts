/** The chain's side of an audit: every charged run has its transaction, every transaction has its run. */
import type { JournalPiece } from '../../adapters/journal/read-journal.js'
import { formatUsd } from '../../domain/money.js'
import type { Books } from '../../ports/books.js'
import type { IncomingTransfers, Period, Transfer } from '../../ports/incoming-transfers.js'
import type { EndedCall } from '../../ports/witness.js'
import type { Difference, Finding } from './differences.js'
import { type Fingerprints, paymentOf, type Unequal } from './fingerprints.js'
import { within } from './period.js'

export interface ComparisonOptions {
  readonly journal: () => AsyncIterable<JournalPiece>
  readonly transfers: (books: Books) => IncomingTransfers
  readonly confirmedRound?: (books: Books, txId: string) => Promise<bigint | undefined>
  readonly books: Books
  /** Holds the charged runs already. */
  readonly prints: Fingerprints
  readonly runsIn: Period
  readonly transfersIn: Period
  /** What is asked of the chain: wider than both. */
  readonly listed: Period
}

/** Payments that are looked into one by one; some hundred bytes each. */
const PAYMENTS_MAX = 100_000
/** More than anybody reads; each may cost a question to the chain. */
const DIFFERENCES_MAX = 1_000

export async function compareWithChain(
  options: ComparisonOptions,
): Promise<{ readonly differences: readonly Difference[]; readonly more: boolean }> {
  const { books, prints, listed } = options
  const transfers = options.transfers(books)
  try {
    for await (const page of transfers.to(books.payTo, books.asset, listed)) {
      for (const transfer of page) prints.add('chain', transfer)
    }
    const unequal = prints.unequal(PAYMENTS_MAX)
    if (unequal.buckets === 0) return { differences: [], more: false }
    const found = await collect(options, transfers, unequal)
    const differences = await differencesIn(options, transfers, found)
    return { differences, more: found.more || differences.length >= DIFFERENCES_MAX }
  } finally {
    await transfers.close()
  }
}

interface Found {
  /** Runs that name a transaction, by its id. */
  readonly runs: ReadonlyMap<string, readonly EndedCall[]>
  readonly landed: ReadonlyMap<string, Transfer>
  readonly more: boolean
}

/** Reads both sides again, and keeps what lies in the buckets that differ. */
async function collect(
  { journal, books, listed }: ComparisonOptions,
  transfers: IncomingTransfers,
  unequal: Unequal,
): Promise<Found> {
  const runs = new Map<string, EndedCall[]>()
  const landed = new Map<string, Transfer>()
  for await (const piece of journal()) {
    for (const run of piece.runs) {
      if (run.charged === 'no' || !unequal.has(run.txId ?? '')) continue
      const key = run.txId ?? `none of ${run.id}`
      runs.set(key, [...(runs.get(key) ?? []), run])
    }
  }
  for await (const page of transfers.to(books.payTo, books.asset, listed)) {
    for (const transfer of page) if (unequal.has(transfer.txId)) landed.set(transfer.txId, transfer)
  }
  return { runs, landed, more: unequal.skipped > 0 }
}

async function differencesIn(
  options: ComparisonOptions,
  transfers: IncomingTransfers,
  { runs, landed }: Found,
): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const all of runs.values()) {
    if (differences.length >= DIFFERENCES_MAX) return differences
    const charged = all.filter(run => run.charged === 'yes')
    const [run, ...others] = charged
    if (run === undefined || !charged.some(({ startedMs }) => within(startedMs, options.runsIn))) continue
    if (others.length > 0) {
      differences.push(
        of(run, 'charged_twice', `${charged.length} charged runs: ${charged.map(({ id }) => id).join(', ')}`),
      )
    }
    const transfer = await transferOf(run, landed, transfers)
    const difference = transfer ? wrong(run, transfer, options.books) : await absent(run, options)
    if (difference) differences.push(difference)
  }
  for (const transfer of landed.values()) {
    if (!within(transfer.landedMs, options.transfersIn)) continue
    const difference = unexplained(transfer, runs.get(transfer.txId) ?? [])
    if (difference) differences.push(difference)
  }
  return differences.slice(0, DIFFERENCES_MAX)
}

async function transferOf({ txId }: EndedCall, landed: Found['landed'], transfers: IncomingTransfers) {
  return txId === undefined ? undefined : (landed.get(txId) ?? (await transfers.find(txId)))
}

function wrong(run: EndedCall, { receiver, asset, amount }: Transfer, books: Books): Difference | undefined {
  if (asset !== books.asset)
    return of(run, 'wrong_asset', `it moved asset ${asset || 'none'}, not ${books.asset}`)
  if (receiver !== books.payTo) return of(run, 'wrong_receiver', `it paid ${receiver}, not ${books.payTo}`)
  const recorded = paymentOf(run).amount
  if (amount === recorded) return undefined
  return of(run, 'wrong_amount', `${formatUsd(amount)} landed, ${formatUsd(recorded)} was recorded`)
}

async function absent(run: EndedCall, { books, confirmedRound }: ComparisonOptions): Promise<Difference> {
  const round = run.txId === undefined ? undefined : await confirmedRound?.(books, run.txId)
  if (round !== undefined) return of(run, 'indexer_behind', `the node has it in round ${round}`)
  const named = run.txId === undefined ? 'it names no transaction' : 'its transaction has not landed'
  return of(run, 'missing_transaction', `${formatUsd(paymentOf(run).amount)} was recorded, and ${named}`)
}

/** Replayed means answered: a call that died while settling is found paid by the next one under its key. */
function unexplained(transfer: Transfer, runs: readonly EndedCall[]): Difference | undefined {
  if (runs.some(({ charged }) => charged === 'yes' || charged === 'earlier')) return undefined
  const amount = `${formatUsd(transfer.amount)} from ${transfer.payer}`
  const [doubt] = runs
  if (doubt) return of(doubt, 'settled_in_doubt', `${amount} landed`)
  return { finding: 'unexplained_transaction', says: amount, txId: transfer.txId, atMs: transfer.landedMs }
}

function of({ id, endpoint, txId, startedMs }: EndedCall, finding: Finding, says: string): Difference {
  return { finding, says, txId, run: id, endpoint, atMs: startedMs }
}
