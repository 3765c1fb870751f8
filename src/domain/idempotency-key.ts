/**
 * What makes a repeated request the same call: a header, or x402's extension `payment-identifier`, by which the payer names the call
 * inside the payment. The two mean the same; the extension is for clients that can only fill in the payment.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 * @see x402 v2, extension payment-identifier
 */
import { isRecord, memberAt, type PaymentPayload, recordAt } from './x402.js'

/** The only spelling: a plain object with two spellings of a header would send both values, joined. */
export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key'

export const IDEMPOTENCY_KEY_LENGTH_MAX = 255

/** Visible ASCII characters. */
const KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`)

export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && KEY.test(value)
}

export const PAYMENT_IDENTIFIER = 'payment-identifier'

const ID = { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' } as const
const ID_PATTERN = new RegExp(ID.pattern)

/** What a challenge declares. The payer copies it into the payment, and adds `info.id`. */
export function declaredIdentifier(required = false) {
  return {
    info: { required },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { required: { type: 'boolean' }, id: ID },
      required: ['required'],
    },
  }
}

export function isPaymentIdentifier(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length >= ID.minLength &&
    value.length <= ID.maxLength &&
    ID_PATTERN.test(value)
  )
}

/**
 * The id in a payment: `undefined` where there is none, `malformed` where there is one that is not allowed. Clients
 * that only copy the challenge's declaration send no id, and some libraries write null for a field that is not set.
 */
export function identifierIn({ extensions }: PaymentPayload): string | undefined | 'malformed' {
  const extension = memberAt(extensions, PAYMENT_IDENTIFIER) ?? undefined
  if (extension === undefined) return undefined
  if (!isRecord(extension) || !isRecord(extension.info)) return 'malformed'
  const id = extension.info.id ?? undefined
  return id === undefined || isPaymentIdentifier(id) ? id : 'malformed'
}

/** Where the seller's challenge declares the extension. Otherwise the payment has no id, least of all one that the seller chose. */
export function withIdentifier(payload: PaymentPayload, key: string): PaymentPayload {
  const { extensions } = payload
  const declared = recordAt(extensions, PAYMENT_IDENTIFIER)
  if (!isRecord(extensions) || !isRecord(declared?.info)) return payload
  const { id: _, ...info } = declared.info
  const named = { ...declared, info: isPaymentIdentifier(key) ? { ...info, id: key } : info }
  return { ...payload, extensions: { ...extensions, [PAYMENT_IDENTIFIER]: named } }
}

/** The payment without its id, for a party that must not ask for its answer. */
export function withoutIdentifier(payload: PaymentPayload): PaymentPayload {
  return withIdentifier(payload, '')
}
