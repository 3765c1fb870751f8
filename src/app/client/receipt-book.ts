/** The book of what was signed, and what it bought. A seller's answer is named as its words, and only the chain ends a payment. */
import { SvcError } from '../../domain/errors.js'
import { formatUsd, usdNumber } from '../../domain/money.js'
import { csvRow } from '../../domain/untrusted-text.js'
import { isRecord, type PaymentRequirements } from '../../domain/x402.js'
import type { Charged } from './charge-evidence.js'
import type { ActiveSubscription, CallPayment } from './result-types.js'

/** One payment that was sent. All fields but `status` and `charged` are what was signed, whatever the seller says. */
export interface PaymentRecord extends Required<CallPayment> {
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
  /** The address that was to be paid. */
  readonly payTo: string
  /** CAIP-2 id, as quoted. */
  readonly network: string
  /** The last round in which the payment can land. */
  readonly lastValid: number
}

/** The payments of a client, oldest first. Iterate it, or take it as JSON or CSV. In memory, and bounded by `receiptsMax`. */
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
      records.set(txId, { at, method, url: url.href.split('#', 1)[0]!, charged: 'maybe', ...terms })
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

/** A window without its key, where this program did not buy it. */
export type ShownWindow = Omit<ActiveSubscription, 'key'> & { readonly key?: string }

/** What was signed for a call that ends, what that bought, and the key under which its seller keeps the answer. */
export interface PaymentEnd {
  readonly payments: readonly PaymentRecord[]
  readonly windows: readonly ShownWindow[]
  readonly idempotencyKey?: string
}

export function endLines({ payments, windows, idempotencyKey }: PaymentEnd): string[] {
  const kept = idempotencyKey === undefined ? '' : `; idempotency key ${idempotencyKey}`
  const line = ({ txId, amount, payTo, charged, lastValid }: PaymentRecord) =>
    `payment ${txId}: ${formatUsd(BigInt(amount))} to ${payTo}, ${CHARGED[charged]} round ${lastValid}${kept}`
  return [...payments.map(line), ...windows.map(windowLine)]
}

/** A payment that was signed can land until its last round, whatever its seller says. */
const CHARGED = {
  yes: 'charged; it was valid until',
  maybe: 'perhaps charged: it can land until',
  no: 'not charged, says the seller: it can land until',
} as const satisfies Record<PaymentRecord['charged'], string>

function windowLine({ url, key, expiresAt, remaining }: ShownWindow): string {
  const until = expiresAt === undefined ? '' : `, until ${new Date(expiresAt).toISOString()}`
  const calls = remaining === undefined ? '' : `, ${remaining} calls left`
  return `window of ${url}${until}${calls}${key === undefined ? '' : `; window key ${key}`}`
}

/** With what was signed for it, and what that bought, in its detail. Where nothing was signed it is the error as it was. */
export function failedAfter(cause: unknown, { payments, windows, idempotencyKey }: PaymentEnd): unknown {
  if (payments.length === 0) return cause
  const known = cause instanceof SvcError ? cause : undefined
  const message = cause instanceof Error ? cause.message : String(cause)
  const error = new SvcError(message, known?.code ?? 'internal_error', known?.status, {
    ...(isRecord(known?.detail) ? known.detail : {}),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    payments,
    ...(windows.length > 0 && { windows }),
  })
  afterPayment.add(error)
  return error
}

const afterPayment = new WeakSet<object>()

/** Whether {@link failedAfter} made it. The detail of an error does not say so: much of it is a seller's. */
export function isAfterPayment(error: object): boolean {
  return afterPayment.has(error)
}
