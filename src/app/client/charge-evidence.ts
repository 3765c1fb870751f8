/** What was signed is the fact; the receipt and every error code are claims of the seller. */
import { parseBaseUnits, usdNumber } from '../../domain/money.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import {
  decodeAnswerHeader,
  isRecord,
  PAYMENT_RESPONSE_HEADER,
  type PaymentRequirements,
} from '../../domain/x402.js'
import type { SignedPayment } from '../../ports/payment-signer.js'
import { errorCodeOf, type HttpReply, isSuccess, namesPayment } from './http-reply.js'
import type { ActiveSubscription, BalanceReceipt, CallPayment, Warning } from './result-types.js'

/** Whether a failed call's payment was charged. */
export interface Charged {
  readonly txId: string
  /** Base units. */
  readonly amount: string
  /** The last round in which the payment can land. */
  readonly lastValid: number
  /** `no` is the seller's claim; the chain was asked once. All three count against the daily cap until the chain proves a no. */
  readonly charged: 'no' | 'maybe' | 'yes'
  /** The key of the call, where the seller says that it keeps keys: a call with it may get the answer that was lost. */
  readonly idempotencyKey?: string
  /** The window that was bought, without its key: `activeSubscriptions` has that. */
  readonly subscription?: Omit<ActiveSubscription, 'key'>
}

/** Codes that are about a payment. Our server names the payment beside them; any other server may use the same code. */
const MONEY_CODES: ReadonlySet<string | undefined> = new Set([
  'payment_spent',
  'settlement_unknown',
  'payment_in_use',
  'answer_not_written',
])
// Not `payment_spent`: a payment that never landed gets it too, once it can land no more. The chain is asked.
const CHARGED_CODES: ReadonlySet<string | undefined> = new Set(['answer_not_written', 'answer_not_kept'])

/**
 * `everLost`: some attempt had no whole answer, and may have been acted upon. `reply`: the last attempt's, if it had one.
 * `mayReplay`: the caller named the idempotency key. A key that this call made has paid for nothing else, so whatever is delivered
 * for it was paid by this payment, or will be.
 */
export function chargedBy(
  { reply, everLost }: { readonly reply?: HttpReply; readonly everLost: boolean },
  signed: SignedPayment,
  mayReplay: boolean,
): Charged['charged'] {
  if (!reply) return 'maybe'
  if (isSettlementOf(reply, signed)) return 'yes'
  if (isSuccess(reply)) return mayReplay && isReplay(reply) ? chargedByReplay(reply, signed, everLost) : 'yes'
  const code = errorCodeOf(reply)
  if (CHARGED_CODES.has(code) && namesPayment(reply, signed.txId)) return 'yes'
  // Without our payment's id the code is no evidence, not even of "not charged".
  if (MONEY_CODES.has(code)) return 'maybe'
  // x402 servers settle what is below 400: a redirect without a receipt may have been paid for.
  if (reply.status < 400) return 'maybe'
  // The seller may have acted upon the lost attempt, whatever it says about the last one.
  return everLost ? 'maybe' : 'no'
}

/** The receipt stands beside any answer that was settled, also beside a redirect or an error of the handler's. */
export function isSettlementOf({ headers }: HttpReply, signed: SignedPayment): boolean {
  const receipt = receiptOf(headers)
  return receipt?.success === true && receipt.txId === signed.txId
}

export function isReplay({ headers }: Pick<HttpReply, 'headers'>): boolean {
  return headers.get('idempotency-replayed')?.toLowerCase() === 'true'
}

/** The answer was sold by an earlier payment, and this call's was not charged. */
export function isOfEarlierPayment(
  reply: HttpReply | undefined,
  { charged }: Pick<Charged, 'charged'>,
): boolean {
  return reply !== undefined && isSuccess(reply) && isReplay(reply) && charged === 'no'
}

/** A replay belongs to an earlier payment, unless it names ours: then it repeats the answer that was lost. */
function chargedByReplay(reply: HttpReply, signed: SignedPayment, everLost: boolean): Charged['charged'] {
  const txId = receiptOf(reply.headers)?.txId
  if (txId === undefined) return everLost ? 'maybe' : 'no'
  return txId === signed.txId ? 'yes' : 'no'
}

const RECEIPT_TEXTS = ['amount', 'asset', 'network', 'payer', 'payTo', 'errorReason'] as const

export type SellerReceipt = { readonly success?: boolean; readonly txId?: string } & {
  readonly [Text in (typeof RECEIPT_TEXTS)[number]]?: string
}

export function receiptOf(headers: Headers): SellerReceipt | undefined {
  const header = headers.get(PAYMENT_RESPONSE_HEADER) ?? headers.get(`X-${PAYMENT_RESPONSE_HEADER}`)
  const value = header === null ? undefined : decodeAnswerHeader(header)
  if (!isRecord(value)) return undefined
  const text = (key: string) => (typeof value[key] === 'string' && value[key] !== '' ? value[key] : undefined)
  return {
    ...Object.fromEntries(RECEIPT_TEXTS.map(key => [key, text(key)])),
    success: typeof value.success === 'boolean' ? value.success : undefined,
    txId: text('txId') ?? text('transaction'),
  }
}

export function paymentOf(
  txId: string | undefined,
  { amount, asset }: { readonly amount: string; readonly asset: string },
): CallPayment {
  return { txId, amount, usd: usdNumber(BigInt(amount)), asset }
}

export function earlierPayment({ headers }: HttpReply): CallPayment | undefined {
  const { txId, amount, asset } = receiptOf(headers) ?? {}
  if (amount !== undefined && asset !== undefined && /^\d{1,20}$/.test(amount))
    return paymentOf(txId, { amount, asset })
  return txId ? { txId } : undefined
}

export function receiptWarnings(
  { headers }: HttpReply,
  accepted: PaymentRequirements,
  signed: SignedPayment,
  payer: string,
  network: NetworkFacts,
): Warning[] {
  const receipt = receiptOf(headers)
  if (!receipt) return [{ code: 'receipt_missing', message: 'The answer came without a readable receipt' }]
  return contradictions(receipt, accepted, signed, payer, network).map(what => ({
    code: 'receipt_mismatch',
    message: `The receipt names ${what}`,
  }))
}

/** The fields in which a receipt differs from what was signed, a phrase each. A field that it leaves out does not differ. */
export function contradictions(
  receipt: SellerReceipt,
  accepted: PaymentRequirements,
  signed: SignedPayment,
  payer: string,
  network: NetworkFacts,
): string[] {
  const pairs: [string, string | undefined, string][] = [
    ['transaction', receipt.txId, signed.txId],
    ['amount', receipt.amount, accepted.amount],
    ['asset', receipt.asset, accepted.asset],
    ['payer', receipt.payer, payer],
    ['receiver', receipt.payTo, accepted.payTo],
  ]
  const found = pairs
    .filter(([, said, signedValue]) => said !== undefined && said !== signedValue)
    .map(([name, said, signedValue]) => `${name} ${said} instead of ${signedValue}`)
  if (receipt.network !== undefined && !isIdOf(network, receipt.network))
    found.push(`network ${receipt.network} instead of ${accepted.network}`)
  if (receipt.success === false) found.push('no success')
  return found
}

const ID = /^[\w-]{1,128}$/

/** What the seller says of a call on a balance. What cannot be read is left out. */
export function balanceIn({ headers }: Pick<HttpReply, 'headers'>) {
  const [charged, reserved, left] = ['charged', 'reserved', 'balance'].map(name =>
    parseBaseUnits(headers.get(`x-svc-${name}`)),
  )
  const [taken = 0n, most = 0n] = [charged, reserved]
  const receipt = receiptIn(headers.get('x-svc-receipt'))
  return {
    taken: taken > most ? taken : most,
    reserved,
    balance: {
      ...(charged !== undefined && { charged: String(charged) }),
      ...(left !== undefined && { left: String(left) }),
      ...(receipt && { receipt }),
    },
  }
}

function receiptIn(header: string | null): BalanceReceipt | undefined {
  const { balance, call, ...units } = (header !== null && decodeAnswerHeader(header)) || {}
  const [charged, left] = [units.charged, units.left].map(value => parseBaseUnits(String(value)))
  const isNamed = [balance, call].every(id => typeof id === 'string' && ID.test(id))
  if (!isNamed || charged === undefined || left === undefined) return undefined
  return { balance: String(balance), call: String(call), charged: String(charged), left: String(left) }
}
