/** One paid route: reads the request, walks the charge machine, returns the reply. */
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Charge } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import { deprecationHeaders } from './deprecation-headers.js'
import { replyToOutcome, unwrittenReply } from './outcome-to-reply.js'
import { readBody } from './read-body.js'
import { type RequestOptions, readRequest } from './read-request.js'
import type { HostRequest, Route } from './route-types.js'

export interface PaidRouteOptions extends RequestOptions {
  readonly charge: Charge
  readonly logger: Logger
}

/** Paid bytes are for one payer, once: no cache may keep them or send them to another caller. */
const UNCACHED = [
  'Cache-Control',
  'no-store',
  'Vary',
  'PAYMENT-SIGNATURE, X-PAYMENT, X-SVC-SUBSCRIPTION, Idempotency-Key',
]

export function paidRoute(def: EndpointDef, options: PaidRouteOptions): Route {
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
    headers,
    async handle(request) {
      const outcome = await called(request)
      try {
        return replyToOutcome(outcome, taken)
      } catch (cause) {
        options.logger.error({ err: cause, traceId: outcome.traceId }, 'an answer could not be written')
        request.undelivered()
        return unwrittenReply(outcome)
      }
    },
  }
}
