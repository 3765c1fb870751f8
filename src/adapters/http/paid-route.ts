/** The routes of one paid endpoint: each reads the request, walks the charge machine, and returns the reply. */
import type { EndpointDef, Method } from '../../domain/endpoint.js'
import type { Lifecycle } from '../../domain/endpoint-options.js'
import type { Charge, ChargeOutcome } from '../../ports/charge.js'
import { htmlReply, prefersHtml, quotePage } from './html-pages.js'
import { chargeReplyHeaders, replyToOutcome, unwrittenReply } from './outcome-to-reply.js'
import { presentsPayment, type RequestOptions, readBody, readRequest } from './read-request.js'
import { type HostRequest, methodNotAllowed, type Reply, type Route } from './route.js'

export interface PaidRouteOptions extends RequestOptions {
  readonly charge: Charge
}

export interface MethodRoute extends Route {
  readonly method: Method
}

/** Paid bytes are for one payer, once: no cache may keep them or send them to another caller. */
const UNCACHED = [
  'Cache-Control',
  'no-store',
  'Vary',
  'PAYMENT-SIGNATURE, X-PAYMENT, X-SVC-SUBSCRIPTION, Idempotency-Key, Accept',
]

export function paidRoute(def: EndpointDef, options: PaidRouteOptions): MethodRoute {
  const how = { bytesMax: def.maxBodyBytes ?? options.bodyBytesMax, type: def.bodyType }
  const headers = [...UNCACHED, ...deprecationHeaders(def)]
  const taken = new Set(headers.map(name => name.toLowerCase()))
  const called = async (request: HostRequest) => {
    const share = options.bodies.open()
    try {
      const body = await readBody(request, how, share)
      return await options.charge.call(def.name, readRequest(request, body, share, options))
    } finally {
      share.close()
    }
  }
  return {
    method: def.method,
    headers,
    async handle(request) {
      const outcome = await called(request)
      try {
        return forReader(def, request, outcome, replyToOutcome(outcome, taken))
      } catch (cause) {
        options.logger.error({ err: cause, traceId: outcome.traceId }, 'an answer could not be written')
        request.undelivered()
        return unwrittenReply(outcome)
      }
    },
  }
}

/**
 * A GET on an endpoint of another method. Indexes look at every address so, and people open it in a browser: without a
 * payment it is a probe, and is quoted as a POST without a body is. Nothing that a payment could be for is reached.
 */
export function probeRoute(def: EndpointDef, options: PaidRouteOptions): MethodRoute {
  const route = paidRoute(def, options)
  return {
    ...route,
    method: 'GET',
    isProbe: true,
    handle(request) {
      if (presentsPayment(request.headers)) throw methodNotAllowed([def.method])
      return route.handle(request)
    },
  }
}

/** A person who opens the address in a browser gets a page instead of the empty object. */
function forReader(def: EndpointDef, request: HostRequest, outcome: ChargeOutcome, reply: Reply): Reply {
  const isQuoted = outcome.final === 'quoted' && outcome.challenge !== undefined
  if (!isQuoted || request.method !== 'GET' || !prefersHtml(request.headers.accept)) return reply
  const { target } = request
  const mark = target.indexOf('?')
  const page = quotePage(def, outcome.challenge.required, mark === -1 ? '' : target.slice(mark))
  return htmlReply(reply.status, page, chargeReplyHeaders(outcome))
}

/**
 * Names and values in turn: `Deprecation` is a moment in Unix seconds, `Sunset` an HTTP date.
 *
 * @see RFC 9745 for `Deprecation`, RFC 8594 for `Sunset`
 */
function deprecationHeaders({ deprecated, sunset }: Lifecycle): readonly string[] {
  return [
    ...(deprecated === undefined ? [] : ['Deprecation', `@${Math.floor(Date.parse(deprecated) / 1_000)}`]),
    ...(sunset === undefined ? [] : ['Sunset', new Date(sunset).toUTCString()]),
  ]
}
