/** Any page may call a paid route: payment is the permission, and no cookie is ever read. */
const EXPOSED = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'Retry-After',
  'Idempotency-Replayed',
  'x-svc-subscription',
  'x-svc-subscription-expires',
  'traceparent',
  'Deprecation',
  'Sunset',
].join(', ')

/** Names and values in turn. */
export const CORS_HEADERS = Object.freeze([
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  EXPOSED,
])

/** `Access-Control-Expose-Headers` is among them because the official clients send it as a request header. */
export const CORS_PREFLIGHT_HEADERS = Object.freeze([
  'Access-Control-Allow-Headers',
  [
    'Content-Type',
    'PAYMENT-SIGNATURE',
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
