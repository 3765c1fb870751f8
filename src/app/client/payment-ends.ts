/**
 * What the programs of this package say of money when a call or a session ends, in the same words: what this client signed, and
 * what that bought. A seller's answer is named as its words, and only the chain ends a payment.
 */
import { SvcError } from '../../domain/errors.js'
import { formatUsd } from '../../domain/money.js'
import { isRecord } from '../../domain/x402.js'
import type { PaymentRecord } from './receipts.js'
import type { ActiveSubscription } from './result-types.js'

/** A window without its key, where this program did not buy it. */
export type ShownWindow = Omit<ActiveSubscription, 'key'> & { readonly key?: string }

/** What was signed for a call that ends, what that bought, and the key under which its seller keeps the answer. */
export interface PaymentEnd {
  readonly payments: readonly PaymentRecord[]
  readonly windows: readonly ShownWindow[]
  readonly idempotencyKey?: string
}

/** The payments of a call, whose ids its results and errors name. Ids that this client did not sign are a seller's claims. */
export function signedOf(receipts: Iterable<PaymentRecord>, txIds: readonly string[]): PaymentRecord[] {
  return [...receipts].filter(({ txId }) => txIds.includes(txId))
}

/** The ids of the payments that a result or an error of the client names. */
export function txIdsIn(end: unknown): string[] {
  const named = end instanceof SvcError ? end.detail : end
  if (!isRecord(named)) return []
  const { txId, sentTxId, payment } = named
  return [txId, sentTxId, isRecord(payment) ? payment.txId : undefined].filter(
    (id): id is string => typeof id === 'string',
  )
}

/** A line for each payment and each window. */
export function endLines({ payments, windows, idempotencyKey }: PaymentEnd): string[] {
  const kept = idempotencyKey === undefined ? '' : `; idempotency key ${idempotencyKey}`
  return [...payments.map(payment => paymentLine(payment) + kept), ...windows.map(windowLine)]
}

function paymentLine({ txId, amount, payTo, charged, lastValid }: PaymentRecord): string {
  return `payment ${txId}: ${formatUsd(BigInt(amount))} to ${payTo}, ${CHARGED[charged]} round ${lastValid}`
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

/**
 * The same failure, with all that was signed for it and what that bought in its detail. Where nothing was signed it is the error
 * as it was.
 */
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
