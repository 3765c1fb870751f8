/**
 * The payment in a request's headers: `PAYMENT-SIGNATURE`, or `X-PAYMENT`, its name in version 1.
 *
 * @see x402 v2
 */
import type { IncomingHttpHeaders } from 'node:http'
import { decodeHeader, type PaymentPayload } from '../../domain/x402.js'
import type { Parsed } from '../../ports/charge.js'

/** Whether a request presents a payment or the key of a window, well formed or not. */
export function presentsPayment(headers: IncomingHttpHeaders): boolean {
  return [headers['payment-signature'], headers['x-payment'], headers['x-svc-subscription']].some(
    value => value !== undefined,
  )
}

const NONE = { kind: 'none' } as const

export function readPayment(headers: IncomingHttpHeaders): Parsed<PaymentPayload> {
  const current = headers['payment-signature']
  const legacy = headers['x-payment']
  if (current === undefined && legacy === undefined) return NONE
  if (current !== undefined && legacy !== undefined && current !== legacy) {
    return { kind: 'malformed', why: 'PAYMENT-SIGNATURE and X-PAYMENT differ; send one payment' }
  }
  const payload = decodeHeader(String(current ?? legacy))
  if (payload !== undefined) return { kind: 'read', value: payload }
  return { kind: 'malformed', why: 'The payment header is not base64 of a JSON object' }
}
