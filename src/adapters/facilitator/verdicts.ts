/**
 * What an answer of a facilitator means. A yes is exactly `true` under exactly 200; a no is exactly `false` from somebody
 * who answered the question; all else decides nothing.
 */
import type { Settlement, Verification } from '../../ports/facilitator.js'
import type { Answer } from './json-transport.js'

const TEXT_LENGTH_MAX = 300

/** The no's after which the payment may still land, or has: it was submitted, perhaps by another call. */
const UNDECIDED = /settlement_pending|settlement_failed|confirmation_failed|already[ _]in[ _]ledger/i

export function verificationOf(answer: Answer): Verification {
  if ('outage' in answer) return { verdict: 'unreachable', cause: answer.outage, down: !answer.stumbled }
  const { status, body } = answer
  if (status === 200 && body.isValid === true) return { verdict: 'valid', ...named('payer', body.payer) }
  if (body.isValid === false && isVerdict(status))
    return { verdict: 'refused', reason: reasonOf(body.invalidReason, body.invalidMessage) }
  return { verdict: 'unreachable', cause: `status ${status} without a verdict`, down: false }
}

export function settlementOf(answer: Answer): Settlement {
  if ('outage' in answer) return { verdict: 'unknown', cause: answer.outage }
  const { status, body } = answer
  if (status === 200 && body.success === true)
    return {
      verdict: 'settled',
      ...named('txId', body.transaction || body.txId),
      ...named('network', body.network),
      ...named('payer', body.payer),
    }
  if (body.success !== false || !isVerdict(status))
    return { verdict: 'unknown', cause: `status ${status} without a verdict` }
  const reason = reasonOf(body.errorReason, body.errorMessage)
  if (isFinalNo(body)) return { verdict: 'refused', reason }
  return { verdict: 'unknown', cause: `no proof that nothing was submitted: ${reason}` }
}

function isVerdict(status: number): boolean {
  return status === 200 || (status >= 400 && status < 500)
}

function isFinalNo(body: Record<string, unknown>): boolean {
  const { transaction, txId, errorReason, errorMessage } = body
  if (!isEmpty(transaction) || !isEmpty(txId)) return false
  if (typeof errorReason !== 'string' || errorReason === '') return false
  return !UNDECIDED.test(errorReason) && !(typeof errorMessage === 'string' && UNDECIDED.test(errorMessage))
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function named<K extends string>(key: K, value: unknown): { readonly [P in K]?: string } {
  const text = printable(value)
  return (text === '' ? {} : { [key]: text }) as { readonly [P in K]?: string }
}

function reasonOf(reason: unknown, message: unknown): string {
  return [printable(reason), printable(message)].filter(text => text !== '').join(': ') || 'no reason given'
}

/** A stranger's text on its way to headers, logs and people: one line of ASCII, and not much of it. */
function printable(value: unknown): string {
  if (typeof value !== 'string') return ''
  return value
    .slice(0, TEXT_LENGTH_MAX)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
}
