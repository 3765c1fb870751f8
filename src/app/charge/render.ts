/** Renders what a handler returned. What cannot be rendered was not delivered, and is not charged for. */
import { validateHeaderValue } from 'node:http'
import type { Answer } from '../../domain/answer.js'

const JSON_HEADERS = Object.freeze({ 'content-type': 'application/json; charset=utf-8' })

/** Headers of a handler's `Response` that belong to the connection, or to us. */
const NOT_THEIRS: ReadonlySet<string> = new Set([
  'access-control-allow-origin',
  'access-control-expose-headers',
  'connection',
  'content-length',
  'date',
  'idempotency-replayed',
  'keep-alive',
  'payment-required',
  'payment-response',
  'traceparent',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-svc-subscription',
  'x-svc-subscription-expires',
])

export function renderJson(value: unknown, status = 200): Answer {
  return { status, headers: JSON_HEADERS, body: JSON.stringify(value) ?? 'null' }
}

/** @throws Error for what HTTP cannot carry (`Response.error()`, a control character in a header): it was not delivered. */
export async function renderResponse(response: Response): Promise<Answer> {
  if (response.status < 200 || response.status > 599) {
    throw new RangeError(`a Response of status ${response.status} cannot be sent`)
  }
  const headers: Record<string, string> = {}
  const cookies: string[] = []
  for (const [name, value] of response.headers) {
    if (NOT_THEIRS.has(name)) continue
    // What fetch() answered has been decoded already; saying otherwise makes the bytes unreadable.
    if (name === 'content-encoding' && response.type !== 'default') continue
    validateHeaderValue(name, value)
    if (name === 'set-cookie') cookies.push(value)
    else headers[name] = value
  }
  const body = new Uint8Array(await response.arrayBuffer())
  return { status: response.status, headers, ...(cookies.length > 0 && { cookies }), body }
}
