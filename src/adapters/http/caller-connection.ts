/** The caller of one request: whether they have hung up, and whether the answer reached their socket. */
import type { ServerResponse } from 'node:http'
import { constants } from 'node:http2'
import type { Caller } from '../../ports/charge.js'
import { http2StreamOf } from './http2-exchange.js'

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
