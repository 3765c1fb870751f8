/** Renders what a handler returned. If rendering fails, the answer is not delivered and not charged. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { toUSVString, types } from 'node:util'
import type { Answer } from '../../domain/handler.js'
import { jsonMistakeIn } from './what-json-drops.js'

type AnswerHead = Pick<Answer, 'headers' | 'cookies'>

const JSON_HEADERS = Object.freeze({ 'content-type': 'application/json; charset=utf-8' })

/** Headers of a handler's `Response` that belong to the connection, or to this server, or that caches believe before `Cache-Control`. */
const NOT_THEIRS =
  /^(?:(?:.*-)?cdn-cache-control$|surrogate-control$|edge-control$|x-accel-expires$|payment-|x-svc-|x-payment-response$|idempotency-replayed$|access-control-(?:allow-origin|expose-headers)$|connection$|content-length$|date$|keep-alive$|traceparent$|trailer$|transfer-encoding$|upgrade$)/

const BYTES = 'application/octet-stream'

/**
 * Node clients read 16 KiB of headers in all, proxies read less, and this server adds its own. An answer with more
 * was charged and reached no caller.
 */
const HEADER_BYTES_MAX = 8_192
/** A colon, a space and the end of the line. */
const HEADER_FRAMING_BYTES = 4

/** The handler's return value is not an answer: JSON would drop or replace a part of it. */
export class NoAnswer extends TypeError {
  constructor(what: string, at = '') {
    super(`a handler returned what is no answer: ${what}${at && ` at ${at}`}`)
  }
}

/** @throws NoAnswer, and whatever getters, `toJSON` and a Response's stream throw. */
export function render(returned: unknown): Answer | Promise<Answer> {
  if (typeof returned !== 'object' || returned === null) return renderJson(returned)
  // Copy the bytes: the handler may reuse its buffer while the answer waits for settlement.
  if (types.isUint8Array(returned)) return bytesAnswer(new Uint8Array(returned))
  if (types.isAnyArrayBuffer(returned)) return bytesAnswer(new Uint8Array(returned).slice())
  switch (Object.prototype.toString.call(returned)) {
    // Compare the tag: undici's Response and a polyfill's are other classes than the global one.
    case '[object Response]':
      return renderResponse(returned as Response)
    case '[object Blob]':
    case '[object File]':
      return renderBlob(returned as Blob)
    default:
      if (Symbol.asyncIterator in returned)
        throw new NoAnswer('a stream; an endpoint that sells streams has `stream: true`')
      return renderJson(returned)
  }
}

function renderJson(value: unknown): Answer {
  const mistake = jsonMistakeIn(value)
  if (mistake !== undefined) throw new NoAnswer(mistake.what, mistake.at)
  const body: string | undefined = JSON.stringify(value)
  if (body === undefined) throw new NoAnswer('a value that says undefined of itself when asked again')
  return { status: 200, headers: JSON_HEADERS, body }
}

function bytesAnswer(body: Uint8Array, type = BYTES): Answer {
  return { status: 200, headers: { 'content-type': type }, body }
}

async function renderBlob(blob: Blob): Promise<Answer> {
  const type = blob.type || BYTES
  validateHeaderValue('content-type', type)
  return bytesAnswer(new Uint8Array(await blob.arrayBuffer()), type)
}

export async function renderResponse(response: Response): Promise<Answer> {
  const given = givenTo(response)
  if (given) return given
  const head = headersOfResponse(response)
  return { status: response.status, ...head, body: new Uint8Array(await response.arrayBuffer()) }
}

/** Hono's server on Node keeps what a `Response` was given, until more than its head is read. That took half of a call in a window. */
function givenTo(response: Response): Answer | undefined {
  const kept = Object.getOwnPropertySymbols(response).find(({ description }) => description === 'cache')
  const { 0: status, 1: body, 2: head } = Object(kept && Reflect.get(response, kept))
  if (status !== 200 || !(typeof body === 'string' || body instanceof Uint8Array)) return undefined
  const pairOf = ([name, value]: [string, unknown]) => [name.toLowerCase(), String(value)] as const
  const isPlain = head?.constructor === Object
  const rendered = renderHead(isPlain ? Object.entries(head).map(pairOf) : response.headers)
  // One of the web would add a type where there is none.
  if (rendered.headers['content-type'] === undefined) return undefined
  return { status, ...rendered, body: typeof body === 'string' ? toUSVString(body) : Buffer.from(body) }
}

/**
 * @throws Error for what HTTP cannot carry (`Response.error()`, a control character in a header). Then the answer
 * counts as not delivered.
 */
export function headersOfResponse(response: Response): AnswerHead {
  if (response.bodyUsed) throw new NoAnswer('a Response whose body was read already')
  if (response.status < 200 || response.status > 599)
    throw new RangeError(`a Response of status ${response.status} cannot be sent`)
  // fetch() has already decoded its answer. Sending its `content-encoding` makes the bytes unreadable.
  const isDecoded = response.type !== 'default'
  return renderHead([...response.headers].filter(([name]) => !isDecoded || name !== 'content-encoding'))
}

/** @throws Error for what HTTP cannot carry, and NoAnswer for more than callers can read */
export function renderHead(pairs: Iterable<readonly [name: string, value: string]>): AnswerHead {
  const headers: Record<string, string> = {}
  const cookies: string[] = []
  let bytes = 0
  for (const [name, value] of pairs) {
    if (NOT_THEIRS.test(name)) continue
    validateHeaderName(name)
    validateHeaderValue(name, value)
    bytes += name.length + value.length + HEADER_FRAMING_BYTES
    if (name === 'set-cookie') cookies.push(value)
    else headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value
  }
  if (bytes > HEADER_BYTES_MAX)
    throw new NoAnswer(`a Response with ${bytes} bytes of headers; callers can read ${HEADER_BYTES_MAX}`)
  return { headers, ...(cookies.length > 0 && { cookies }) }
}
