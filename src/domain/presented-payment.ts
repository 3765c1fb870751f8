/** The payment that a request presents, whatever carries it: a header, MCP's `_meta`, a message of A2A, a facilitator's body. */
import { ENVELOPE_BOUNDS, isWithin, type JsonBounds } from './json-bounds.js'
import type { Parsed } from './parsed.js'
import { isRecord, type PaymentPayload } from './x402.js'

/**
 * Far above a group of sixteen transactions with programs, and below the 100 kB that common facilitators read: a larger payment
 * would be answered by their host instead of by them.
 */
export const PAYMENT_BOUNDS: JsonBounds = { values: 2_048, characters: 65_536 }

/** @param where what carried it, for the caller to read */
export function presentedPayment(value: unknown, where: string): Parsed<PaymentPayload> {
  if (value === undefined) return { kind: 'none' }
  if (!isRecord(value)) return { kind: 'malformed', why: `${where} is not an object` }
  return isWithin(value, PAYMENT_BOUNDS) ? { kind: 'read', value } : oversizedPayment(where)
}

/** Whether a facilitator reads what it is asked: an answer repeats some of it. */
export function isBounded(payment: unknown, requirements: unknown): boolean {
  return isWithin(payment, PAYMENT_BOUNDS) && isWithin(requirements, ENVELOPE_BOUNDS)
}

export function oversizedPayment(where: string): Parsed<never> {
  const { values, characters } = PAYMENT_BOUNDS
  const why = `${where} is larger than a payment can be: ${values} values, and ${characters} characters of text`
  return { kind: 'malformed', why }
}
