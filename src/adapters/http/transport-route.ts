/** The route of a transport: HTTP around a protocol that does not depend on it. */
import type { Parsed } from '../../domain/x402.js'
import type { Logger } from '../../ports/logger.js'
import { type Transport, type TransportResponse, Unwritten } from '../../ports/transport.js'
import { chargeReplyHeaders, unwritten } from './outcome-to-reply.js'
import { type RequestOptions, readBody, readRequest } from './read-request.js'
import { HttpError, httpErrorOf, type Reply } from './reply.js'
import type { FreeRoute } from './route.js'

/** The route itself is free. The endpoint that a message names may need payment. */
export function transportRoute(path: string, transport: Transport, options: RequestOptions): FreeRoute {
  const how = { bytesMax: options.bodyBytesMax }
  return {
    path,
    method: 'POST',
    headers: ['Cache-Control', 'no-store'],
    async handle(request) {
      let asked: Parsed<unknown> | undefined
      const share = options.bodies.open()
      try {
        asked = await readBody(request, how, share)
        const answer = await transport.answer(readRequest(request, asked, share, options))
        const { outcome } = answer
        if (!outcome) return replyOf(answer)
        const instead = () => replyOf({ ...transport.refuse(unwritten(outcome), asked), outcome })
        return { instead, ...replyOf(answer) }
      } catch (cause) {
        if (cause instanceof Unwritten) request.undelivered()
        return replyOf(refusalBy(transport, cause, asked, options.logger), cause)
      } finally {
        share.close()
      }
    },
  }
}

/** If a transport breaks after a call, it throws `Unwritten` with the outcome; any other error came before the call. */
function refusalBy(
  transport: Transport,
  cause: unknown,
  asked: Parsed<unknown> | undefined,
  logger: Logger,
): TransportResponse {
  if (cause instanceof HttpError) return transport.refuse(cause, asked)
  if (!(cause instanceof Unwritten)) {
    logger.error({ err: cause }, 'a transport broke')
    return transport.refuse(httpErrorOf('internal_error'), asked)
  }
  const { outcome } = cause
  logger.error({ err: cause.cause, traceId: outcome.traceId }, 'an answer could not be written')
  return { ...transport.refuse(unwritten(outcome), asked), outcome }
}

function replyOf({ status, headers, body, outcome }: TransportResponse, cause?: unknown): Reply {
  const refused = cause instanceof HttpError ? cause.headers : []
  const own = [...Object.entries(headers).flat(), ...refused]
  return { status, headers: outcome ? chargeReplyHeaders(outcome).concat(own) : own, body }
}
