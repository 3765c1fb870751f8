/** What the end of a delivery says about the payment that was in it. */
import type { SignedPayment } from '../../ports/payment-signer.js'
import { errorCodeOf } from './body.js'
import type { Reply } from './exchange.js'
import type { Charged } from './failures.js'
import { receiptOf } from './receipt.js'
import { type Delivery, isStillWorking } from './retry.js'

export function isSuccess({ status, location }: Reply): boolean {
  return status >= 200 && status < 300 && location === undefined
}

export function isReplay({ headers }: Reply): boolean {
  return headers.get('idempotency-replayed')?.toLowerCase() === 'true'
}

export function chargedBy(delivery: Delivery, signed: SignedPayment): Charged['charged'] {
  const { reply, everLost } = delivery
  if (!reply) return 'maybe'
  if (isSuccess(reply)) return isReplay(reply) ? chargedByReplay(reply, signed, everLost) : 'yes'
  const code = errorCodeOf(reply)
  if (code === 'payment_spent') return 'yes'
  if (code === 'settlement_unknown') return 'maybe'
  // The attempt that was lost may be the one that is being worked on, or the one that spent the payment now refused.
  return everLost && (reply.status === 402 || isStillWorking(reply)) ? 'maybe' : 'no'
}

/** A replay is of an earlier payment, unless it names ours: then the answer that was lost is the one that is replayed. */
function chargedByReplay(reply: Reply, signed: SignedPayment, everLost: boolean): Charged['charged'] {
  const txId = receiptOf(reply.headers)?.txId
  if (txId === undefined) return everLost ? 'maybe' : 'no'
  return txId === signed.txId ? 'yes' : 'no'
}
