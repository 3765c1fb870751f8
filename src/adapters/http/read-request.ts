/** Reads an HTTP request for every transport: body, payment, keys, the caller, and the URL that the caller used. */
import { parse } from 'node:querystring'
import { isIdempotencyKey } from '../../domain/idempotency-key.js'
import type { Parsed } from '../../domain/parsed.js'
import { readProof } from '../../domain/sign-in-with-x.js'
import type { IncomingRequest } from '../../ports/transport.js'
import type { BodyBudget, BodyShare } from './body-memory-limit.js'
import { HttpError } from './error-to-reply.js'
import { clientAddressOf, rootOf } from './forwarded-address.js'
import { readPayment } from './read-payment-header.js'
import type { BodyReading, HostRequest } from './route-types.js'

export interface RequestOptions {
  readonly basePath: string
  readonly bodyBytesMax: number
  /** The limit for the bodies of all unpaid requests together. */
  readonly bodies: BodyBudget
  readonly trustProxyHops: number
  /** Whether idempotency keys count here. Only then is an invalid key refused. */
  readonly idempotency: boolean
}

/** @throws HttpError for an invalid key. */
export function readRequest(
  request: HostRequest,
  body: Parsed<unknown>,
  share: BodyShare,
  options: RequestOptions,
): IncomingRequest {
  const rootUrl = rootOf(request)
  const headers = request.headers as Record<string, string | undefined>
  return {
    headers,
    query: queryOf(request.target),
    body,
    payment: readPayment(request.headers),
    proof: readProof(headers['sign-in-with-x']),
    subscriptionKey: headers['x-svc-subscription'],
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

/**
 * Reads the body of a call, whatever its host: once, in its own encoding, up to a limit in bytes.
 *
 * @throws HttpError for a body that cannot be read, or is too large.
 */
export function readBody(
  request: HostRequest,
  how: BodyReading,
  share: BodyShare,
): Parsed<unknown> | Promise<Parsed<unknown>> {
  if (request.method !== 'POST' || !request.carriesBody) {
    request.skipBody()
    return NONE
  }
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpError(415, 'unsupported_encoding', 'Send the body without a Content-Encoding.')
  }
  return request.readBody(how, share)
}

function queryOf(url: string) {
  const mark = url.indexOf('?')
  return parse(mark === -1 ? '' : url.slice(mark + 1))
}

function idempotencyKeyOf(header: string | undefined, { idempotency }: RequestOptions): string | undefined {
  if (header === undefined || isIdempotencyKey(header)) return header
  if (!idempotency) return undefined
  throw new HttpError(
    400,
    'invalid_idempotency_key',
    'An Idempotency-Key is 1 to 255 visible ASCII characters. You were not charged.',
  )
}
