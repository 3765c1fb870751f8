/** The parts that all paid operations of an OpenAPI document share: the x402 headers, and the refusals. */
import { IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_LENGTH_MAX } from './idempotency-key.js'
import { OUTCOMES } from './machines/charge.machine.js'
import type { Schema } from './rewrite-json-schema.js'
import type { Subscription } from './window-and-balance-terms.js'
import {
  BALANCE_KEY_HEADER,
  LEGACY_PAYMENT_HEADER,
  MAX_CHARGE_HEADER,
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
} from './x402.js'

const text = { type: 'string' } as const

export const SCHEMAS = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        description: 'Some codes add fields of their own, such as `field` and `schema`, or `txId`.',
        required: ['code', 'message'],
        properties: {
          code: { ...text, description: 'Stable, for programs.' },
          message: { ...text, description: 'What happened, whether it cost, and what to do next.' },
        },
      },
    },
  },
} as const satisfies Schema

export const PARAMETERS = {
  payment: header(
    PAYMENT_SIGNATURE_HEADER,
    `Base64 of the JSON of a signed x402 payment (version 2) for what the 402 asked. ${LEGACY_PAYMENT_HEADER} is read as well.`,
  ),
  idempotencyKey: header(
    IDEMPOTENCY_KEY_HEADER,
    'Names this request: where the server remembers keys, a retry with the same key and body is the same call.',
    { ...text, minLength: 1, maxLength: IDEMPOTENCY_KEY_LENGTH_MAX },
  ),
  subscriptionKey: header(
    'x-svc-subscription',
    'The key of a window that was bought: the call is covered by it, until the window ends or its calls are used.',
  ),
  balanceKey: header(
    BALANCE_KEY_HEADER,
    `The key of a balance that was bought: the call takes what it costs from it. Needs an ${IDEMPOTENCY_KEY_HEADER}.`,
  ),
  maxCharge: header(MAX_CHARGE_HEADER, 'The most that the call may take from the balance, in base units.'),
} as const satisfies Schema

function header(name: string, description: string, schema: Schema = text): Schema {
  return { name, in: 'header', required: false, description, schema }
}

export const HEADERS = {
  paymentRequired: {
    description:
      'Base64 of JSON: `x402Version`, `error`, `resource`, `accepts` (what to pay, in base units).',
    schema: text,
  },
  paymentResponse: {
    description: 'The receipt, base64 of JSON: `success`, `txId`, `payer`, `amount`, `asset`, `network`.',
    schema: text,
  },
  retryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  subscriptionKey: { description: 'The key of the window that was bought; keep it secret.', schema: text },
  subscriptionExpires: {
    description: 'When the window ends.',
    schema: { type: 'string', format: 'date-time' },
  },
  subscriptionRemaining: {
    description: 'How many calls the window still has, after this one.',
    schema: { type: 'integer', minimum: 0 },
  },
} as const satisfies Schema

const JSON_ERROR = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }

/** Statuses that no error response lists: 402 has its own response, and a caller who hung up reads none. */
const UNLISTED_STATUSES: ReadonlySet<number> = new Set([200, 402, 499])

const RETRIED_STATUSES: ReadonlySet<string> = new Set(['409', '429', '503'])
const RETRY_HEADERS = { 'Retry-After': { $ref: '#/components/headers/retryAfter' } }

/** The responses by status, from the charge machine's final states: the document contains every way in which a call can end. */
export const ERROR_RESPONSES: Schema = {
  '402': {
    description: 'To be paid for. The header says what and how; pay, and send the same request again.',
    headers: { [PAYMENT_REQUIRED_HEADER]: { $ref: '#/components/headers/paymentRequired' } },
    content: { 'application/json': { schema: { type: 'object', maxProperties: 0 } } },
  },
  ...Object.fromEntries(
    statuses().map(status => [
      status,
      {
        description: codesOf(status).join(', '),
        ...(RETRIED_STATUSES.has(status) && { headers: RETRY_HEADERS }),
        content: JSON_ERROR,
      },
    ]),
  ),
  default: {
    description: 'Any other refusal, or the handler’s own failure. Not charged.',
    content: JSON_ERROR,
  },
}

export const REFUSALS: Schema = Object.fromEntries(
  Object.keys(ERROR_RESPONSES).map(status => [status, { $ref: `#/components/responses/${status}` }]),
)

export function paidResponse(subscription: Subscription | undefined, schema: Schema): Schema {
  return {
    description: subscription
      ? 'The result. Where the call bought a window, its key is in a header.'
      : 'The result, paid for.',
    headers: {
      [PAYMENT_RESPONSE_HEADER]: { $ref: '#/components/headers/paymentResponse' },
      ...(subscription && {
        'x-svc-subscription': { $ref: '#/components/headers/subscriptionKey' },
        'x-svc-subscription-expires': { $ref: '#/components/headers/subscriptionExpires' },
      }),
      ...(subscription?.calls !== undefined && {
        'x-svc-subscription-remaining': { $ref: '#/components/headers/subscriptionRemaining' },
      }),
    },
    content: { 'application/json': { schema } },
  }
}

function statuses(): readonly string[] {
  const all = Object.values(OUTCOMES).map(({ status }) => status)
  return [...new Set(all)]
    .filter(status => !UNLISTED_STATUSES.has(status))
    .sort()
    .map(String)
}

function codesOf(status: string): readonly string[] {
  const outcomes = Object.values(OUTCOMES).filter(outcome => String(outcome.status) === status)
  return [...new Set(outcomes.map(({ code }) => code))]
}
