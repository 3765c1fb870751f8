/** The calls that are shown, as CSV: what a spreadsheet needs, and no text that it would run. */
import { csvRow } from '../../../domain/untrusted-text.js'
import type { RunView } from '../page-events.js'
import { usd } from './number-format.js'

const COLUMNS = 'time,endpoint,status,outcome,charged,usd,transaction,payer,call,ms'

export function csvOf(runs: readonly RunView[]): string {
  const rows = runs.map(({ startedMs, endpoint, status, final, charged, amount, txId, payer, id, ms }) => {
    const dollars = amount === undefined ? undefined : usd(BigInt(amount)).replace(/[$,]/g, '')
    const time = new Date(startedMs).toISOString()
    return csvRow([time, endpoint, status, final, charged, dollars, txId, payer, id, ms])
  })
  return `${[COLUMNS, ...rows].join('\r\n')}\r\n`
}
