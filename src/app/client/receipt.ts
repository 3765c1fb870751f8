/** The seller's receipt, held against the payment that was signed. What was signed is the fact; the receipt is a claim. */

import { networkOf } from '../../domain/network.js'
import {
  decodeAnswerHeader,
  isRecord,
  PAYMENT_RESPONSE_HEADER,
  type PaymentRequirements,
} from '../../domain/x402.js'
import type { SignedPayment } from '../../ports/payment-signer.js'

export interface ReadReceipt {
  readonly success?: boolean
  readonly txId?: string
  readonly amount?: string
  readonly asset?: string
  readonly network?: string
  readonly payer?: string
  readonly payTo?: string
  readonly errorReason?: string
}

/** `undefined` where there is no receipt, or none that can be read. */
export function receiptOf(headers: Headers): ReadReceipt | undefined {
  const header = headers.get(PAYMENT_RESPONSE_HEADER) ?? headers.get(`X-${PAYMENT_RESPONSE_HEADER}`)
  const value = header === null ? undefined : decodeAnswerHeader(header)
  if (!isRecord(value)) return undefined
  const text = (key: string) => (typeof value[key] === 'string' && value[key] !== '' ? value[key] : undefined)
  return {
    success: typeof value.success === 'boolean' ? value.success : undefined,
    txId: text('txId') ?? text('transaction'),
    amount: text('amount'),
    asset: text('asset'),
    network: text('network'),
    payer: text('payer'),
    payTo: text('payTo'),
    errorReason: text('errorReason'),
  }
}

/** What a receipt says otherwise than what was signed, a phrase each. What it leaves out is no contradiction. */
export function contradictions(
  receipt: ReadReceipt,
  accepted: PaymentRequirements,
  signed: SignedPayment,
  payer: string,
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
  if (receipt.network !== undefined && networkOf(receipt.network) !== networkOf(accepted.network)) {
    found.push(`network ${receipt.network} instead of ${accepted.network}`)
  }
  if (receipt.success === false) found.push('no success')
  return found
}
