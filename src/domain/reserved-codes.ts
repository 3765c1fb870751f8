/** Codes by which this server says what became of a call and its payment: callers, ours among them, act on them. */
import { OUTCOMES } from './machines/charge.machine.js'

/** What a final state's own code is replaced by, where a call knows better, and what is said before a call is made. */
const SAID_BESIDE = ['invalid_json', 'invalid_idempotency_key', 'node_unavailable', 'store_unavailable']

const RESERVED: ReadonlySet<string> = new Set([
  ...Object.values(OUTCOMES).map(({ code }) => code),
  ...SAID_BESIDE,
])

/** Whatever is ever said about payments and keys begins so; also what only later versions say. */
const FAMILY = /^(?:payment|settlement|idempotency|facilitator|answer)_/

/**
 * Whether a handler may not choose this code for its failure: `payment_spent` from a handler would be believed to be
 * about the payment. A handler's failure is called {@link OUTCOMES}' `handler_error` unless it chooses another code.
 */
export function isReservedCode(code: string): boolean {
  return code !== OUTCOMES.failed.code && (RESERVED.has(code) || FAMILY.test(code))
}
