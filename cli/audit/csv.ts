/** Writes payments as CSV for spreadsheets, each with the run that books it. */
import { csvRow } from '../../src/domain/csv.js'
import { formatUsd } from '../../src/domain/money.js'
import type { EndedCall } from '../../src/ports/call-observer.js'

const COLUMNS = ['time', 'endpoint', 'usd', 'base units', 'asset', 'transaction', 'payer', 'run'] as const

export const CSV_HEAD = csvRow(COLUMNS)

export function csvOf({ startedMs, endpoint, amount = '0', asset, txId, payer, id }: EndedCall): string {
  const usd = formatUsd(BigInt(amount)).slice(1)
  return csvRow([new Date(startedMs).toISOString(), endpoint, usd, amount, asset, txId, payer, id])
}
