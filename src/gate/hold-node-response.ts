/**
 * Holds what a route of Express or Fastify writes to Node's response: nothing is sent until the gate has answered.
 */
import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { http2StreamOf } from '../adapters/http/node-body.js'
import { isStream, type Reply } from '../adapters/http/reply.js'
import {
  endWith,
  framed,
  isUntouched,
  pairsIn,
  type ReplyTarget,
  setHeaders,
} from '../adapters/http/write-node-response.js'
import { forgetShape, type OwnFunctions, sendPieces, takeHeaders } from './route-headers-and-pieces.js'

export interface HeldAnswer {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | Uint8Array | Readable
}

/** The app wrote what may not be sold, or wrote where the gate cannot see it. */
export class NotHeld extends TypeError {}

const WROTE_PAST = 'a route wrote past its gate (res.socket): it is not charged, and the connection is closed'
const FLUSHED =
  'a route flushed its head: give its terms `stream: true`, and it is sold as a stream. It is not charged'
const FAILED_LATE =
  'a route said that it failed after it had begun its answer: it is not charged, and a stream that has left is broken off'

const HELD = Symbol('held')
type Route = ServerResponse & { readonly [HELD]: HeldResponse }

/** What a route sets after the head was sent is dropped: Node would throw. Behind another gate the head is not sent yet. */
const LATE = Object.fromEntries(
  ['setHeader', 'removeHeader', 'appendHeader'].map(name => [
    name,
    function (this: Route, ...given: unknown[]) {
      const node = Object.getPrototypeOf(this)
      return Reflect.get(node, 'headersSent', this) ? this : Reflect.apply(node[name], this, given)
    },
  ]),
)

/** A response of Node: what its route writes is held, and what the gate answers is sent. */
export class HeldResponse implements ReplyTarget {
  /** The functions of Node, or of middleware around the gate. */
  readonly #own: OwnFunctions & Pick<ServerResponse, 'destroy' | 'writeEarlyHints'>
  readonly #isUntouched: boolean
  /** The headers that stood when the route began. */
  #before: OutgoingHttpHeaders | undefined
  #bytesBefore: number | undefined
  /** The route's last `writeHead`. */
  #given: ReturnType<typeof pairsIn> = []
  #stream: PassThrough | undefined
  /** The route has written, as far as it can know. */
  #isBegun = false
  /** What stood when it began. */
  #status = 0
  /** The gate has answered: what the route writes now is too late, and dropped. */
  #isAnswered = false
  /** What the route threw, which its app answers as it likes. */
  #thrown: unknown
  #answer!: (answer: HeldAnswer) => void
  #refuse!: (cause: unknown) => void

  constructor(
    readonly res: ServerResponse,
    readonly isStream: boolean,
  ) {
    forgetShape(res)
    const { writeHead, write, end, flushHeaders, on, destroy, writeEarlyHints } = res
    this.#own = { writeHead, write, end, flushHeaders, on, destroy, writeEarlyHints }
    this.#isUntouched = isUntouched(res)
  }

  /** From now on what others write is held; resolves with it. */
  begin(status = 200): Promise<HeldAnswer> {
    const { res } = this
    // What is around the gate may have said 404 until something answers, as Koa does.
    if (res.statusCode !== status) res.statusCode = status
    this.#before = res.getHeaders()
    this.#bytesBefore = this.#bytesWritten
    Object.assign(res, HeldResponse.writers, { [HELD]: this })
    // Middleware that compresses holds listeners of `drain` back until there is a head.
    if (Object.hasOwn(res, 'on')) res.on = EventEmitter.prototype.on as typeof res.on
    Object.defineProperty(res, 'headersSent', HeldResponse.headersSent)
    return new Promise((resolve, reject) => {
      this.#answer = resolve
      this.#refuse = reject
    })
  }

  /** The route has written nothing, and its framework is to write what the gate answers. */
  release(): void {
    Object.assign(this.res, this.#own)
  }

  /** The route has thrown: what its app answers now is sold for no status. */
  static threw(res: object, cause: unknown): void {
    const held = (res as Partial<Route>)[HELD]
    if (held === undefined) return
    held.#thrown ??= cause ?? new Error('a route failed')
    // Its framework closes the connection next, as a caller who hangs up does.
    if (held.#isAnswered) held.#stream?.destroy(held.#thrown as Error)
  }

  /** A route may throw after its whole answer, too: frameworks close the connection then. */
  unlessThrown(answer: HeldAnswer): HeldAnswer {
    if (this.#thrown !== undefined && this.#stream === undefined && answer.status < 400) throw this.#thrown
    return answer
  }

  isSent(): boolean {
    return Reflect.get(Object.getPrototypeOf(this.res), 'headersSent', this.res)
  }

  /** Sends the gate's own answer, whatever the route has written. */
  send({ status, headers, body }: Reply): void {
    const { res } = this
    const { writeHead, end } = this.#own
    // A route that is at work may have set some.
    if (this.#before && this.#status === 0) takeHeaders(res, this.#before)
    const all = isStream(body) ? headers : framed(status, headers, body)
    // The route's reason phrase was about its own answer, and may be none that can be sent.
    if (!http2StreamOf(res) && res.statusMessage) res.statusMessage = ''
    // Of a list of cookies Node 20 keeps the last one, once a header was set.
    const isUntouched = this.#isUntouched && res.getHeaderNames().length === 0 && !all.includes('set-cookie')
    if (!isUntouched) setHeaders(res, all)
    writeHead.call(res, status, isUntouched ? (all as string[]) : [])
    this.#isAnswered = true
    // A route that comes later than its time limit changes a head that was sent: Node would throw.
    if (!this.#isBegun) Object.assign(res, LATE)
    if (isStream(body)) return void sendPieces(res, this.#own, body)
    // HTTP/2 writes the body of an `end` by the `write` that stands on the response.
    Object.assign(res, this.#own)
    endWith(res, end, body)
    if (this.#before) Object.assign(res, HeldResponse.writers)
  }

  /** The body comes in pieces; its head is the one that stands at the first of them. */
  #pieces(): PassThrough {
    if (this.#stream === undefined) {
      this.#stream = new PassThrough().on('drain', () => this.res.emit('drain'))
      // It may fail before anybody reads it.
      this.#stream.on('error', () => {})
      this.#finish(this.#stream)
    }
    return this.#stream
  }

  #finish(body: HeldAnswer['body']): void {
    const { res } = this
    this.#isBegun = true
    this.#status = res.statusCode
    if (this.#isAnswered) return
    const bytes = this.#bytesBefore
    if (this.isSent() || (bytes !== undefined && bytes !== this.#bytesWritten)) {
      this.#refuse(new NotHeld(WROTE_PAST))
      // Now: what the gate answers would be taken for the answer to another request.
      Object.getPrototypeOf(res).destroy.call(res)
    } else if (this.#thrown !== undefined && res.statusCode < 400) this.#refuse(this.#thrown)
    else this.#answer({ status: res.statusCode, headers: this.#headers(), body })
  }

  /** To set what `writeHead` was given takes 4 µs, and Node would check all that is sent once more. */
  #headers(): HeldAnswer['headers'] {
    const given: [name: string, value: string][] = []
    for (const [name, value] of this.#given)
      for (const each of Array.isArray(value) ? value : [value])
        given.push([name.toLowerCase(), String(each)])
    const set = takeHeaders(this.res, this.#before!)
    return [...set.filter(([name]) => given.every(([own]) => own !== name)), ...given]
  }

  get #bytesWritten(): number | undefined {
    return http2StreamOf(this.res) ? undefined : this.res.socket?.bytesWritten
  }

  /** All responses share them: a getter of each would give each its own shape, which V8 keeps until its next full collection. */
  static readonly writers = {
    writeHead(this: Route, status: number, ...rest: unknown[]) {
      this.statusCode = status
      const held = this[HELD]
      held.#given = pairsIn(rest.find(each => typeof each === 'object') ?? {})
      held.#isBegun = true
      return this
    },
    // An interim answer would come before what is paid for.
    writeEarlyHints() {},
    flushHeaders(this: Route) {
      const held = this[HELD]
      if (!held.isStream) held.#refuse(new NotHeld(FLUSHED))
      held.#pieces()
    },
    // So do Fastify and `pipeline` where the source of an answer fails: also while it is paid for, and its caller needs the receipt.
    destroy(this: Route, cause: Error = new NotHeld(FAILED_LATE)) {
      const held = this[HELD]
      const { destroyed } = http2StreamOf(this) ?? this.req.socket
      if (!destroyed) held.#stream?.destroy(cause)
      if (!destroyed && !held.#isAnswered) held.#refuse(cause)
      // Who reads the stream hears of its failure first: over HTTP/2 its caller would seem to have gone.
      else setImmediate(() => Object.getPrototypeOf(this).destroy.call(this, cause))
      return this
    },
    write(this: Route, ...given: unknown[]) {
      return this[HELD].#pieces().write(...(given as [unknown]))
    },
    end(this: Route, ...given: unknown[]) {
      const held = this[HELD]
      const whenSent = given.find(each => typeof each === 'function') as (() => void) | undefined
      if (whenSent !== undefined) this.once('finish', whenSent)
      const [chunk, encoding] = given.map(each => (each === whenSent ? undefined : each)) as [unknown, 'utf8']
      const hasFailed = (this.statusCode >= 400 || held.#thrown !== undefined) && held.#status < 400
      if (held.#stream !== undefined && hasFailed) held.#stream.destroy(new NotHeld(FAILED_LATE))
      else if (held.#stream !== undefined) held.#stream.end(chunk, encoding)
      else if (typeof chunk === 'string' && /^utf-?8$/i.test(encoding ?? 'utf8')) held.#finish(chunk)
      // A copy: the app may use its buffer again.
      else held.#finish(Buffer.from((chunk ?? '') as string, encoding))
      return this
    },
  }

  static readonly headersSent: PropertyDescriptor & ThisType<Route> = {
    get() {
      return this[HELD].#isBegun || this[HELD].isSent()
    },
    configurable: true,
  }
}
