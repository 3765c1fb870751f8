/**
 * The meaning of a facilitator's response. A yes is exactly `true` with status 200. A no is exactly `false` from a facilitator
 * that answered the request. Any other answer decides nothing, and what is no JSON object from the facilitator itself is an outage.
 */
import { isRecord } from '../../domain/x402.js'
import type { ExchangeReply } from '../../ports/exchange.js'
import type { Settlement, Verification } from '../../ports/facilitator.js'

/** The largest honest response is a `/supported` that lists every chain: a few KiB. */
export const ANSWER_BYTES_MAX = 64 * 1024

export type Answer =
  | { readonly status: number; readonly body: Record<string, unknown> }
  | {
      readonly outage: string
      /** Whether a response came that is not a gateway's error. */
      readonly spoke: boolean
      /** A 4xx: the host does not take this request, and may take the next. */
      readonly ofRequest?: true
    }

/** Whether a status is an outage, whatever its body says. 408 and 429 concern the request, not the payment. */
export function isOutage(status: number): boolean {
  return (status >= 300 && status < 400) || status >= 500 || status === 408 || status === 429
}

export function answerOf(reply: ExchangeReply): Answer {
  if ('failed' in reply) return { outage: reply.failed, spoke: false }
  const { status, text } = reply
  if (isOutage(status)) return outage(status, `status ${status}`)
  try {
    const body: unknown = JSON.parse(text)
    if (isRecord(body)) return { status, body }
  } catch {
    // Reported below: text that is not JSON, and JSON that is no object, are the same outage.
  }
  return outage(status, `status ${status} without a JSON object`)
}

function outage(status: number, words: string): Answer {
  return isOfRequest(status)
    ? { outage: words, spoke: true, ofRequest: true }
    : { outage: words, spoke: status < 300 }
}

function isOfRequest(status: number): boolean {
  return status >= 400 && status < 500
}

const TEXT_LENGTH_MAX = 300

/**
 * The reasons that a facilitator gives before it submits anything: only these refuse a settlement. (First built as a list of
 * exceptions: `unexpected_settle_error`, `transaction_timeout` and `network_error`, which real facilitators send for
 * time-outs, were taken for a no although the payment had landed.)
 *
 * The `invalid_exact_avm` names are those of `@x402/avm` 2.26 that come before it submits; `settlement_failed` and
 * `confirmation_failed` come after.
 */
const BEFORE_SUBMITTING = new RegExp(
  `^(${[
    'insufficient_funds',
    'invalid_payload',
    'invalid_scheme',
    'invalid_network',
    'invalid_payment_requirements',
    'invalid_x402_version',
    'unsupported_[a-z_]+',
    'invalid_exact_avm_(invalid_version|scheme|network_mismatch|payload|group_size_exceeded|payment_index)',
    'invalid_exact_avm_(invalid_transaction|unsigned_non_facilitator|invalid_group_id|invalid_signature)',
    'invalid_exact_avm_(facilitator_transferring|not_asset_transfer|payment_not_signed|invalid_fee_payer)',
    'invalid_exact_avm_(amount|receiver|asset)_mismatch',
    'invalid_exact_avm_(fee_too_high|simulation_failed)',
    // Of our own facilitator, and of the sandbox's.
    'invalid_exact_avm_(payment_close_to|payment_rekey|extra_sponsor|sponsor_fee|not_canonical)',
    'sponsor_budget_exhausted',
  ].join('|')})$`,
)

/** Compares letters only, so that "already in ledger", `ALREADY_IN_LEDGER` and `alreadyInLedger` are equal. */
const IN_LEDGER =
  /already(been)?(in|on|part)?(of)?(the)?(ledger|block|chain|spent|settled|submitted|processed|confirmed|used)/
/** With these words no reason decides: a node also says "txn dead" of a transaction that has landed. */
const DECIDES_NOTHING = /already|txndead|unexpectederror/

export function verificationOf(answer: Answer): Verification {
  if ('outage' in answer) return { verdict: 'unreachable', cause: answer.outage, down: !answer.ofRequest }
  const { status, body } = answer
  if (status === 200 && body.isValid === true) return { verdict: 'valid', payer: named(body.payer) }
  if (body.isValid !== false || !isVerdict(status))
    return { verdict: 'unreachable', cause: `status ${status} without a verdict`, down: false }
  const reason = reasonOf(body.invalidReason, body.invalidMessage)
  const isSpent = IN_LEDGER.test(lettersOf(body.invalidReason, body.invalidMessage))
  return { verdict: isSpent ? 'spent' : 'refused', reason }
}

export function settlementOf(answer: Answer): Settlement {
  if ('outage' in answer) return { verdict: 'unknown', cause: answer.outage }
  const { status, body } = answer
  if (status === 200 && body.success === true)
    return {
      verdict: 'settled',
      txId: named(body.transaction || body.txId),
      network: named(body.network),
      payer: named(body.payer),
    }
  if (body.success !== false || !isVerdict(status))
    return { verdict: 'unknown', cause: `status ${status} without a verdict` }
  const reason = reasonOf(body.errorReason, body.errorMessage)
  const letters = lettersOf(body.errorReason, body.errorMessage)
  if (body.submittedBefore === true) return { verdict: 'spent', reason, submittedBefore: true }
  if (IN_LEDGER.test(letters)) return { verdict: 'spent', reason }
  if (isFinalNo(body) && !DECIDES_NOTHING.test(letters)) return { verdict: 'refused', reason }
  return { verdict: 'unknown', cause: `no proof that nothing was submitted: ${reason}` }
}

function isVerdict(status: number): boolean {
  return status === 200 || isOfRequest(status)
}

function isFinalNo({ transaction, txId, errorReason }: Record<string, unknown>): boolean {
  return (
    isEmpty(transaction) &&
    isEmpty(txId) &&
    typeof errorReason === 'string' &&
    BEFORE_SUBMITTING.test(errorReason)
  )
}

/** Reads the whole texts, however long: only their display is shortened. */
function lettersOf(...texts: readonly unknown[]): string {
  const said = texts.filter(text => typeof text === 'string').join('')
  return said.toLowerCase().replace(/[^a-z]/g, '')
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function named(value: unknown): string | undefined {
  return printable(value) || undefined
}

function reasonOf(reason: unknown, message: unknown): string {
  return [printable(reason), printable(message)].filter(text => text !== '').join(': ') || 'no reason given'
}

/** Foreign text for headers, logs and people: one short line of ASCII. */
function printable(value: unknown): string {
  if (typeof value !== 'string') return ''
  return value
    .slice(0, TEXT_LENGTH_MAX)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
}
