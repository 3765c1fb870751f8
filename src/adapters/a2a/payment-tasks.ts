/** Tasks that are not completed, as https://github.com/google-a2a/a2a-x402 v0.1 has them, with payloads of x402 v2. */
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { PaymentRequired, Receipt } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import { problemData } from './outcome-to-rpc-response.js'
import type { TaskContent } from './task-rendering.js'

export function waitingTask(required: PaymentRequired): TaskContent {
  return {
    state: 'input-required',
    said: required.error ?? 'Payment required',
    metadata: { 'x402.payment.status': 'payment-required', 'x402.payment.required': required },
  }
}

export function declinedTask(): TaskContent {
  return {
    state: 'failed',
    said: 'The payment was declined. Nothing was done, and nothing was charged.',
    metadata: { 'x402.payment.status': 'payment-rejected' },
  }
}

/** Nothing was charged: the payment was refused or did not settle, or the work failed. */
export function failedTask(outcome: ChargeOutcome): TaskContent {
  const error = problemData(outcome)
  const { code, message } = error
  return {
    state: 'failed',
    said: message,
    metadata: {
      'x402.payment.status': 'payment-failed',
      'x402.payment.error': errorOf(outcome, code, message),
      'x402.payment.receipts': [outcome.receipt ?? noReceipt(outcome, message)],
      'svc.error': error,
    },
  }
}

/** The steps after which a payment has too few rounds left. */
const EXPIRED = new Set(['verifying.expiring', 'delivering.expired', 'recording.expired'])

/** The extension's own words where it has one, else our code in its spelling. */
function errorOf({ final, path }: ChargeOutcome, code: string, message: string): string {
  if (path.some(step => EXPIRED.has(step))) return 'EXPIRED_PAYMENT'
  if (OUTCOMES[final].kind === 'payment') {
    if (/insufficient|underflow|overspend/i.test(message)) return 'INSUFFICIENT_FUNDS'
    if (/signature/i.test(message)) return 'INVALID_SIGNATURE'
    if (final === 'unsettled') return 'SETTLEMENT_FAILED'
  }
  return code.toUpperCase()
}

function noReceipt({ challenge }: ChargeOutcome, errorReason: string): Partial<Receipt> {
  const network = challenge?.required.accepts[0]?.network
  return { success: false, errorReason, transaction: '', ...(network !== undefined && { network }) }
}
