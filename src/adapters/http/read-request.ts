/** Reads an HTTP request for every transport: body, payment, keys, the caller, and the URL that the caller used. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { parse } from 'node:querystring'
import { isIdempotencyKey } from '../../domain/idempotency-key.js'
import type { Target } from '../../domain/path-pattern.js'
import { readProof } from '../../domain/sign-in-with-x.js'
import {
  BALANCE_KEY_HEADER,
  decodeHeader,
  MAX_CHARGE_HEADER,
  oversizedPayment,
  PAYMENT_BOUNDS,
  type Parsed,
  type PaymentPayload,
  presentedPayment,
} from '../../domain/x402.js'
import { NO_ADDRESS } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import type { IncomingRequest } from '../../ports/transport.js'
import type { BodyBudget, BodyShare } from './body-memory-limit.js'
import { malformed } from './parse-body.js'
import { httpErrorOf } from './reply.js'
import type { BodyReading, HostRequest } from './route.js'

export interface RequestOptions {
  /** Empty, or a path that begins with a slash and does not end with one. Endpoints live under it only. */
  readonly basePath: string
  readonly bodyBytesMax: number
  /** The limit for the bodies of all unpaid requests together. */
  readonly bodies: BodyBudget
  readonly trustProxyHops: number
  /** Whether idempotency keys count here. Only then is an invalid key refused. */
  readonly idempotency: boolean
  readonly logger: Logger
}

export function readRequest(
  request: HostRequest,
  body: Parsed<unknown>,
  share: BodyShare,
  options: RequestOptions,
  target?: Target,
): IncomingRequest {
  const rootUrl = rootOf(request)
  const headers = request.headers as Record<string, string | undefined>
  return {
    target,
    handler: request.app?.handler,
    headers,
    query: parse(searchOf(request.target).slice(1)),
    body,
    payment: readPayment(request.headers),
    proof: readProof(headers['sign-in-with-x']),
    subscriptionKey: headers['x-svc-subscription'],
    balanceKey: headers[BALANCE_KEY_HEADER],
    maxCharge: headers[MAX_CHARGE_HEADER],
    idempotencyKey: idempotencyKeyOf(headers['idempotency-key'], options),
    rootUrl,
    baseUrl: rootUrl + options.basePath,
    clientAddress: clientAddressOf(request, options.trustProxyHops),
    caller: request.caller,
    streams: request.canStream,
    onPaid: () => share.close(),
  }
}

const NONE = { kind: 'none' } as const

export function readBody(
  request: HostRequest,
  how: BodyReading,
  share: BodyShare,
): Parsed<unknown> | Promise<Parsed<unknown>> {
  if (request.method === 'GET' || request.method === 'HEAD' || !request.carriesBody) {
    request.skipBody()
    return NONE
  }
  const encoding = request.headers['content-encoding']
  // Bytes that another server or the app around reads are passed on as they are.
  const isPassedOn = how.type === 'bytes' && (how.isForwarded || request.app !== undefined)
  const isEncoded = encoding !== undefined && encoding !== 'identity'
  // What is priced here must be what the app reads, by parsers of its own.
  const isReadAgain = request.app !== undefined && how.type !== 'bytes'
  if ((isEncoded && !isPassedOn) || (isReadAgain && readsOtherwise(request.headers['content-type'])))
    throw httpErrorOf('unsupported_encoding')
  return request.readBody(how, share)
}

/** JSON in UTF-8 can be a form with other values, and other JSON in UTF-7. */
function readsOtherwise(contentType = ''): boolean {
  if (/^\s*(?:application\/x-www-form-urlencoded|multipart\/)/i.test(contentType)) return true
  if (!/charset/i.test(contentType)) return false
  const charsets = contentType.matchAll(/charset\s*\*?=\s*"?([^\s";,]*)/gi)
  return [...charsets].some(([, name]) => !/^(?:utf-?8|us-ascii)$/i.test(name!))
}

/** The query with its mark, or nothing. */
export function searchOf(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? '' : target.slice(mark)
}

function idempotencyKeyOf(header: string | undefined, { idempotency }: RequestOptions): string | undefined {
  if (header === undefined || isIdempotencyKey(header)) return header
  if (!idempotency) return undefined
  throw httpErrorOf('invalid_idempotency_key')
}

const PAYING = ['payment-signature', 'x-payment', 'x-svc-subscription', BALANCE_KEY_HEADER]

/** Whether a request presents a payment or the key of a window or a balance, well formed or not. */
export function presentsPayment(headers: IncomingHttpHeaders): boolean {
  return PAYING.some(name => headers[name] !== undefined)
}

const WHERE = 'The payment header'
/** No longer text is decoded. Base64 adds a third, and JSON its marks. */
const LENGTH_MAX = 2 * PAYMENT_BOUNDS.characters

/** `PAYMENT-SIGNATURE`, or `X-PAYMENT`, its name in version 1 of x402. */
function readPayment(headers: IncomingHttpHeaders): Parsed<PaymentPayload> {
  const current = headers['payment-signature']
  const legacy = headers['x-payment']
  if (current === undefined && legacy === undefined) return NONE
  if (current !== undefined && legacy !== undefined && current !== legacy)
    return malformed('PAYMENT-SIGNATURE and X-PAYMENT differ; send one payment')
  const text = String(current ?? legacy)
  if (text.length > LENGTH_MAX) return oversizedPayment(WHERE)
  const payload = decodeHeader(text)
  if (payload !== undefined) return presentedPayment(payload, WHERE)
  return malformed('The payment header is not base64 of a JSON object')
}

/** A name, of DNS or of a container, or an IP address, and an optional port. Other header content is never copied into a URL. */
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** The URL by which this caller reaches this server: the origin, and the prefix at which another app mounts it. */
export function rootOf(request: HostRequest): string {
  return originOf(request) + request.mountedAt
}

/** Scheme and host, from a proxy's forwarded headers if there are any. The result always parses as the origin of a URL. */
function originOf(request: HostRequest): string {
  const proto = firstOf(request.headers['x-forwarded-proto'])?.toLowerCase()
  const scheme = proto === 'http' || proto === 'https' ? proto : request.scheme
  return (
    webOrigin(scheme, request.headers['x-forwarded-host']) ??
    webOrigin(scheme, request.headers.host) ??
    `${scheme}://${request.localHost}`
  )
}

/** The connection's address. Behind `trustProxyHops` proxies, the address that the outermost of them saw. */
export function clientAddressOf(
  { headers, address = NO_ADDRESS }: Pick<HostRequest, 'headers' | 'address'>,
  trustProxyHops: number,
): string {
  if (trustProxyHops === 0) return address
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map(part => part.trim())
  const seen = forwarded.at(-trustProxyHops)
  return seen !== undefined && isIP(seen) !== 0 ? seen : address
}

function firstOf(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header[0] : header
  return text?.includes(',') ? text.slice(0, text.indexOf(',')).trim() : text?.trim()
}

/** More hosts than a real deployment has. Forged ones cannot grow the memory beyond it. */
const HOSTS_MAX = 64
/** A cache of parsed headers: parsing one takes 0.7 µs, a fortieth of an unpaid request. */
const known = new Map<string, string | undefined>()

/** `undefined` for a header whose host a URL cannot have: a port above 65535, five numbers, an invalid IPv6 address. */
function webOrigin(scheme: string, header: string | string[] | undefined): string | undefined {
  const host = firstOf(header) ?? ''
  const text = `${scheme}://${host}`
  const before = known.get(text)
  if (before !== undefined || !HOST.test(host)) return before
  const origin = URL.canParse(text) ? new URL(text).origin : undefined
  if (known.size >= HOSTS_MAX) known.clear()
  known.set(text, origin)
  return origin
}
