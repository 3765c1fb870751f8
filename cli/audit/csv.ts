/** Payments as a spreadsheet reads them, each beside the run that books it. */
import { formatUsd } from '../../src/domain/money.js'
import type { EndedCall } from '../../src/ports/call-observer.js'

const COLUMNS = ['time', 'endpoint', 'usd', 'base units', 'asset', 'transaction', 'payer', 'run'] as const

export const CSV_HEAD = COLUMNS.join(',')

export function csvRow({ startedMs, endpoint, amount = '0', asset, txId, payer, id }: EndedCall): string {
  const usd = formatUsd(BigInt(amount)).slice(1)
  return [new Date(startedMs).toISOString(), endpoint, usd, amount, asset, txId, payer, id]
    .map(cell)
    .join(',')
}

/** A payer is what a payment says it is: a cell that begins like a formula would be one where it is opened. */
function cell(value = ''): string {
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
