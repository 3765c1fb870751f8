/** The body of a request of Node's server: read up to a limit, discarded, or put back for the app around. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import { systemClock } from '../../ports/clock.js'
import type { BodyShare } from './body-memory-limit.js'
import { type HttpError, httpErrorOf, overloaded, tooLarge } from './reply.js'

/** How long the server reads and discards a body that is too large, so that its sender can read the refusal. */
const LINGER_MS = 5_000

/** An unread body pauses the socket, and a paused socket cannot report that the caller has hung up. */
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

/** Our own: a general reader repeats checks of Node's parser, which cost a tenth of an unpaid request. */
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
    const incomplete = () => reject(httpErrorOf('incomplete_body'))
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length > bytesMax) return refuse(tooLarge(bytesMax))
      if (!share.take(chunk.length)) return refuse(overloaded())
      chunks.push(chunk)
    }
    share.onCut(() => refuse(overloaded()))
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
      req.off('data', take)
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    req.on('close', () => {
      if (!req.readableEnded) incomplete()
    })
  })
}

/** Closing at once would reset the connection while the sender still writes, and the refusal would be lost. */
function linger(req: IncomingMessage): void {
  req.once(
    'close',
    systemClock.after(LINGER_MS, () => req.destroy()),
  )
  req.resume()
}

/** Makes the request a stream that was not read yet: parsers of the app may stand behind the gate. */
export function rewind(req: IncomingMessage, bytes: Buffer): void {
  const reset = Readable as unknown as (this: Readable, options: object) => void
  reset.call(req, { autoDestroy: false, read() {} })
  req.push(bytes)
  req.push(null)
}

/** The stream of one exchange; `undefined` over HTTP/1. The socket is the whole connection's, which carries many of them. */
export function http2StreamOf(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return (message as { readonly stream?: ServerHttp2Stream }).stream
}
