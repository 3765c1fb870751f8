/** The content of a whole HTTP response: its data, its JSON object, and the fields of its error. */
import { cutText } from '../../domain/cut-text.js'
import { jsonIn } from '../../domain/json-depth.js'
import { isRecord } from '../../domain/x402.js'
import type { HttpReply } from './send-request.js'

export function isSuccess({ status, location }: HttpReply): boolean {
  return status >= 200 && status < 300 && location === undefined
}

/**
 * JSON is parsed, text is a string, anything else stays bytes, an empty body is `null`. JSON that cannot be read stays a string, and
 * text that does not fit its charset stays bytes.
 */
export function dataOf(reply: HttpReply): { readonly data: unknown; readonly unreadable?: true } {
  if (reply.bytes.length === 0) return { data: null }
  const type = mediaTypeOf(reply)
  if (!isJson(type)) return { data: (type.startsWith('text/') && decoded(reply)) || reply.bytes }
  const text = decoded(reply)
  const data = text === undefined ? undefined : jsonIn(text)
  return data === undefined ? { data: text ?? reply.bytes, unreadable: true } : { data }
}

/** The JSON object in a body; `undefined` for anything else, and for one that is nested deeper than `depthMax`. */
export function recordOf(reply: HttpReply, depthMax?: number): Record<string, unknown> | undefined {
  const value = jsonIn(textOf(reply), depthMax)
  return isRecord(value) ? value : undefined
}

/** An error's body, cut to what is worth keeping in an exception. JSON is parsed, whatever the content type is. */
export function errorBodyOf(reply: HttpReply): unknown {
  const text = textOf(reply)
  return (text.length > ERROR_JSON_MAX ? undefined : jsonIn(text)) ?? shortened(text)
}

/** The beginning of a seller's text, for an exception: its body may have 16 MB. */
export function shortened(text: string): string {
  return text.length > ERROR_TEXT_MAX ? `${cutText(text, ERROR_TEXT_MAX)}…` : text
}

const ERROR_TEXT_MAX = 2_000
/** Our server's refusal of an input has the endpoint's schema in it. */
const ERROR_JSON_MAX = 65_536

/** The `code` of `{"error": {"code", "message"}}`; of `error.data` in an answer of JSON-RPC. */
export function errorCodeOf(reply: HttpReply): string | undefined {
  return errorField(reply, 'code')
}

export function errorMessageOf(reply: HttpReply): string | undefined {
  return errorField(reply, 'message')
}

/** Whether `{"error": {"txId"}}` is this payment. Our server sends the id with each code that is about a payment. */
export function namesPayment(reply: HttpReply, txId: string): boolean {
  return errorField(reply, 'txId') === txId
}

function errorField(reply: HttpReply, field: string): string | undefined {
  const error = recordOf(reply)?.error
  if (!isRecord(error)) return undefined
  // Over A2A the code is JSON-RPC's own number, and our fields stand in `data`.
  const data = typeof error.code === 'number' && isRecord(error.data) ? error.data : undefined
  const value = data?.[field] ?? error[field]
  return typeof value === 'string' ? value : undefined
}

export function mediaTypeOf({ headers }: Pick<HttpReply, 'headers'>): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase()
}

export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json')
}

function textOf(reply: HttpReply): string {
  return decoded(reply) ?? utf8.decode(reply.bytes)
}

/** `undefined` where the charset is unknown here, or the bytes are no text of it: a guess would alter them. */
function decoded({ headers, bytes }: HttpReply): string | undefined {
  const [, charset = 'utf-8'] = CHARSET.exec(headers.get('content-type') ?? '') ?? []
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
