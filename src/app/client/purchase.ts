/**
 * Pays one quote, once. It signs the same entry that it checked, and sends the same payment at each attempt. No answer
 * makes it sign a second payment. What comes of it is an answer with what it bought, or the error that says what became of
 * the money.
 */
import type { NetworkFacts } from '../../domain/network.js'
import { usdNumber } from '../../domain/usd-price-for-display.js'
import type { PaymentRequired, PaymentRequirements } from '../../domain/x402.js'
import type { SignedPayment } from '../../ports/payment-signer.js'
import type { HttpRequest } from './build-request.js'
import { contradictions, isOfEarlierPayment, receiptOf } from './charge-evidence.js'
import { callFailed, networkError } from './client-errors.js'
import type { PurchaseDeps, SentOnce } from './purchase-steps.js'
import { keepsKeys, type SelectedRequirements } from './read-quote.js'
import { isSuccess } from './read-response.js'
import type { CallPayment, Warning } from './result-types.js'
import { hasCallersKey, readyPayment, sendPayment } from './send-payment.js'
import type { HttpReply } from './send-request.js'
import type { ActiveSubscription } from './sold-key.js'

export interface Purchase {
  readonly reply: HttpReply
  readonly attempts: number
  readonly payment?: CallPayment
  readonly replayed: boolean
  readonly sentTxId?: string
  readonly idempotencyKey?: string
  readonly subscription?: ActiveSubscription
  readonly warnings: readonly Warning[]
}

export async function purchase(
  request: HttpRequest,
  challenge: PaymentRequired | undefined,
  deps: PurchaseDeps,
): Promise<Purchase> {
  const ready = await readyPayment(request, challenge, deps)
  return outcomeOf(request, await sendPayment(request, ready, deps), deps)
}

/** @throws SvcError `network_error`, `call_failed` */
function outcomeOf(
  request: HttpRequest,
  sentOnce: SentOnce,
  deps: Pick<PurchaseDeps, 'signer' | 'network' | 'hold'>,
): Purchase {
  const { selected, signed, delivery } = sentOnce
  const { accepted } = selected
  const { reply, attempts, cause } = delivery
  const { origin } = request.url
  // Before the body is judged: whatever the answer is, its head may have the key of a window that was paid for.
  const { subscription, warnings: ofWindow = [] } = deps.hold?.(request, sentOnce) ?? {}
  const charged = { ...sentOnce.charged, ...(subscription && { subscription: withoutKey(subscription) }) }
  const warnings = [...selected.warnings, ...ofWindow]
  if (!reply) throw networkError(origin, cause, charged)
  if (!isSuccess(reply) || reply.oversized) throw callFailed(origin, reply, charged)
  const replayed = isOfEarlierPayment(reply, charged)
  const found = replayed ? [] : receiptWarnings(reply, accepted, signed, deps.signer.address, deps.network)
  const payment = replayed ? earlierPayment(reply) : paymentOf(signed.txId, accepted)
  const unkept = !replayed && keyIsUnkept(request, selected) ? [UNKEPT_KEY] : []
  const sent = replayed ? { sentTxId: signed.txId } : { idempotencyKey: charged.idempotencyKey }
  return {
    reply,
    attempts,
    payment,
    replayed: replayed || sentOnce.isProven,
    ...sent,
    ...(subscription && { subscription }),
    warnings: [...warnings, ...unkept, ...found],
  }
}

function withoutKey({ key: _, ...window }: ActiveSubscription): Omit<ActiveSubscription, 'key'> {
  return window
}

/** The caller named a key, and the quote does not say that the seller keeps keys. */
function keyIsUnkept(request: HttpRequest, { challenge }: SelectedRequirements): boolean {
  return hasCallersKey(request) && !keepsKeys(challenge)
}

const UNKEPT_KEY: Warning = {
  code: 'idempotency_not_offered',
  message:
    'The quote does not offer idempotency: another call with this Idempotency-Key may run and be charged again',
}

function receiptWarnings(
  reply: HttpReply,
  accepted: PaymentRequirements,
  signed: SignedPayment,
  payer: string,
  network: NetworkFacts,
): Warning[] {
  const receipt = receiptOf(reply.headers)
  if (!receipt) return [{ code: 'receipt_missing', message: 'The answer came without a readable receipt' }]
  return contradictions(receipt, accepted, signed, payer, network).map(what => ({
    code: 'receipt_mismatch',
    message: `The receipt names ${what}`,
  }))
}

function paymentOf(
  txId: string | undefined,
  { amount, asset }: { amount: string; asset: string },
): CallPayment {
  return { txId, amount, usd: usdNumber(BigInt(amount)), asset }
}

function earlierPayment(reply: HttpReply): CallPayment | undefined {
  const { txId, amount, asset } = receiptOf(reply.headers) ?? {}
  if (amount === undefined || asset === undefined || !/^\d{1,20}$/.test(amount))
    return txId ? { txId } : undefined
  return paymentOf(txId, { amount, asset })
}
