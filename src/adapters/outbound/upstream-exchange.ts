/** Requests to servers behind this one, over kept-alive connections of undici. */
import { connect } from 'node:net'
import { SvcError } from '../../domain/errors.js'
import type { StreamSource } from '../../domain/handler-answer.js'
import type { UpstreamExchange, UpstreamReply, UpstreamRequest } from '../../ports/exchange.js'
import { loadOnce } from '../../ports/load-once.js'

/** How much of a stream waits for a caller that reads slowly. */
const WAITING_BYTES_MAX = 65_536

/** One for all upstreams of a process. Its idle connections keep no process running, so nothing closes it. */
const opened = loadOnce(async () => {
  const { Agent } = await import('undici')
  // The handler's own time limit is the one that counts, and a stream's.
  return new Agent({ headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 16_384 })
})

export function exchangeWithUpstream(request: UpstreamRequest): UpstreamExchange {
  const exchange = new Exchange(request)
  opened()
    .then(agent => exchange.isCancelled || agent.dispatch(exchange.options, exchange))
    .catch(cause => exchange.onResponseError(undefined, cause))
  return exchange
}

/** Whether something listens there. */
export function listensAt(origin: string, timeout: number): Promise<boolean> {
  const { hostname, port, protocol } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise(resolve => {
    const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80), timeout })
    for (const event of ['connect', 'error', 'timeout'])
      socket.once(event, () => {
        socket.destroy()
        resolve(event === 'connect')
      })
  })
}

/** Of undici, as far as it is used here. */
interface Controller {
  abort(cause: Error): void
  pause(): void
  resume(): void
}

/** Receives one answer from undici's `dispatch`, which calls the methods whose names begin with `on`. */
class Exchange implements UpstreamExchange, StreamSource {
  readonly reply: Promise<UpstreamReply>
  readonly options
  readonly #request: UpstreamRequest
  #answer!: (reply: UpstreamReply) => void
  #refuse!: (cause: Error) => void
  #controller: Controller | undefined
  /** Present once it is an answer. */
  #head: Pick<UpstreamReply, 'status' | 'headers'> | undefined
  #isStream = false
  /** Only the closing of the connection says where it ends, and that looks as a server that crashes does. */
  #isOpenEnded = false
  #isBegun = false
  #chunks: Buffer[] = []
  #bytes = 0
  #ended: Error | 'whole' | undefined
  #wake = () => {}

  constructor(request: UpstreamRequest) {
    const { origin, path, method, headers, body = null } = request
    this.#request = request
    // Undici takes every async iterable; its types know streams of Node alone.
    this.options = { origin, path, method, headers, body: body as Uint8Array | string | null }
    this.reply = new Promise((resolve, reject) => {
      this.#answer = resolve
      this.#refuse = reject
    })
  }

  get isCancelled(): boolean {
    return this.#ended !== undefined
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.isCancelled) controller.abort(this.#ended as Error)
  }

  onResponseStart(_: unknown, status: number, headers: UpstreamReply['headers']): void {
    // Interim answers, such as 103, are of this connection alone.
    if (status < 200) return
    this.#head = { status, headers }
    this.#isStream = this.#request.isStream(status, headers)
    const isFramed = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
    this.#isOpenEnded = !isFramed && ![204, 205, 304].includes(status) && this.#request.method !== 'HEAD'
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#isBegun = true
    if (!this.#isStream) {
      if (this.#bytes > this.#request.bytesMax) this.#give(TOO_LARGE())
      return
    }
    if (this.#bytes > WAITING_BYTES_MAX) controller.pause()
    this.#answer({ ...this.#head!, body: this })
    this.#wake()
  }

  onResponseEnd(): void {
    // A stream whose first bytes are there was handed over.
    if (this.#isOpenEnded && !(this.#isStream && this.#isBegun)) this.#give(OPEN_ENDED())
    this.#ended ??= 'whole'
    // A stream that ends before its first bytes is an empty body. The first answer counts.
    this.#answer({ ...this.#head!, body: Buffer.concat(this.#chunks) })
    this.#wake()
  }

  onResponseError(_: unknown, cause: Error): void {
    const { code = cause.name } = cause as { code?: string }
    const isAnswer = this.#head !== undefined || /^HPE_|^HTTPParser|^UND_ERR_(?:HEADERS|RES)/.test(code)
    // A stream that was handed over may have been charged.
    if (this.#isStream && this.#bytes > 0)
      this.#give(new Error(`the upstream broke its stream off (${code})`))
    else this.#give(isAnswer ? BROKEN(code) : UNREACHABLE(code))
  }

  cancel(): void {
    this.#give(new Error('nobody waits for this answer any more'))
  }

  #give(cause: Error): void {
    if (this.#ended !== undefined) return
    this.#ended = cause
    this.#chunks = []
    this.#refuse(cause)
    this.#controller?.abort(cause)
    this.#wake()
  }

  async next(): ReturnType<StreamSource['next']> {
    while (this.#chunks.length === 0) {
      if (this.#ended === 'whole') return { done: true }
      if (this.#ended !== undefined) throw this.#ended
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    const bytes = this.#chunks.shift()!
    this.#bytes -= bytes.length
    if (this.#bytes <= WAITING_BYTES_MAX) this.#controller?.resume()
    return { done: false, bytes }
  }

  end(): void {
    this.cancel()
  }
}

const failure = (code: string, why: string) => (cause?: string) =>
  new SvcError(`The server behind this one ${why}. You were not charged.`, code, 502, cause)

const UNREACHABLE = failure('upstream_unreachable', 'does not answer')
const BROKEN = failure('upstream_broken', 'broke its answer off, or answered what is no HTTP')
const OPEN_ENDED = failure('upstream_broken', 'says neither the length of its answer nor where it ends')
const TOO_LARGE = failure('upstream_too_large', 'answered with more than is sold in one piece')
