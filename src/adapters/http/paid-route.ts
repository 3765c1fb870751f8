/** The routes of one paid endpoint: each reads the request, walks the charge machine, and returns the reply. */
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Lifecycle } from '../../domain/endpoint-lifecycle.js'
import { methodsOf, type Target } from '../../domain/path-pattern.js'
import type { Charge, ChargeOutcome } from '../../ports/charge.js'
import { forReader } from './landing-and-quote-pages.js'
import { replyToOutcome, unwrittenReply } from './outcome-to-reply.js'
import { presentsPayment, type RequestOptions, readBody, readRequest, searchOf } from './read-request.js'
import { httpErrorOf, methodNotAllowed } from './reply.js'
import type { HostRequest, Route } from './route.js'

export interface PaidRouteOptions extends RequestOptions {
  readonly charge: Charge
}

export interface PaidRoute {
  /** The route of one path and method of the endpoint. */
  at(target: Target): Route
  /**
   * A GET on an endpoint without that method. Indexes look at every address so, and people open it in a browser: without a payment it
   * is a probe, and is quoted as a POST without a body is. Nothing that a payment could be for is reached.
   */
  probeAt(target: Target): Route
}

/** Paid bytes are for one payer, once: no cache may keep them or send them to another caller. */
const UNCACHED = [
  'Cache-Control',
  'no-store',
  'Vary',
  'PAYMENT-SIGNATURE, X-PAYMENT, X-SVC-SUBSCRIPTION, X-SVC-BALANCE-KEY, X-SVC-MAX-CHARGE, Idempotency-Key, Accept',
]

export function paidRoute(
  def: EndpointDef,
  options: PaidRouteOptions,
  shared: readonly string[] = [],
): PaidRoute {
  const how = {
    bytesMax: def.maxBodyBytes ?? options.bodyBytesMax,
    type: def.bodyType,
    isForwarded: def.upstream !== undefined,
  }
  const own = [...UNCACHED, ...deprecationHeaders(def)]
  const taken = new Set(own.map(name => name.toLowerCase()))
  const headers = shared.concat(own)
  const answer = async (request: HostRequest, asked: Target) => {
    const target = def.upstream === undefined && !request.app ? asked : forwardable(request, asked)
    const share = options.bodies.open()
    let outcome: ChargeOutcome
    try {
      const body = await readBody(request, how, share)
      outcome = await options.charge.call(def.name, readRequest(request, body, share, options, target))
    } finally {
      share.close()
    }
    try {
      return forReader(def, request, outcome, replyToOutcome(outcome, taken))
    } catch (cause) {
      options.logger.error({ err: cause, traceId: outcome.traceId }, 'an answer could not be written')
      request.undelivered()
      return unwrittenReply(outcome)
    }
  }
  return {
    at: target => ({ headers, handle: request => answer(request, target) }),
    probeAt: target => ({
      headers,
      isProbe: true,
      handle(request) {
        if (presentsPayment(request.headers)) throw methodNotAllowed(methodsOf(def))
        return answer(request, target)
      },
    }),
  }
}

/** More than these are not read for the price, and would reach the upstream or the app. */
const QUERY_FIELDS_MAX = 1_000

export function forwardable({ target: sent, headers }: HostRequest, target: Target): Target {
  const { method, path, params } = target
  if (headers.upgrade !== undefined && /websocket/i.test(headers.upgrade))
    throw httpErrorOf('websocket_not_sold')
  // A server that decodes twice reads a slash where this one reads `%2F`.
  if (/%25[0-9a-f]{2}/i.test(path)) throw httpErrorOf('invalid_path')
  const search = searchOf(sent)
  if (search.includes('#') || search.split('&').length > QUERY_FIELDS_MAX) throw httpErrorOf('invalid_query')
  return { method, path, params, search }
}

/** `Deprecation` is a moment in Unix seconds (RFC 9745), `Sunset` an HTTP date (RFC 8594). */
function deprecationHeaders({ deprecated, sunset }: Lifecycle): readonly string[] {
  return [
    ...(deprecated === undefined ? [] : ['Deprecation', `@${Math.floor(Date.parse(deprecated) / 1_000)}`]),
    ...(sunset === undefined ? [] : ['Sunset', new Date(sunset).toUTCString()]),
  ]
}
