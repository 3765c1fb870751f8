/**
 * The caller of one request to Node's server: whether they have hung up, and whether the answer reached their socket. Over HTTP/2
 * requests and responses only resemble those of HTTP/1.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Caller } from '../../ports/charge.js'

/**
 * Responses whose own answer could not be written. The replacement that was sent may have arrived, but it is not that
 * answer.
 */
const undelivered = new WeakSet<ServerResponse>()

/** Reports that this request's answer could not be written: its caller's `onEnd` then receives `false`. */
export function reportUndelivered(res: ServerResponse): void {
  undelivered.add(res)
}

export function callerOf(res: ServerResponse): Caller {
  const exchange = http2StreamOf(res)
  return {
    // A pipelined request's response has no socket until its turn. The request has one.
    gone: () => (exchange ? exchange.destroyed : res.closed || res.req.socket.destroyed),
    onGone(listener) {
      res.once('close', listener)
      return () => res.off('close', listener)
    },
    onEnd(listener) {
      if ((exchange ?? res).destroyed) listener(false)
      else res.once('close', () => listener(isWritten(res) && !undelivered.has(res)))
    },
  }
}

/** Node 20 counts a response as finished whose connection was reset while 30 MB of it waited; Node 24 does not. */
function isWritten(res: ServerResponse): boolean {
  const exchange = http2StreamOf(res)
  if (exchange) return exchange.writableFinished && exchange.rstCode === constants.NGHTTP2_NO_ERROR
  // Sockets that are not Node's may know no `errored`: then nothing says that the answer is lost.
  return res.writableFinished && !res.req.socket.errored
}

/** The stream of one exchange; `undefined` over HTTP/1. The socket is the whole connection's, which carries many of them. */
export function http2StreamOf(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return (message as { readonly stream?: ServerHttp2Stream }).stream
}

/** The headers as HTTP/1 would have them. HTTP/2 names the host `:authority`, and has the method and the path among them. */
export function plainHeaders({ httpVersionMajor, headers }: IncomingMessage): IncomingHttpHeaders {
  if (httpVersionMajor < 2) return headers
  const { ':authority': host = headers.host } = headers as { readonly ':authority'?: string }
  const plain = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  return { ...Object.fromEntries(plain), ...(host !== undefined && { host }) }
}
