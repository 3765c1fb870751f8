/** A request as Koa and Node.js's HTTP server have it: its headers, its caller and its body. Over HTTP/2 it only resembles that of HTTP/1. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Context } from 'koa'
import type { Parsed } from '../../domain/x402.js'
import type { Caller } from '../../ports/charge.js'
import { systemClock } from '../../ports/clock.js'
import { type BodyHolder, leftBody } from './body-left-by-middleware.js'
import type { BodyShare } from './body-memory-limit.js'
import { parseBody } from './read-request.js'
import {
  type BodyReading,
  type HostRequest,
  type HttpError,
  incompleteBody,
  overloaded,
  tooLarge,
} from './route.js'

/** Computes each part when a route asks for it: most routes ask for few. */
export class KoaRequest implements HostRequest {
  readonly #context: Context
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  #headers: IncomingHttpHeaders | undefined

  constructor(context: Context) {
    this.#context = context
    this.#req = context.req
    this.#res = context.res
  }

  get method(): string {
    return this.#req.method!
  }

  get target(): string {
    return this.#req.url!
  }

  get headers(): IncomingHttpHeaders {
    this.#headers ??= plainHeaders(this.#req)
    return this.#headers
  }

  get mountedAt(): string {
    return prefixOf(this.#context)
  }

  get scheme(): 'http' | 'https' {
    return 'encrypted' in this.#req.socket ? 'https' : 'http'
  }

  get localHost(): string {
    const { localAddress = '127.0.0.1', localPort = 80 } = this.#req.socket
    // Without the zone of a link-local address, which a URL cannot contain.
    const [address] = localAddress.split('%', 1) as [string]
    return `${address.includes(':') ? `[${address}]` : address}:${localPort}`
  }

  get address(): string | undefined {
    return this.#req.socket.remoteAddress
  }

  get caller(): Caller {
    return callerOf(this.#res)
  }

  get carriesBody(): boolean {
    return carriesNodeBody(this.#req)
  }

  get canStream(): boolean {
    return this.#req.httpVersion !== '1.0'
  }

  /** If middleware has read the body already, what it read is used. */
  readBody(how: BodyReading, share: BodyShare): Parsed<unknown> | Promise<Parsed<unknown>> {
    const req = this.#req
    if (req.readableDidRead || req.readableEnded) {
      return leftBody(req, this.#context.request as BodyHolder, how)
    }
    return readNodeBody(req, how.bytesMax, share).then(bytes => parseBody(bytes, how.type))
  }

  skipBody(): void {
    skipNodeBody(this.#req)
  }

  undelivered(): void {
    reportUndelivered(this.#res)
  }
}

/** Routes match `url` exactly, so the mounting app decides what stands before it, not the caller. */
function prefixOf({ req, originalUrl, url }: Context): string {
  // Express shortens the request's own URL before Koa sees it, and keeps the whole URL beside it.
  const { originalUrl: whole = originalUrl } = req as { originalUrl?: string }
  // For the path of the mount itself, the URL that is left is `/`, with a slash that the caller did not send.
  const rest = whole.endsWith(url) ? url : /^\/(\?|$)/.test(url) ? url.slice(1) : whole
  const prefix = whole.endsWith(rest) ? whole.slice(0, whole.length - rest.length) : ''
  // Any other prefix would change the host of the origin that it is appended to.
  return prefix.startsWith('/') ? prefix : ''
}

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
function plainHeaders({ httpVersionMajor, headers }: IncomingMessage): IncomingHttpHeaders {
  if (httpVersionMajor < 2) return headers
  const { ':authority': host = headers.host } = headers as { readonly ':authority'?: string }
  const plain = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  return { ...Object.fromEntries(plain), ...(host !== undefined && { host }) }
}

/** How long the server reads and discards a body that is too large, so that its sender can read the refusal. */
const LINGER_MS = 5_000

/**
 * Discards an unread body. An unread body pauses the socket, and a paused socket cannot report that the caller has
 * hung up.
 */
function skipNodeBody(req: IncomingMessage): void {
  if (req.readableFlowing === null && carriesNodeBody(req)) req.resume()
}

function carriesNodeBody(req: IncomingMessage): boolean {
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
    const incomplete = () => reject(incompleteBody())
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
      req.off('data', take)
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
