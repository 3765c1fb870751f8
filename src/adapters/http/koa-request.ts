/** A request as Koa and Node's HTTP server have it: headers, caller and body, over HTTP/1 and HTTP/2. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
/** @ts-ignore: without the optional peer @types/koa, these are `any`. */
import type Koa from 'koa'
import { isOfCaches } from '../../domain/upstream.js'
import type { Parsed } from '../../domain/x402.js'
import type { Caller } from '../../ports/charge.js'
import { type BodyHolder, leftBody } from './body-left-by-middleware.js'
import type { BodyShare } from './body-memory-limit.js'
import { carriesNodeBody, http2StreamOf, readNodeBody, rewind, skipNodeBody } from './node-body.js'
import { parseBody } from './parse-body.js'
import type { AppRoute, BodyReading, HostRequest } from './route.js'

/** Koa's types. Other modules take them from here: without `@types/koa`, a compiler that checks libraries refuses each import from Koa. */
export type { Koa }

/** A request of Node's server. Computes each part when a route asks for it: most routes ask for few. */
export class NodeRequest implements HostRequest {
  #headers: IncomingHttpHeaders | undefined

  constructor(
    readonly req: IncomingMessage,
    readonly res: ServerResponse,
    readonly app?: NodeAppRoute,
  ) {
    if (app !== undefined) askForAll(req)
  }

  get mountedAt(): string {
    return ''
  }

  get holder(): BodyHolder | undefined {
    return this.app?.holder
  }

  get method(): string {
    return this.req.method!
  }

  get target(): string {
    return this.app?.target ?? this.req.url!
  }

  get headers(): IncomingHttpHeaders {
    this.#headers ??= plainHeaders(this.req)
    return this.#headers
  }

  get scheme(): 'http' | 'https' {
    return 'encrypted' in this.req.socket ? 'https' : 'http'
  }

  get localHost(): string {
    const { localAddress = '127.0.0.1', localPort = 80 } = this.req.socket
    // Without the zone of a link-local address, which a URL cannot contain.
    const [address] = localAddress.split('%', 1) as [string]
    return `${address.includes(':') ? `[${address}]` : address}:${localPort}`
  }

  get address(): string | undefined {
    return this.req.socket.remoteAddress
  }

  get caller(): Caller {
    return callerOf(this.res)
  }

  get carriesBody(): boolean {
    return carriesNodeBody(this.req)
  }

  get canStream(): boolean {
    return this.app?.stream !== false && this.req.httpVersion !== '1.0'
  }

  /** If middleware has read the body already, what it read is used. */
  readBody(how: BodyReading, share: BodyShare): Parsed<unknown> | Promise<Parsed<unknown>> {
    const { req } = this
    if (req.readableDidRead || req.readableEnded)
      return leftBody(req, this.holder, how, this.app !== undefined)
    return readNodeBody(req, how.bytesMax, share).then(bytes => {
      if (this.app) rewind(req, bytes)
      return parseBody(bytes, how.type)
    })
  }

  skipBody(): void {
    skipNodeBody(this.req)
  }

  undelivered(): void {
    reportUndelivered(this.res)
  }
}

/** What is sold leaves whole: nobody behind or around may answer 304 or 206. */
export function askForAll({ headers, method }: IncomingMessage): void {
  for (const name in headers) if (isOfCaches(name, method!)) delete headers[name]
}

/** What a framework of Node has beside the request. */
interface NodeAppRoute extends AppRoute {
  /** Frameworks shorten the request's own URL below a router. */
  readonly target: string
  /** Where parsers of the framework leave a body. */
  readonly holder: object
}

export class KoaRequest extends NodeRequest {
  constructor(private readonly context: Koa.Context) {
    super(context.req, context.res)
  }

  /** Routes match `url` exactly, so the mounting app decides what stands before it, not the caller. */
  override get mountedAt(): string {
    const { req, originalUrl, url } = this.context
    // Express shortens the request's own URL before Koa sees it, and keeps the whole URL beside it.
    const { originalUrl: whole = originalUrl } = req as { originalUrl?: string }
    // For the path of the mount itself, the URL that is left is `/`, with a slash that the caller did not send.
    const rest = whole.endsWith(url) ? url : /^\/(\?|$)/.test(url) ? url.slice(1) : whole
    const prefix = whole.endsWith(rest) ? whole.slice(0, whole.length - rest.length) : ''
    // Any other prefix would change the host of the origin that it is appended to.
    return prefix.startsWith('/') ? prefix : ''
  }

  override get holder(): BodyHolder {
    return this.context.request as BodyHolder
  }
}

/** Responses whose own answer could not be written. The replacement that was sent may have arrived, but it is not that answer. */
const undelivered = new WeakSet<ServerResponse>()

/** Reports that this request's answer could not be written: its caller's `onEnd` then receives `false`. */
export function reportUndelivered(res: ServerResponse): void {
  undelivered.add(res)
}

export function callerOf(res: ServerResponse): Caller {
  const exchange = http2StreamOf(res)
  const whenClosed = (listener: (says: boolean) => void, says: () => boolean, before: boolean) =>
    (exchange ?? res).destroyed ? listener(before) : void res.once('close', () => listener(says()))
  return {
    // A pipelined request's response has no socket until its turn. The request has one, but on hosts without any, such as of functions.
    gone: () => (exchange ? exchange.destroyed : res.closed || res.req.socket?.destroyed === true),
    onGone(listener) {
      res.once('close', listener)
      return () => res.off('close', listener)
    },
    onSent: listener => whenClosed(listener, () => !undelivered.has(res), true),
    onEnd: listener => whenClosed(listener, () => isWritten(res) && !undelivered.has(res), false),
  }
}

/** On Node 20 `writableFinished` is true although the connection was reset while 30 MB waited; on Node 24 it is not. */
function isWritten(res: ServerResponse): boolean {
  const exchange = http2StreamOf(res)
  // 0 is NO_ERROR (RFC 9113, section 7). To import the constant from `node:http2` takes 1.7 MB.
  if (exchange) return exchange.writableFinished && exchange.rstCode === 0
  // Sockets that are not Node's may lack `errored`: their answers count as written.
  return res.writableFinished && !res.req.socket?.errored
}

/** The headers as HTTP/1 would have them. HTTP/2 names the host `:authority`, and has the method and the path among them. */
function plainHeaders({ httpVersionMajor, headers }: IncomingMessage): IncomingHttpHeaders {
  if (httpVersionMajor < 2) return headers
  const { ':authority': host = headers.host } = headers as { readonly ':authority'?: string }
  const plain = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  return { ...Object.fromEntries(plain), ...(host !== undefined && { host }) }
}
