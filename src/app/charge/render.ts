/** Renders what a handler returned to bytes. What cannot be rendered was not delivered, and is not charged for. */
import type { Answer } from '../../domain/answer.js'

const JSON_HEADERS = Object.freeze({ 'content-type': 'application/json; charset=utf-8' })

/** Headers of a handler's `Response` that belong to the connection, or to us. */
const NOT_THEIRS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'payment-required',
  'payment-response',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-svc-subscription',
  'x-svc-subscription-expires',
])

export function renderJson(value: unknown, status = 200): Answer {
  return { status, headers: JSON_HEADERS, body: Buffer.from(JSON.stringify(value) ?? 'null', 'utf8') }
}

export async function renderResponse(response: Response): Promise<Answer> {
  const headers: Record<string, string> = {}
  for (const [name, value] of response.headers) {
    if (!NOT_THEIRS.has(name)) headers[name] = value
  }
  return { status: response.status, headers, body: new Uint8Array(await response.arrayBuffer()) }
}
