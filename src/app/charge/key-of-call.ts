/** The idempotency key of a call, from the two places that can name it: the header and the payment. */
import { identifierIn } from '../../domain/idempotency-key.js'
import type { PaymentPayload } from '../../domain/x402.js'
import type { ChargeRequest, Problem } from '../../ports/charge.js'
import type { Rules } from './charge-deps.js'

/** `problem` says why the request cannot be accepted as it is. A call without a key has neither. */
export interface CallKey {
  readonly key?: string
  readonly problem?: Problem
}

const NO_KEY: CallKey = {}

/**
 * Decided before anything is held or verified, so a wrong key costs nothing. A key is demanded of payments only: other
 * requests risk nothing, and need the quote, which says that a key is required.
 */
export function keyOfCall(
  { idempotency }: Rules,
  { idempotencyKey: header, task }: ChargeRequest,
  payload: PaymentPayload | undefined,
): CallKey {
  const id = idempotency && payload && identifierIn(payload)
  if (id === 'malformed') return MALFORMED
  // The task names the call. A header belongs to one request: with a new one, a paid answer that was lost was out of reach.
  if (task !== undefined) return { key: id ?? keyOfTask(task) }
  if (idempotency === undefined) return NO_KEY
  if (id !== undefined && header !== undefined && id !== header) return DIFFERENT
  const key = header ?? id
  if (key !== undefined) return { key }
  return idempotency.required && payload !== undefined ? REQUIRED : NO_KEY
}

/** The key of a task's call whose payment has no id. */
export function keyOfTask(task: string): string {
  return `task:${task}`
}

const MALFORMED = refused(
  'invalid_payment_identifier',
  'The id of the extension payment-identifier is 16 to 128 characters of A-Z, a-z, 0-9, _ and -.',
)

const DIFFERENT = refused(
  'idempotency_key_mismatch',
  'The Idempotency-Key and the id of the extension payment-identifier differ; they are two places for one key.',
)

const REQUIRED = refused(
  'idempotency_key_required',
  'A paid call needs a key here: an Idempotency-Key, or an id in the extension payment-identifier. Send the same payment again with one.',
)

function refused(code: string, message: string): CallKey {
  return { problem: { code, message: `${message} You were not charged.` } }
}
