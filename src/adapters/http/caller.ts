/** Who waits for the answer of one request: whether they have hung up, and whether the answer reached their socket. */
import type { ServerResponse } from 'node:http'
import type { Caller } from '../../ports/charge.js'

/** Responses whose own answer could not be written. What was sent in its place may have arrived, and is not that answer. */
const undelivered = new WeakSet<ServerResponse>()

/** The answer of this request could not be written: its caller's `onEnd` says that it has not arrived. */
export function reportUndelivered(res: ServerResponse): void {
  undelivered.add(res)
}

export function callerOf(res: ServerResponse): Caller {
  return {
    // A pipelined request's response has no socket until its turn; the request has.
    gone: () => res.closed || res.req.socket.destroyed,
    onGone(listener) {
      res.once('close', listener)
      return () => res.off('close', listener)
    },
    onEnd(listener) {
      if (res.destroyed) listener(false)
      else res.once('close', () => listener(res.writableFinished && !undelivered.has(res)))
    },
  }
}
