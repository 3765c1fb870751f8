/** A request as Node's server and Koa have it. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { Parsed } from '../../domain/parsed.js'
import type { Caller } from '../../ports/charge.js'
import { type BodyHolder, leftBody } from './body-left-by-middleware.js'
import type { BodyShare } from './body-memory-limit.js'
import { callerOf, plainHeaders, reportUndelivered } from './caller-connection.js'
import { carriesNodeBody, readNodeBody, skipNodeBody } from './node-body.js'
import { parseBody } from './parse-json-body.js'
import type { BodyReading, HostRequest } from './route-types.js'

/** Computes each part when a route asks for it: most routes ask for few. */
export class NodeRequest implements HostRequest {
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
