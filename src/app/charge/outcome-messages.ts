/**
 * The message of each final state for a caller who gets no answer: what happened, whether it was charged, and what to
 * do next.
 */
import type { ChargeFinal } from '../../domain/machines/charge.machine.js'

export const MESSAGES = {
  settled: 'Settled.',
  served: 'Served.',
  replayed: 'Replayed.',
  answerNotKept:
    'An earlier call with this key or payment was charged, but its answer was not kept: it was too large, or its stream broke. It is not charged again: look txId up, or use a new key for a new call.',
  quoted: 'This call is paid for. The PAYMENT-REQUIRED header says what and how.',
  refused: 'The payment was refused. You were not charged.',
  unsettled: 'The payment was not settled. You were not charged; a new payment may be tried.',
  inDoubt:
    'The payment was submitted and its settlement is not known yet. Do not pay again: look txId up, or send the same request again.',
  undecided:
    'An earlier call with this key was settling and its outcome is not known yet. Do not pay again: send the same request again later.',
  invalid:
    'The input does not satisfy the endpoint’s schema. Nothing was charged by this request; correct the field and send it again.',
  inProgress:
    'A call with this Idempotency-Key is in progress; it may charge its own payment, once. Send the same request again to get its answer.',
  keyReused:
    'This Idempotency-Key was used with another body. Nothing was charged by this request; use a new key for a new request.',
  paymentInUse: 'This very payment is being worked for by another call. It is charged at most once.',
  paymentSpent: 'This very payment was already spent. It is charged only once; look txId up on chain.',
  superseded:
    'Another call took this key or payment over, and may charge it, once. Send the same request again to get its answer.',
  tooManyUnpaid:
    'Too many calls of this payer are at work or were not paid. This call was not run and not charged; send the same request again after Retry-After seconds.',
  limited: 'Too many calls. Nothing was charged by this request; try again after Retry-After seconds.',
  abandoned: 'The caller hung up. Nothing was charged.',
  failed: 'The handler failed. You were not charged.',
  unpriced: 'The price of this call cannot be worked out. You were not charged.',
  broken: 'Something broke on our side. You were not charged.',
  unavailable: 'The facilitator does not answer. You were not charged; try again later.',
  shuttingDown:
    'This server is shutting down. Nothing was charged by this request; try again elsewhere or later.',
  timedOut: 'The handler took too long. You were not charged.',
} as const satisfies Record<ChargeFinal, string>
