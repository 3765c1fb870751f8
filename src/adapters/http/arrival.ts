/** A request as HTTP reads it for every door: body, payment, keys, and who is calling under which URL. */
import { parse } from 'node:querystring'
import { isIdempotencyKey } from '../../domain/idempotency-key.js'
import type { Presented } from '../../ports/charge.js'
import type { Arrival } from '../../ports/door.js'
import type { BodyBudget } from './body-budget.js'
import { callerOf } from './caller.js'
import { clientAddressOf, rootOf } from './origin.js'
import { readPayment } from './payment-header.js'
import { HttpRefusal } from './refusal.js'
import type { Incoming } from './routes.js'

export interface ArrivalOptions {
  readonly basePath: string
  readonly bodyBytesMax: number
  /** What all bodies that are not paid yet may hold together. */
  readonly bodies: BodyBudget
  readonly trustProxyHops: number
  /** Whether keys mean anything here; what is no key is refused only then. */
  readonly idempotency: boolean
}

/** @throws HttpRefusal for a key that is none. */
export function arrivalOf(incoming: Incoming, body: Presented<unknown>, options: ArrivalOptions): Arrival {
  const { req, res } = incoming
  const rootUrl = rootOf(incoming)
  const headers = req.headers as Record<string, string | undefined>
  return {
    headers,
    query: queryOf(req.url!),
    body,
    payment: readPayment(req.headers),
    subscriptionKey: headers['x-svc-subscription'],
    idempotencyKey: idempotencyKeyOf(headers['idempotency-key'], options),
    rootUrl,
    baseUrl: rootUrl + options.basePath,
    clientAddress: clientAddressOf(req, options.trustProxyHops),
    caller: callerOf(res),
  }
}

function queryOf(url: string) {
  const mark = url.indexOf('?')
  return parse(mark === -1 ? '' : url.slice(mark + 1))
}

function idempotencyKeyOf(header: string | undefined, { idempotency }: ArrivalOptions): string | undefined {
  if (header === undefined || isIdempotencyKey(header)) return header
  if (!idempotency) return undefined
  throw new HttpRefusal(
    400,
    'invalid_idempotency_key',
    'An Idempotency-Key is 1 to 255 visible ASCII characters. You were not charged.',
  )
}
