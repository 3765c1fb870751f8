/** A server behind this one: its URL, and what passes to it and back, as RFC 9110 has it for gateways. */
import { shown } from './errors.js'
import { isAddress } from './untrusted-text.js'

/** The options of an endpoint that another server works for. */
export interface UpstreamOptions {
  /**
   * A server behind this one that does the work: its answer is what is sold. An origin such as `http://127.0.0.1:8000` gets the
   * request's own path and query; a full URL replaces them. Bodies of any type pass; with `input` the checked JSON does, written anew.
   * Event streams pass as streams; with `stream: true` every body does, and with `false` none. It gets `x-svc-payer`,
   * `x-svc-tx-id` and `x-svc-idempotency-key`, and nothing of the payment. Needs Node.js.
   */
  readonly upstream?: string
  /** Whether redirects of the upstream, or of a route behind a gate, are answers, and are sold. They are never followed. @default false */
  readonly sellRedirects?: boolean
}

export function upstreamOf(
  { upstream, sellRedirects }: UpstreamOptions,
  refuse: (why: string) => never,
): UpstreamOptions {
  if (sellRedirects !== undefined && upstream === undefined)
    refuse('sellRedirects is for an endpoint with an upstream')
  if (upstream !== undefined) upstreamUrl(upstream, refuse)
  return { sellRedirects: sellRedirects || undefined }
}

export interface UpstreamUrl {
  readonly origin: string
  /** The path and the query of a full URL, which replace the request's. */
  readonly target?: string
}

/** @param refuse says what is wrong, in words without the URL's password */
export function upstreamUrl(given: unknown, refuse: (why: string) => never): UpstreamUrl {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return refuse(`upstream is an http or https URL, such as 'http://127.0.0.1:8000', not ${shown(given)}`)
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    return refuse('upstream is a URL without a user, a password and a fragment')
  const { origin, pathname, search } = url
  return pathname + search === '/' ? { origin } : { origin, target: pathname + search }
}

/** What is said about a request, besides what it says itself. */
export interface ForwardedRequest {
  readonly method: string
  /** The path and the query, as they were sent. */
  readonly target: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Where its caller reached this server. */
  readonly baseUrl: string
  /** The caller's address, where it is known. */
  readonly clientAddress?: string | undefined
  readonly payer?: string | undefined
  readonly txId?: string | undefined
  readonly idempotencyKey?: string | undefined
}

/** Of a connection, and what is written anew (RFC 9110, sections 7.2, 7.6.1, 7.6.3 and 10.1.1). */
const OF_THE_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'http2-settings', 'content-length', 'host', 'expect', 'via'],
]

const OF_CACHES: ReadonlySet<string> = new Set(['if-modified-since', 'if-range', 'range'])

/**
 * Whether a header asks for a part, or for nothing where nothing has changed: that would be sold as the whole. What keeps a resource from
 * being overwritten goes on (RFC 9110, sections 13.1.1 and 13.1.2): its 412 costs nothing.
 */
export function isOfCaches(name: string, method: string): boolean {
  return name === 'if-none-match' ? method === 'GET' : OF_CACHES.has(name)
}

const NOT_FORWARDED: ReadonlySet<string> = new Set([
  ...[...OF_THE_CONNECTION, 'forwarded', 'x-real-ip', 'x-payment', 'sign-in-with-x', 'idempotency-key'],
])
const OURS = /^(?:x-svc-|x-forwarded-|payment-)/
/** A request with one of them is another one to many frameworks, and would do there what has another price. */
const OF_ANOTHER_REQUEST =
  /^x-(?:http-method|(?:http-)?method-override|original-method|(?:original|rewrite|override)-ur[il])$/

/**
 * The headers of a request to the upstream, names and values in turn. What pays, what names a call and what proves a payer stays here. So
 * does what an upstream could take for this server's own words: many read `X_Svc_Payer` as `x-svc-payer`.
 *
 * @param isWhole leaves out what asks for a part, or for nothing where nothing has changed
 */
export function headersToUpstream(request: ForwardedRequest, isWhole: boolean): string[] {
  const { headers, baseUrl, clientAddress, payer, txId, idempotencyKey } = request
  const named = namedByConnection(headers.connection)
  const sent: string[] = []
  for (const name in headers) {
    const value = headers[name]
    const plain = /[^a-z0-9-]/.test(name) ? name.toLowerCase().replace(/[^a-z0-9]/g, '-') : name
    if (value === undefined || NOT_FORWARDED.has(plain) || named?.has(name)) continue
    if (OURS.test(plain) || OF_ANOTHER_REQUEST.test(plain)) continue
    if (isWhole && isOfCaches(plain, request.method)) continue
    sent.push(name, String(value))
  }
  // The body of a request that is not sold passes unread.
  if (!isWhole && headers['content-length'] !== undefined)
    sent.push('content-length', String(headers['content-length']))
  const scheme = baseUrl.slice(0, baseUrl.indexOf(':'))
  sent.push('via', headers.via === undefined ? VIA : `${headers.via}, ${VIA}`)
  const host = baseUrl.slice(scheme.length + 3).split('/', 1)[0]!
  sent.push('x-forwarded-proto', scheme, 'x-forwarded-host', host)
  if (clientAddress !== undefined) sent.push('x-forwarded-for', clientAddress)
  if (isAddress(payer)) sent.push('x-svc-payer', payer)
  if (txId !== undefined) sent.push('x-svc-tx-id', txId)
  if (idempotencyKey !== undefined) sent.push('x-svc-idempotency-key', idempotencyKey)
  return sent
}

const VIA = '1.1 svc'

/** The headers of an upstream's answer without those of its connection, as pairs. */
export function headersFromUpstream(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const named = namedByConnection(headers.connection)
  const kept: [name: string, value: string][] = []
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || OF_THE_CONNECTION.includes(name) || named?.has(name)) continue
    if (name === 'set-cookie') for (const cookie of [value].flat()) kept.push([name, cookie])
    else kept.push([name, String(value)])
  }
  return kept
}

function namedByConnection(connection: string | string[] | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined
  const names = String(connection).toLowerCase().split(',')
  return new Set(names.map(name => name.trim()))
}

/** The types of bodies that are made while they are read. */
const STREAMED =
  /^(?:text\/event-stream|application\/(?:x-ndjson|ndjson|jsonl|json-seq|stream\+json)|multipart\/x-mixed-replace)\b/i

export function isStreamedType(contentType: unknown): boolean {
  return typeof contentType === 'string' && STREAMED.test(contentType)
}
