/**
 * Codes by which this server reports the outcome of a call and its payment. Callers, this package's client among
 * them, act on them.
 */
import { OUTCOMES } from './machines/charge.machine.js'

/** Codes that replace a final state's own code where a call knows more, and codes that are sent before a call exists. */
const SAID_BESIDE = [
  'invalid_json',
  'invalid_text',
  'invalid_idempotency_key',
  'invalid_payment_identifier',
  'node_unavailable',
  'store_unavailable',
]

const RESERVED: ReadonlySet<string> = new Set([
  ...Object.values(OUTCOMES).map(({ code }) => code),
  ...SAID_BESIDE,
])

/** All codes about payments, keys and proofs begin like this, also codes of later versions. */
const FAMILY = /^(?:payment|settlement|idempotency|facilitator|answer|invalid_siwx)_/

/**
 * Whether a handler may not choose this code for its failure: callers would believe that `payment_spent` from a
 * handler is about the payment. A handler's failure has {@link OUTCOMES}' code `handler_error` unless the handler
 * chooses another.
 */
export function isReservedCode(code: string): boolean {
  return code !== OUTCOMES.failed.code && (RESERVED.has(code) || FAMILY.test(code))
}
