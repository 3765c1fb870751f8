/**
 * Sends one HTTP request, receives its reply, and reads what the reply holds. Redirects are not followed: what a call carries (a
 * payment, a subscription key, the caller's own headers) is meant for the address that was named. Replies are bounded in time and in
 * bytes.
 */
import { globalFetch } from '#platform'
import { isJson, mediaTypeIn, textIn } from '../../domain/body-type.js'
import { textOf } from '../../domain/bytes.js'
import { SdkError } from '../../domain/errors.js'
import { jsonIn } from '../../domain/json.js'
import { cutText, isText } from '../../domain/untrusted-text.js'
import { recordAt } from '../../domain/x402.js'
import { type Clock, deadline } from '../../ports/clock.js'
import { readWebBody } from '../../ports/exchange.js'
import type { HttpRequest } from './build-request.js'

export interface HttpReply {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  /** The body was larger than the bound, and was not read. */
  readonly oversized: boolean
  /** Where a redirect points; never followed. */
  readonly location?: string
  /** A success whose body is handed over and not read: `bytes` is empty. Only a stream is received so. */
  readonly body?: ReadableStream<Uint8Array>
}

export type Receive = (response: Response) => Promise<HttpReply>

/** `lost`: no whole answer arrived. The other side may have acted upon the request or not; `head` is there if its head came. */
export type ExchangeResult =
  | { readonly kind: 'answered'; readonly reply: HttpReply }
  | { readonly kind: 'lost'; readonly cause: string; readonly head?: HttpReply }

export type Exchange = (request: HttpRequest, timeoutMs: number) => Promise<ExchangeResult>

const ANSWER_BYTES_MAX = 16 * 1024 * 1024

export function exchangeOver(
  fetchImpl: typeof fetch = globalFetch,
  clock: Pick<Clock, 'after'>,
  receive: Receive = wholeReply,
): Exchange {
  return async (request, timeoutMs) => {
    const { url, method, headers, body, signal } = request
    const ended = deadline(clock, timeoutMs, signal)
    let head: HttpReply | undefined
    try {
      signal?.throwIfAborted()
      const init = {
        method,
        headers: { ...headers },
        body,
        redirect: 'manual' as const,
        signal: ended.signal,
      }
      const response = await fetchImpl(url.href, init)
      head = headOf(response)
      return { kind: 'answered', reply: await receive(response) }
    } catch (error) {
      if (signal?.aborted) throw new SdkError(`The call to ${url.origin} was aborted`, 'aborted')
      return { kind: 'lost', cause: causeOf(error), ...(head && { head }) }
    } finally {
      ended.clear()
    }
  }
}

export async function wholeReply(response: Response): Promise<HttpReply> {
  const bytes = await readWebBody(response.body, ANSWER_BYTES_MAX)
  return { ...headOf(response), bytes: bytes ?? NO_BYTES, oversized: bytes === undefined }
}

/** Leaves the body of a success to be read. Anything else is read whole, to be judged as any failure. */
export async function openReply(response: Response): Promise<HttpReply> {
  const head = headOf(response)
  return isSuccess(head) ? { ...head, body: response.body ?? new Blob([]).stream() } : wholeReply(response)
}

export function headOf(response: Response): HttpReply {
  const { status, headers, type, redirected } = response
  const redirect = (status >= 300 && status < 400) || type === 'opaqueredirect' || redirected
  const location = redirect ? (headers.get('location') ?? response.url) : undefined
  return { status, headers, bytes: NO_BYTES, oversized: false, location }
}

const NO_BYTES = new Uint8Array()

/** Fetch says "fetch failed" and hides the reason one level deeper. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof Error) return 'code' in cause && !cause.message ? String(cause.code) : cause.message
  return error.message
}

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
  return recordAt(jsonIn(wholeText(reply), depthMax))
}

/** An error's body, cut to what is worth keeping in an exception. JSON is parsed, whatever the content type is. */
export function errorBodyOf(reply: HttpReply): unknown {
  const text = wholeText(reply)
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

/** Other servers have a text in `error`, Fastify a `message`, FastAPI and RFC 9457 a `detail`. */
export function errorTextOf(reply: HttpReply): string | undefined {
  const { error, message, detail } = recordOf(reply) ?? {}
  return [errorField(reply, 'message'), errorField(reply, 'code'), message, detail, error].find(isText)
}

/** Whether `{"error": {"txId"}}` is this payment. Our server sends the id with each code that is about a payment. */
export function namesPayment(reply: HttpReply, txId: string): boolean {
  return errorField(reply, 'txId') === txId
}

function errorField(reply: HttpReply, field: string): string | undefined {
  const error = recordAt(recordOf(reply), 'error')
  // JSON-RPC has a number of its own as code, and our fields in `data`.
  const data = typeof error?.code === 'number' ? recordAt(error, 'data') : undefined
  return [data?.[field], error?.[field]].find(isText)
}

export function mediaTypeOf({ headers }: Pick<HttpReply, 'headers'>): string {
  return mediaTypeIn(headers.get('content-type'))
}

function wholeText(reply: HttpReply): string {
  return decoded(reply) ?? textOf(reply.bytes)
}

const decoded = ({ headers, bytes }: HttpReply) => textIn(bytes, headers.get('content-type'))
