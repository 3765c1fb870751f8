/** What the end of a delivery says about the payment that was in it. */
import type { SignedPayment } from '../../ports/payment-signer.js'
import { errorCodeOf, namesPayment } from './body.js'
import type { Charged } from './errors.js'
import type { HttpReply } from './http-exchange.js'
import { receiptOf } from './receipt.js'
import type { Delivery } from './retry.js'

export function isSuccess({ status, location }: HttpReply): boolean {
  return status >= 200 && status < 300 && location === undefined
}

export function isReplay({ headers }: HttpReply): boolean {
  return headers.get('idempotency-replayed')?.toLowerCase() === 'true'
}

/** Codes that speak of a payment. Our server names the payment beside them; anybody's error can have such a code. */
const MONEY_CODES: ReadonlySet<string | undefined> = new Set([
  'payment_spent',
  'settlement_unknown',
  'payment_in_use',
  'answer_not_written',
])
/** Those that, naming our payment, say that it was charged. */
const CHARGED_CODES: ReadonlySet<string | undefined> = new Set([
  'payment_spent',
  'answer_not_written',
  'answer_not_kept',
])

export function chargedBy({ reply, everLost }: Delivery, signed: SignedPayment): Charged['charged'] {
  if (!reply) return 'maybe'
  if (isSettlementOf(reply, signed)) return 'yes'
  if (isSuccess(reply)) return isReplay(reply) ? chargedByReplay(reply, signed, everLost) : 'yes'
  const code = errorCodeOf(reply)
  if (CHARGED_CODES.has(code) && namesPayment(reply, signed.txId)) return 'yes'
  // Such a word about no payment, or about another one, is no "not charged" either.
  if (MONEY_CODES.has(code)) return 'maybe'
  // x402 servers settle what is below 400: a redirect without a receipt may have been paid for.
  if (reply.status < 400) return 'maybe'
  // The attempt that was lost may have been acted upon, whatever the last answer says of itself.
  return everLost ? 'maybe' : 'no'
}

/** The receipt stands beside any answer that was settled, and a redirect or an error of the handler's can be one. */
function isSettlementOf({ headers }: HttpReply, signed: SignedPayment): boolean {
  const receipt = receiptOf(headers)
  return receipt?.success === true && receipt.txId === signed.txId
}

/** A replay is of an earlier payment, unless it names ours: then the answer that was lost is the one that is replayed. */
function chargedByReplay(reply: HttpReply, signed: SignedPayment, everLost: boolean): Charged['charged'] {
  const txId = receiptOf(reply.headers)?.txId
  if (txId === undefined) return everLost ? 'maybe' : 'no'
  return txId === signed.txId ? 'yes' : 'no'
}
