/** A seller's books: the journals of an agent, held against the chain that they name. `svc audit` and `svc refunds` print them. */
import { algodClient } from '../adapters/algorand/algod-and-indexer.js'
import type { NodeOptions } from '../adapters/algorand/ask-node.js'
import { formatUsd } from '../domain/money.js'
import type { NetworkKey } from '../domain/network.js'
import { csvRow } from '../domain/untrusted-text.js'
import type { EndedCall } from '../ports/call-observer.js'
import { systemClock } from '../ports/clock.js'
import { auditedUntilMs, journalOf, markAudited } from './journal/append-to-files.js'
import { fileBehind } from './journal/journal-lock.js'
import { type JournalPiece, openJournals, readPieces } from './journal/journal-reader.js'
import type { JournalHeader } from './journal/line-format.js'
import type { IncomingTransfers, Period } from './reconciliation/incoming-transfers.js'
import { indexedTransfers } from './reconciliation/incoming-transfers.js'
import { type OwedReport, owedRefunds } from './reconciliation/owed-refunds.js'
import {
  AT_WORK_MS,
  type ReconciliationReport,
  reconcileJournal,
} from './reconciliation/reconciliation-report.js'

export interface BooksOptions {
  readonly files: readonly string[]
  /** What running agents remember, as their audit pages send it. */
  readonly remembered?: readonly AsyncIterable<Uint8Array>[]
  /** Whom to ask about the network of the journals. */
  readonly remotes: (network: NetworkKey) => { algod(): NodeOptions; indexer(): NodeOptions }
  /** @default from the beginning of the first journal to a minute ago */
  readonly period: Partial<Period>
}

export interface AuditOptions {
  /** Called with each run that books a payment, in the journals' order. */
  readonly onBooked?: ((run: EndedCall) => void) | undefined
  /** Called where a journal cannot be marked as audited: its server will not know of this audit. */
  readonly onUnmarked?: (file: string, cause: Error) => void
}

/** Ask `audit` or `owed`, and once: each closes the files. */
export interface Books {
  audit(options: AuditOptions): Promise<ReconciliationReport>
  /** @param sent payments without a note that the seller knows to be refunds */
  owed(sent: ReadonlySet<string>): Promise<OwedReport>
}

/** Opens them all at once, so that nothing that servers delete or add meanwhile matters. @throws NodeJS.ErrnoException */
export async function openBooks({ remembered = [], remotes, period, ...all }: BooksOptions): Promise<Books> {
  // `svc audit journals/*` names what stands beside a journal, too.
  const files = all.files.filter(path => !/\.(audited|lock)$/.test(path))
  const [pages, journals] = await Promise.all([Promise.all(remembered.map(allOf)), openJournals(files)])
  const asked = {
    period,
    async *journal() {
      yield* journals.pieces()
      for (const page of pages) yield* page
    },
    transfers: ({ network }: JournalHeader): IncomingTransfers =>
      indexedTransfers(remotes(network).indexer()),
  }
  return {
    async audit({ onBooked, onUnmarked }) {
      const confirmedRound = async ({ network }: JournalHeader, txId: string) => {
        const node = algodClient(remotes(network).algod())
        return node.confirmedRound(txId).finally(node.close)
      }
      const report = await reconcileJournal({ ...asked, confirmedRound, onBooked }).finally(journals.close)
      await markFiles(files, period, report, onUnmarked)
      return report
    },
    owed: sent => owedRefunds({ ...asked, knownRefunds: sent }).finally(journals.close),
  }
}

/** They are kept: a page is read twice, and a second request could get other calls. */
async function allOf(page: AsyncIterable<Uint8Array>): Promise<readonly JournalPiece[]> {
  const pieces: JournalPiece[] = []
  for await (const piece of readPieces(page)) pieces.push(piece)
  return pieces
}

/** The server deletes the oldest file of a full journal, and warns of one that no audit has read: this says which it has read. */
async function markFiles(
  files: readonly string[],
  { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY }: Partial<Period>,
  { openedMs = Number.NEGATIVE_INFINITY, more }: ReconciliationReport,
  onUnmarked: AuditOptions['onUnmarked'],
): Promise<void> {
  const untilMs = Math.min(toMs, systemClock.now() - AT_WORK_MS)
  for (const path of files.map(fileBehind).filter(file => journalOf(file) === file)) {
    const isGap = fromMs > Math.max(openedMs, auditedUntilMs(path))
    if (!more && !isGap) await markAudited(path, untilMs).catch(cause => onUnmarked?.(path, cause))
  }
}

export const PAYMENT_COLUMNS = csvRow([
  ...['time', 'endpoint', 'usd', 'base units', 'asset', 'transaction', 'payer', 'run', 'memo'],
])

export function paymentRow({ startedMs, endpoint, amount = '0', asset, txId, payer, id }: EndedCall): string {
  const usd = formatUsd(BigInt(amount)).slice(1)
  const memo = `x402 call of ${endpoint}`
  return csvRow([new Date(startedMs).toISOString(), endpoint, usd, amount, asset, txId, payer, id, memo])
}

export const DAY_COLUMNS = csvRow(['date', 'endpoint', 'payments', 'usd', 'base units', 'asset', 'memo'])

/** For those who do not book each payment: what an endpoint took in a day (UTC). */
export function dayRow(
  { day, endpoint, charged, takenBaseUnits }: ReconciliationReport['days'][number],
  { asset, network }: JournalHeader,
): string {
  const usd = formatUsd(takenBaseUnits).slice(1)
  const memo = `x402 sales of ${endpoint} on ${network}`
  return csvRow([day, endpoint, charged, usd, String(takenBaseUnits), asset, memo])
}
