/**
 * The payment in a request's headers: `PAYMENT-SIGNATURE`, or `X-PAYMENT`, its name in version 1.
 *
 * @see x402 v2
 */
import type { IncomingHttpHeaders } from 'node:http'
import { jsonIn, RECEIVED_DEPTH_MAX } from '../../domain/json-depth.js'
import type { Parsed } from '../../domain/parsed.js'
import {
  decodeHeader,
  oversizedPayment,
  PAYMENT_BOUNDS,
  type PaymentPayload,
  presentedPayment,
} from '../../domain/x402.js'

/** Whether a request presents a payment or the key of a window, well formed or not. */
export function presentsPayment(headers: IncomingHttpHeaders): boolean {
  return [headers['payment-signature'], headers['x-payment'], headers['x-svc-subscription']].some(
    value => value !== undefined,
  )
}

const WHERE = 'The payment header'
/** No longer text is decoded. Base64 adds a third, and JSON its marks. */
const LENGTH_MAX = 2 * PAYMENT_BOUNDS.characters

const NONE = { kind: 'none' } as const

export function readPayment(headers: IncomingHttpHeaders): Parsed<PaymentPayload> {
  const current = headers['payment-signature']
  const legacy = headers['x-payment']
  if (current === undefined && legacy === undefined) return NONE
  if (current !== undefined && legacy !== undefined && current !== legacy) {
    return { kind: 'malformed', why: 'PAYMENT-SIGNATURE and X-PAYMENT differ; send one payment' }
  }
  const text = String(current ?? legacy)
  if (text.length > LENGTH_MAX) return oversizedPayment(WHERE)
  const payload = decodeHeader(text, json => jsonIn(json, RECEIVED_DEPTH_MAX))
  if (payload !== undefined) return presentedPayment(payload, WHERE)
  return { kind: 'malformed', why: 'The payment header is not base64 of a JSON object' }
}
