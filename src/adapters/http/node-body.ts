/** Reads a request body from Node's stream, up to a limit in bytes. */
import type { IncomingMessage } from 'node:http'
import { systemClock } from '../../ports/clock.js'
import { type BodyShare, overloaded } from './body-memory-limit.js'
import { http2StreamOf } from './caller-connection.js'
import { HttpError, tooLarge } from './error-to-reply.js'

/** How long the server reads and discards a body that is too large, so that its sender can read the refusal. */
const LINGER_MS = 5_000

/**
 * Discards an unread body. An unread body pauses the socket, and a paused socket cannot report that the caller has
 * hung up.
 */
export function skipNodeBody(req: IncomingMessage): void {
  if (req.readableFlowing === null && carriesNodeBody(req)) req.resume()
}

export function carriesNodeBody(req: IncomingMessage): boolean {
  // HTTP/2 has no other framing: a body may come without a length.
  const stream = http2StreamOf(req)
  if (stream) return !stream.endAfterHeaders
  if (req.headers['transfer-encoding'] !== undefined) return true
  const length = req.headers['content-length']
  return length !== undefined && length !== '0'
}

/**
 * This reader is our own: a general reader repeats checks that Node's parser has made, which cost a tenth of an
 * unpaid request.
 */
export function readNodeBody(req: IncomingMessage, bytesMax: number, share: BodyShare): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let length = 0
    const refuse = (refusal: HttpError) => {
      req.off('data', take)
      chunks = []
      linger(req)
      reject(refusal)
    }
    const incomplete = () =>
      reject(new HttpError(400, 'incomplete_body', 'The body ended before it was complete.'))
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length > bytesMax) return refuse(tooLarge(bytesMax))
      if (!share.take(chunk.length)) return refuse(overloaded())
      chunks.push(chunk)
    }
    share.onCut = () => refuse(overloaded())
    // The request closed while other middleware was busy. Its events have fired already.
    if (req.destroyed) return incomplete()
    if (Number(req.headers['content-length']) > bytesMax) return refuse(tooLarge(bytesMax))
    req.on('data', take)
    // A listener alone does not resume a stream that other middleware has paused.
    if (req.isPaused()) req.resume()
    req.on('end', () => {
      // Node ends the body of a stream that its sender resets without an error, as if it were whole.
      if (http2StreamOf(req)?.aborted) return incomplete()
      share.arrived()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    req.on('close', () => {
      if (!req.readableEnded) incomplete()
    })
  })
}

/**
 * Keeps reading before it closes. Closing at once would reset the connection while the sender still writes, and the
 * refusal would be lost.
 */
function linger(req: IncomingMessage): void {
  req.once(
    'close',
    systemClock.after(LINGER_MS, () => req.destroy()),
  )
  req.resume()
}
