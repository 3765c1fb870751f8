/** A request as runtimes with `fetch` have it: Bun, Deno, Workers, and frameworks such as Hono and Next. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller, Parsed } from '../../ports/charge.js'
import { systemClock } from '../../ports/clock.js'
import { type BodyShare, overloaded } from './body-memory-limit.js'
import { HttpError, tooLarge } from './error-to-reply.js'
import { parseBody } from './parse-json-body.js'
import type { BodyReading, HostRequest } from './route-types.js'

/** The address of a request's caller, where the seller's runtime can say it. */
export type ClientAddress = (request: Request) => string | undefined

export class FetchRequest implements HostRequest {
  readonly #request: Request
  readonly #clientAddress: ClientAddress | undefined
  readonly #url: URL
  readonly headers: IncomingHttpHeaders
  /** Under `fetch`, no app can say where it mounts this one: `basePath` is the only prefix. */
  readonly mountedAt = ''
  readonly caller: FetchCaller

  constructor(request: Request, clientAddress: ClientAddress | undefined) {
    this.#request = request
    this.#clientAddress = clientAddress
    this.#url = new URL(request.url)
    this.headers = Object.fromEntries(request.headers)
    this.caller = new FetchCaller(request.signal)
  }

  get method(): string {
    return this.#request.method
  }

  get target(): string {
    return this.#url.pathname + this.#url.search
  }

  get scheme(): 'http' | 'https' {
    return this.#url.protocol === 'https:' ? 'https' : 'http'
  }

  get localHost(): string {
    return this.#url.host
  }

  get address(): string | undefined {
    return this.#clientAddress?.(this.#request)
  }

  get carriesBody(): boolean {
    return this.#request.body !== null && this.headers['content-length'] !== '0'
  }

  readonly canStream = true

  async readBody({ bytesMax, type }: BodyReading, share: BodyShare): Promise<Parsed<unknown>> {
    if (this.#request.bodyUsed || this.#request.body!.locked) {
      throw new HttpError(
        500,
        'body_already_read',
        'Something in front of this handler read the body. Its seller passes a request whose body is unread. You were not charged.',
      )
    }
    if (Number(this.headers['content-length']) > bytesMax) throw tooLarge(bytesMax)
    return parseBody(await bytesOf(this.#request.body!, bytesMax, share), type)
  }

  /** The host does this. */
  skipBody(): void {}

  undelivered(): void {
    this.caller.end(false)
  }
}

async function bytesOf(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
  share: BodyShare,
): Promise<Buffer> {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  let refusal: HttpError | undefined
  const refuse = (why: HttpError) => {
    refusal ??= why
    reader.cancel(why).catch(() => {
      // The body is gone, which is what was asked for.
    })
  }
  share.onCut = () => refuse(overloaded())
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
    throw cause instanceof HttpError
      ? cause
      : new HttpError(400, 'incomplete_body', 'The body ended before it was complete.')
  }
  share.arrived()
  return Buffer.concat(chunks)
}

/** The caller of a web request: its signal says that it has hung up, and the body's stream whether the answer was taken. */
export class FetchCaller implements Caller {
  readonly #signal: AbortSignal
  #listeners: ((arrived: boolean) => void)[] = []
  #arrived: boolean | undefined
  #stopWaiting: () => void = () => {}

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /** Whether a call waits to hear if its answer arrived. */
  get isAwaited(): boolean {
    return this.#listeners.length > 0
  }

  gone(): boolean {
    return this.#signal.aborted
  }

  onGone(listener: () => void): () => void {
    // A signal that has aborted already tells nobody again.
    if (this.#signal.aborted) queueMicrotask(listener)
    this.#signal.addEventListener('abort', listener, { once: true })
    return () => this.#signal.removeEventListener('abort', listener)
  }

  onEnd(listener: (arrived: boolean) => void): void {
    if (this.#arrived === undefined) this.#listeners.push(listener)
    else listener(this.#arrived)
  }

  /** If nothing says how the response ended, it did not arrive. */
  endWithin(ms: number): void {
    this.#stopWaiting = systemClock.after(ms, () => this.end(false))
  }

  /** Reports once how the response ended. */
  end(arrived: boolean): void {
    if (this.#arrived !== undefined) return
    this.#arrived = arrived
    this.#stopWaiting()
    for (const listener of this.#listeners.splice(0)) listener(arrived)
  }
}
