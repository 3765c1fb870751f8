/** A request that came to a route of an app: the app reads its body after the gate, as if nobody had read it before. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Handler } from '../../domain/handler-context.js'
import type { Parsed } from '../../domain/x402.js'
import { type BodyHolder, leftForm } from './body-left-by-middleware.js'
import type { BodyShare } from './body-memory-limit.js'
import { type ClientAddress, FetchRequest } from './fetch-request.js'
import { KoaRequest, readNodeBody } from './koa-request.js'
import { parseBody } from './read-request.js'
import type { BodyReading } from './route.js'

/** A paid answer is whole and fresh: `304` and `206` would sell nothing, or a part. */
const CONDITIONAL = ['if-none-match', 'if-modified-since', 'if-range', 'range'] as const

export class GatedKoaRequest extends KoaRequest {
  readonly #context: Context
  readonly #streams: boolean
  /** The app's routes have their whole paths. */
  override get mountedAt(): string {
    return ''
  }

  constructor(
    context: Context,
    readonly handler: Handler,
    streams = false,
  ) {
    super(context)
    this.#context = context
    this.#streams = streams
    for (const name of CONDITIONAL) delete context.req.headers[name]
  }

  override get target(): string {
    return originalUrlOf(this.#context.req, this.#context.originalUrl)
  }

  override get canStream(): boolean {
    return this.#streams && super.canStream
  }

  override readBody(how: BodyReading, share: BodyShare): Parsed<unknown> | Promise<Parsed<unknown>> {
    const { req, request } = this.#context
    if (req.readableDidRead || req.readableEnded)
      return how.type === 'bytes' ? leftForm(req, request as BodyHolder, how) : super.readBody(how, share)
    return readNodeBody(req, how.bytesMax, share).then(bytes => {
      rewind(req, bytes)
      return parseBody(bytes, how.type)
    })
  }
}

/** Express shortens the request's own URL below a router, and keeps the whole URL beside it. */
export function originalUrlOf(
  req: IncomingMessage & { readonly originalUrl?: string },
  url = req.url!,
): string {
  return req.originalUrl ?? url
}

/** Makes the request a stream that was not read yet: parsers of the app may stand behind the gate. */
function rewind(req: IncomingMessage, bytes: Buffer): void {
  const reset = Readable as unknown as (this: Readable, options: object) => void
  reset.call(req, { autoDestroy: false, read() {} })
  req.push(bytes)
  req.push(null)
}

export class GatedFetchRequest extends FetchRequest {
  readonly #request: Request
  readonly #streams: boolean
  #body: Buffer | undefined
  #forApp: Request | undefined

  constructor(
    request: Request,
    clientAddress: ClientAddress | undefined,
    readonly handler: Handler,
    streams = false,
  ) {
    super(request, clientAddress)
    this.#request = request
    this.#streams = streams
  }

  /** What the app gets: its body is unread. */
  get forApp(): Request {
    this.#forApp ??= this.#unread()
    return this.#forApp
  }

  #unread(): Request {
    const { url, method, signal, headers: given } = this.#request
    if (this.#body === undefined && !CONDITIONAL.some(name => name in this.headers)) return this.#request
    const headers = new Headers(given)
    for (const name of CONDITIONAL) headers.delete(name)
    return new Request(url, { method, headers, signal, ...(this.#body && { body: this.#body }) })
  }

  override get canStream(): boolean {
    return this.#streams
  }

  override async readBody(how: BodyReading, share: BodyShare): Promise<Parsed<unknown>> {
    const read = await super.readBody({ ...how, type: 'bytes' }, share)
    this.#body = read.kind === 'read' ? Buffer.from(read.value as Uint8Array) : Buffer.alloc(0)
    return parseBody(this.#body, how.type)
  }
}
