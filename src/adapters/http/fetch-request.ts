/** A request as runtimes with `fetch` have it: Bun, Deno, Workers, and frameworks such as Hono and Next. */
import type { IncomingHttpHeaders } from 'node:http'
import { isOfCaches } from '../../domain/upstream.js'
import type { Parsed } from '../../domain/x402.js'
import type { Caller } from '../../ports/charge.js'
import type { BodyShare } from './body-memory-limit.js'
import { parseBody } from './parse-body.js'
import { HttpError, httpErrorOf, overloaded, tooLarge } from './reply.js'
import type { AppRoute, BodyReading, HostRequest } from './route.js'

/** The address of a request's caller, where the seller's runtime can say it. */
export type ClientAddress = (request: Request) => string | undefined

export function targetOf({ url }: Request): string {
  const hash = url.indexOf('#')
  return url.slice(url.indexOf('/', url.indexOf('//') + 2), hash === -1 ? undefined : hash)
}

export class FetchRequest implements HostRequest {
  #body: Buffer | undefined
  #forApp: Request | undefined
  readonly headers: IncomingHttpHeaders
  /** Under `fetch`, no app can say where it mounts this one: `basePath` is the only prefix. */
  readonly mountedAt = ''
  readonly caller: FetchCaller

  constructor(
    private readonly request: Request,
    private readonly clientAddress: ClientAddress | undefined,
    readonly app?: AppRoute,
  ) {
    this.headers = Object.fromEntries(request.headers)
    this.caller = new FetchCaller(request)
  }

  get method(): string {
    return this.request.method
  }

  get target(): string {
    return targetOf(this.request)
  }

  get scheme(): 'http' | 'https' {
    return this.request.url.startsWith('https:') ? 'https' : 'http'
  }

  get localHost(): string {
    return new URL(this.request.url).host
  }

  get address(): string | undefined {
    return this.clientAddress?.(this.request)
  }

  get carriesBody(): boolean {
    const length = this.headers['content-length']
    return length === undefined ? this.request.body !== null : length !== '0'
  }

  get canStream(): boolean {
    return this.app?.stream !== false
  }

  async readBody(how: BodyReading, share: BodyShare): Promise<Parsed<unknown>> {
    this.#body = await this.#bytes(how, share)
    return parseBody(this.#body, how.type)
  }

  /** For the app: its body is unread. */
  get forApp(): Request {
    const isPlain = !Object.keys(this.headers).some(name => isOfCaches(name, this.method))
    if (this.#body === undefined && isPlain) return this.request
    this.#forApp ??= this.#unread()
    return this.#forApp
  }

  #unread(): Request {
    const { url, method, signal, headers: given } = this.request
    const headers = new Headers(given)
    for (const name in this.headers) if (isOfCaches(name, method)) headers.delete(name)
    return new Request(url, { method, headers, signal, ...(this.#body && { body: this.#body }) })
  }

  async #bytes({ bytesMax }: BodyReading, share: BodyShare): Promise<Buffer> {
    const { request } = this
    if (request.bodyUsed) throw httpErrorOf('body_already_read')
    const announced = this.headers['content-length']
    if (Number(announced) > bytesMax) throw tooLarge(bytesMax)
    // Not every host has checked that the header is a number.
    const isNumber = announced !== undefined && /^\d+$/.test(announced)
    return isNumber && Number(announced) <= SMALL_BYTES_MAX
      ? smallBody(request, Number(announced), bytesMax, share)
      : streamedBody(request.body, bytesMax, share)
  }

  /** The host drops what it has not read of a body. */
  skipBody(): void {}

  undelivered(): void {
    this.caller.end(false)
  }
}

const SMALL_BYTES_MAX = 65_536

/**
 * Hosts on Node read a body in one piece without making a stream, which costs more than an unpaid call. Such a read cannot be
 * stopped: a large body is read as a stream, so that one that is dropped frees its memory.
 */
async function smallBody(request: Request, length: number, most: number, share: BodyShare): Promise<Buffer> {
  if (!share.take(length)) throw overloaded()
  const dropped = new Promise<never>((_, reject) => {
    share.onCut(() => reject(overloaded()))
  })
  try {
    const bytes = Buffer.from(await Promise.race([request.arrayBuffer(), dropped]))
    if (bytes.length > most) throw tooLarge(most)
    share.arrived()
    return bytes
  } catch (cause) {
    if (cause instanceof HttpError) throw cause
    throw request.body?.locked ? httpErrorOf('body_already_read') : httpErrorOf('incomplete_body')
  }
}

async function streamedBody(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  share: BodyShare,
): Promise<Buffer> {
  if (body === null) return Buffer.alloc(0)
  if (body.locked) throw httpErrorOf('body_already_read')
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  let refusal: HttpError | undefined
  const refuse = (why: HttpError) => {
    refusal ??= why
    reader.cancel(why).catch(() => {})
  }
  share.onCut(() => refuse(overloaded()))
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (refusal !== undefined) throw refusal
      if (done) break
      length += value.length
      if (length > bytesMax) refuse(tooLarge(bytesMax))
      else if (!share.take(value.length)) refuse(overloaded())
      else chunks.push(value)
    }
  } catch (cause) {
    throw cause instanceof HttpError ? cause : httpErrorOf('incomplete_body')
  }
  share.arrived()
  return Buffer.concat(chunks)
}

/** The caller of a web request. The signal says that the caller has hung up; the answer's stream says whether it was read. */
export class FetchCaller implements Caller {
  #listeners: ((arrived: boolean) => void)[] = []
  #arrived: boolean | undefined

  constructor(private readonly request: Request) {}

  get isAwaited(): boolean {
    return this.#listeners.length > 0
  }

  gone(): boolean {
    return this.request.signal.aborted
  }

  onGone(listener: () => void): () => void {
    const { signal } = this.request
    // An aborted signal sends no second event.
    if (signal.aborted) queueMicrotask(listener)
    signal.addEventListener('abort', listener, { once: true })
    return () => signal.removeEventListener('abort', listener)
  }

  onEnd(listener: (arrived: boolean) => void): void {
    if (this.#arrived === undefined) this.#listeners.push(listener)
    else listener(this.#arrived)
  }

  end(arrived: boolean): void {
    if (this.#arrived !== undefined) return
    this.#arrived = arrived
    for (const listener of this.#listeners.splice(0)) listener(arrived)
  }
}
