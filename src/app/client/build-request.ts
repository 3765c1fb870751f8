/** Turns a caller's arguments into the request that is sent, the same for the quote and for the paid call. */
import { SdkError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import { asGiven, flag, type Option, optional, readOptions, usd } from '../../domain/option-checks.js'
import { LEGACY_PAYMENT_HEADER, PAYMENT_SIGNATURE_HEADER } from '../../domain/x402.js'

/** How a request is sent. */
export interface RequestOptions {
  /** HTTP method. @default 'POST'; where a call without a body is answered 404, or 405 with `Allow: GET`, GET */
  readonly method?: string
  /** Sent as they are, beside those that the client needs. */
  readonly headers?: ConstructorParameters<typeof Headers>[0]
  /** Ends the waiting with the code `aborted`. A request that was sent by then may still be paid and done. */
  readonly signal?: AbortSignal
}

/** How a paid call is sent. */
export interface CallOptions extends RequestOptions {
  /** Calls with the same key and body are one call, for sellers that support it. @default a new key for each call */
  readonly idempotencyKey?: string
  /**
   * After the payment was sent, or the key of a window or a balance, an abort no longer ends the call: the client waits for the
   * answer that it is paying for. With `stream`, up to the head of the answer.
   *
   * @default false
   */
  readonly finishPaid?: boolean
  /** USD at most for this call, such as `$0.05`. The client's own `maxPrice` holds, too. @default none */
  readonly maxPrice?: string
}

export interface HttpRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
  readonly finishPaid?: boolean
  readonly maxPrice?: bigint
  /** `maxPrice` replaces the client's own: the caller named what it pays. */
  readonly isOwnLimit?: true
  /** The caller gave no method and no body: the request is sent by GET where the endpoint wants that. */
  readonly mayBeGet?: boolean
}

/** The options of every call. Unknown ones are refused: a misspelt limit would limit nothing. */
const OPTIONS = {
  method: asGiven<string | undefined>(),
  headers: asGiven<RequestOptions['headers']>(),
  signal: asGiven<AbortSignal | undefined>(),
  idempotencyKey: asGiven<string | undefined>(),
  finishPaid: optional(flag(false)),
  maxPrice: optional(usd()),
  idleTimeoutMs: asGiven<number | undefined>(),
} satisfies Record<keyof CallOptions | 'idleTimeoutMs', Option<unknown>>

export function requestOf(url: string | URL, body: unknown, options: CallOptions): HttpRequest {
  const given = readOptions(options, OPTIONS)
  const { method = 'POST', signal, finishPaid, maxPrice } = given
  const headers = headersOf(given)
  const content = bodyOf(body, headers.get('content-type'))
  if (content !== undefined && (method === 'GET' || method === 'HEAD'))
    throw new SdkError(`A ${method} has no body: put its input into the query`, 'invalid_request')
  if (content !== undefined && !headers.has('content-type'))
    headers.set('content-type', typeof content === 'string' ? 'application/json' : 'application/octet-stream')
  return {
    url: urlOf(url),
    method,
    headers: fieldsOf(headers),
    ...(content !== undefined && { body: content }),
    signal,
    finishPaid,
    ...(maxPrice !== undefined && { maxPrice }),
    mayBeGet: given.method === undefined && content === undefined,
  }
}

/** The key stands under the name by which it is looked up. */
export function fieldsOf(headers: Headers): Record<string, string> {
  const { [IDEMPOTENCY_KEY_HEADER.toLowerCase()]: key, ...others } = Object.fromEntries(headers)
  return { ...others, ...(key !== undefined && { [IDEMPOTENCY_KEY_HEADER]: key }) }
}

/** @throws SvcError `invalid_url` for anything but an absolute http(s) URL without credentials. */
export function urlOf(url: string | URL): URL {
  const parsed = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  const isWeb = parsed?.protocol === 'https:' || parsed?.protocol === 'http:'
  if (!parsed || !isWeb) throw new SdkError('An absolute http or https URL is needed', 'invalid_url')
  // Not quoted in the message: a password is a secret.
  if (parsed.username || parsed.password) throw new SdkError('A URL must not hold credentials', 'invalid_url')
  return parsed
}

/** Bytes are sent as they are, and so is a string whose content type is given and is no JSON. Anything else is JSON. */
function bodyOf(body: unknown, type: string | null): string | Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body
  if (typeof body === 'string' && type !== null && !/[/+]json\b/i.test(type)) return body
  try {
    const text = JSON.stringify(body)
    if (typeof text === 'string') return text
  } catch {
    // Falls through: cycles and bigints cannot be sent either.
  }
  throw new SdkError('The body cannot be written as JSON', 'invalid_request')
}

/** `Headers` checks every character as fetch does, but before anything is signed. */
function headersOf({ headers, idempotencyKey }: Pick<CallOptions, 'headers' | 'idempotencyKey'>): Headers {
  let own: Headers
  try {
    own = new Headers(headers)
    if (idempotencyKey !== undefined) own.set(IDEMPOTENCY_KEY_HEADER, idempotencyKey)
  } catch {
    throw new SdkError('A header has a name or a value that HTTP does not allow', 'invalid_request')
  }
  // It would count against no limit.
  if (hasPayment(own)) throw new SdkError('The headers have a payment: the client pays', 'invalid_request')
  return own
}

/** Whether the caller pays by itself. */
export const hasPayment = (headers: Headers) =>
  headers.has(PAYMENT_SIGNATURE_HEADER) || headers.has(LEGACY_PAYMENT_HEADER)
