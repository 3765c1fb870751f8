/** Writes a reply to a response of Node, and closes what is written no more. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { bytesIn } from '../../domain/handler.js'
import type { Logger } from '../../ports/logger.js'
import { reportUndelivered } from './koa-request.js'
import { http2StreamOf } from './node-body.js'
import { isBodiless, isStream, type Reply, replyToError, type StreamedBody } from './reply.js'

type WholeBody = string | Uint8Array | undefined

export interface ReplyTarget {
  readonly res: ServerResponse
  isSent(): boolean
  send(reply: Reply): void
}

/** If a reply cannot be written, report the call as undelivered, and write the reply's `instead` where that is still possible. */
export function sendReply(to: ReplyTarget, reply: Reply, logger: Logger): void {
  const { res } = to
  // Another middleware has answered already, for example one that limits the time of a request.
  if (to.isSent()) return void unsent(res, reply, new Error('another middleware has answered'))
  try {
    to.send(reply)
  } catch (cause) {
    unsent(res, reply, cause)
    const refusal = replyToError(cause, logger)
    try {
      if (to.isSent()) res.destroy()
      else to.send(reply.instead?.() ?? refusal)
    } catch (err) {
      // A closed connection is better than a wrong statement about money, and an error here would end the process.
      logger.error({ err }, 'an answer could not be written, nor what is said in its place')
      res.destroy()
    }
  }
}

/** Another answer leaves in the place of this one, or none. */
export function unsent(res: ServerResponse, { body }: Reply, cause: unknown): void {
  reportUndelivered(res)
  if (isStream(body)) body.unsent?.(cause)
}

/**
 * Express middleware may have set headers, or may wait for them in its own `writeHead`. (Node 20 also loses the first
 * `Set-Cookie` that was set before, where `writeHead` receives a list.)
 */
export function isUntouched(res: ServerResponse): boolean {
  // Not every version of Node takes a list of names and values for HTTP/2.
  if (http2StreamOf(res)) return false
  return res.getHeaderNames().length === 0 && WRAPPED.every(name => !Object.hasOwn(res, name))
}

/** Functions that Express middleware replaces. Some replacements set headers when the body ends. */
const WRAPPED = ['writeHead', 'end', 'write', 'setHeader', 'flushHeaders'] as const

/** Koa's own setters and `respond` are a third of what an unpaid answer costs. */
export function writeAtOnce(res: ServerResponse, { status, headers, body }: Reply): void {
  if (isStream(body)) {
    res.writeHead(status, headers as string[])
    // The first chunk may be late, and the receipt is in the head.
    res.flushHeaders()
    pipeline(readableOf(body), res, () => {})
    return
  }
  res.writeHead(status, framed(status, headers, body))
  endWith(res, res.end, body)
}

/** The headers of an answer that is whole. */
export function framed(status: number, headers: readonly string[], body: WholeBody): string[] {
  return isBodiless(status) ? [...headers] : [...headers, 'Content-Length', String(bytesIn(body))]
}

/** Node writes the head in the encoding of the text that follows it, and UTF-8 is slow. ASCII text can use latin1; middleware decodes bytes by it. */
export function endWith(res: ServerResponse, end: ServerResponse['end'], body: WholeBody): void {
  end.call(res, body, typeof body === 'string' && bytesIn(body) === body.length ? 'latin1' : 'utf8')
}

/** Sets all, or none: what is sent instead must not carry the headers of this reply. */
export function setHeaders(res: ServerResponse, headers: readonly string[]): void {
  try {
    for (let at = 0; at < headers.length; at += 2) {
      const [name, value] = [headers[at]!, headers[at + 1]!]
      // The end of one exchange says nothing of an HTTP/2 connection.
      if (name === 'Connection' && http2StreamOf(res)) continue
      // The only header that may occur several times and is never joined.
      if (name === 'set-cookie') res.appendHeader(name, value)
      else res.setHeader(name, value)
    }
  } catch (cause) {
    for (let at = 0; at < headers.length; at += 2) res.removeHeader(headers[at]!)
    throw cause
  }
}

/** An object, pairs, or names and values in turn, as `writeHead` takes them. */
export function pairsIn(headers: object): readonly (readonly [string, unknown])[] {
  if (!Array.isArray(headers)) return Object.entries(headers)
  if (Array.isArray(headers[0])) return headers
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]] as const] : []))
}

export function readableOf({ chunks, cut }: StreamedBody): Readable {
  const readable = chunks instanceof Readable ? chunks : Readable.from(chunks, { objectMode: false })
  return cut === undefined ? readable : addAbortSignal(cut, readable)
}

/** One listener for each socket: for 200 pipelined requests, one each would look like a leak to Node, which warns from eleven. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>()

/**
 * Closes a pipelined response with its socket. Node closes only the response that has the socket. A pipelined
 * response whose socket ends before its turn would never close, and its call, its stream and its idempotency key
 * would wait forever. A request that is not pipelined costs one comparison.
 */
export function closeWithSocket(res: ServerResponse): void {
  const { socket } = res.req
  if (res.socket !== null || !socket) return
  if (socket.closed) return void res.destroy()
  const responses = waiting.get(socket) ?? watched(socket)
  responses.add(res)
  res.once('close', () => responses.delete(res))
}

function watched(socket: Socket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>()
  waiting.set(socket, responses)
  socket.once('close', () => {
    for (const res of responses) {
      // Node closes the responses that had their turn.
      if (res.socket !== null || res.writableFinished) continue
      res.destroy()
      res.emit('close')
    }
  })
  return responses
}
