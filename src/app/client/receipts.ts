/** The payments that this client has sent, for accounting. In memory, and bounded: the oldest go first. */

import { csvRow } from '../../domain/csv.js'
import { usdNumber } from '../../domain/usd-price-for-display.js'
import type { PaymentRequirements } from '../../domain/x402.js'
import type { Charged } from './charge-evidence.js'

/** One payment that was sent. All fields but `status` and `charged` are what was signed, whatever the seller says. */
export interface PaymentRecord {
  /** When it was sent; ISO 8601. */
  readonly at: string
  /** HTTP method of the paid request. */
  readonly method: string
  /** Where it was sent, without a fragment. */
  readonly url: string
  /** Of the answer; absent until there is one, and where none came. */
  readonly status?: number
  /**
   * `maybe` until there is an answer, and where the answer does not show it. `no` is the seller's claim, and stays counted
   * against `maxPerDay`. Where a call needs that room, the chain is asked, and its answer replaces `maybe` or `no`. `yes`: the
   * answer was delivered, the seller took the payment, or the chain has it.
   */
  readonly charged: Charged['charged']
  /** The payment's transaction id. */
  readonly txId: string
  /** Base units. */
  readonly amount: string
  /** The amount in USD. */
  readonly usd: number
  /** The asset's id, in decimal. */
  readonly asset: string
  /** The address that was to be paid. */
  readonly payTo: string
  /** CAIP-2 id, as quoted. */
  readonly network: string
  /** The last round in which the payment can land. */
  readonly lastValid: number
}

/**
 * The payments of a client, oldest first. Iterate it, or take it as JSON or CSV. In memory, and bounded by
 * `receiptsMax`.
 */
export interface Receipts extends Iterable<PaymentRecord> {
  /** How many are remembered. */
  readonly length: number
  /** How many older ones were dropped. */
  readonly dropped: number
  /** Oldest first; what `JSON.stringify` shows. */
  toJSON(): PaymentRecord[]
  /** A line of column names, then a line for each payment. No field can become a formula in a spreadsheet. */
  toCSV(): string
}

export interface ReceiptBook extends Receipts {
  sent(payment: Sent): void
  update(txId: string, known: Pick<PaymentRecord, 'charged'> & { readonly status?: number }): void
}

export interface Sent {
  readonly txId: string
  readonly method: string
  readonly url: URL
  readonly accepted: PaymentRequirements
  readonly lastValid: number
}

const COLUMNS = [
  'at',
  'method',
  'url',
  'status',
  'charged',
  'txId',
  'amount',
  'usd',
  'asset',
  'payTo',
  'network',
] as const satisfies readonly (keyof PaymentRecord)[]

export function receiptBook(max: number, now: () => number): ReceiptBook {
  const records = new Map<string, PaymentRecord>()
  let dropped = 0
  return {
    sent({ txId, method, url, accepted, lastValid }) {
      const { amount, asset, payTo, network } = accepted
      const at = new Date(now()).toISOString()
      const usd = usdNumber(BigInt(amount))
      const terms = { txId, amount, usd, asset, payTo, network, lastValid }
      records.set(txId, { at, method, url: withoutFragment(url), charged: 'maybe', ...terms })
      if (records.size <= max) return
      const [oldest] = records.keys()
      records.delete(oldest!)
      dropped++
    },
    update(txId, known) {
      const record = records.get(txId)
      if (record) records.set(txId, { ...record, ...known })
    },
    get length() {
      return records.size
    },
    get dropped() {
      return dropped
    },
    [Symbol.iterator]: () => records.values(),
    toJSON: () => [...records.values()],
    toCSV() {
      const rows = [COLUMNS, ...[...records.values()].map(record => COLUMNS.map(name => record[name]))]
      return rows.map(row => `${csvRow(row)}\r\n`).join('')
    },
  }
}

function withoutFragment({ href, hash }: URL): string {
  return hash === '' ? href : href.slice(0, -hash.length)
}
