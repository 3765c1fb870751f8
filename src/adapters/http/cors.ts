/** Any page may call a paid route: the payment is the permission, and the server reads no cookies. */
const EXPOSED = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'Retry-After',
  'Idempotency-Replayed',
  'x-svc-subscription',
  'x-svc-subscription-expires',
  'x-svc-subscription-remaining',
  'traceparent',
  'Deprecation',
  'Sunset',
].join(', ')

/** Names and values in turn. */
const CORS_HEADERS = Object.freeze([
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  EXPOSED,
])

/** The list contains `Access-Control-Expose-Headers` because the official clients send it as a request header. */
export const CORS_PREFLIGHT_HEADERS = Object.freeze([
  'Access-Control-Allow-Headers',
  [
    'Content-Type',
    'PAYMENT-SIGNATURE',
    'SIGN-IN-WITH-X',
    'X-PAYMENT',
    'Idempotency-Key',
    'x-svc-subscription',
    'traceparent',
    'A2A-Version',
    'A2A-Extensions',
    'X-A2A-Extensions',
    'Mcp-Protocol-Version',
    'Mcp-Method',
    'Mcp-Name',
    'Access-Control-Expose-Headers',
  ].join(', '),
  'Access-Control-Max-Age',
  '600',
])

/** The headers of every answer that pages of any origin may read. */
export function sharedHeaders(cors: boolean): readonly string[] {
  return cors ? CORS_HEADERS : []
}
