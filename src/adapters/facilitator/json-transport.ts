/**
 * JSON over kept-alive connections to one origin. Every request ends within its deadline, connecting included: in a JSON
 * object from the facilitator itself, or in an outage. Redirects, 5xx and throttling are outages, whatever their body is.
 *
 * `dispatch` needs no stream and no signal, unlike undici's `request`: 60 µs a request instead of 90, while payers wait.
 */
import { setImmediate } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { type Cancel, systemClock } from '../../ports/clock.js'
import { whenUsed } from '../../ports/when-used.js'
import { ANSWER_BYTES_MAX, type Answer, answerOf, outageOf } from './facilitator-response.js'

export interface JsonTransport {
  /** Loads what requests need, where that takes time. The first request does it otherwise. Never rejects. */
  open?(): Promise<unknown>
  get(path: string, timeoutMs: number): Promise<Answer>
  /** `headers` are sent besides its own. */
  post(
    path: string,
    body: Buffer,
    timeoutMs: number,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
  /** Cuts GET requests. POST requests go on until they end, at their deadline at the latest. */
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 5_000

export function jsonTransport(base: URL, connectionsMax: number): JsonTransport {
  const prefix = base.pathname.replace(/\/+$/, '')
  // Loading undici takes 0.1 s of CPU: not for a server whose facilitator is in its process.
  const pool = whenUsed(async () => {
    const { Pool } = await import('undici')
    return new Pool(base.origin, {
      connections: connectionsMax,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      maxResponseSize: ANSWER_BYTES_MAX,
      // The deadline of each exchange covers both, to the millisecond.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  })
  const headers = { accept: 'application/json' }
  const postHeaders = { ...headers, 'content-type': 'application/json' }
  const reads = new Set<Exchange>()
  let closing: Promise<void> | undefined

  async function ask(exchange: Exchange, options: Dispatcher.DispatchOptions): Promise<Answer> {
    try {
      if (closing) throw new Error('closed')
      ;(await pool()).dispatch(options, exchange)
    } catch (error) {
      exchange.fail(error as Error)
    }
    const answer = await exchange.answered
    // undici frees a connection one turn after its response. An earlier request would open another connection.
    await setImmediate()
    return answer
  }

  return {
    open: () => pool().catch(() => {}),
    async get(path, timeoutMs) {
      const read = new Exchange(timeoutMs)
      reads.add(read)
      const answer = await ask(read, { method: 'GET', path: prefix + path, headers })
      reads.delete(read)
      return answer
    },
    post: (path, body, timeoutMs, more) =>
      ask(new Exchange(timeoutMs), {
        method: 'POST',
        path: prefix + path,
        headers: more ? { ...postHeaders, ...more } : postHeaders,
        body,
      }),
    close() {
      for (const read of reads) read.cut('closed')
      closing ??= Promise.resolve(pool.used).then(opened => opened?.close())
      return closing
    },
  }
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly answered: Promise<Answer>
  /** The first result counts; later ones are ignored. */
  #answer!: (answer: Answer) => void
  #controller: Dispatcher.DispatchController | undefined
  #cut = false
  #status = 0
  readonly #chunks: Buffer[] = []
  readonly #clearDeadline: Cancel

  constructor(timeoutMs: number) {
    this.answered = new Promise(resolve => {
      this.#answer = resolve
    })
    this.#clearDeadline = systemClock.after(timeoutMs, () => this.cut(`no answer within ${timeoutMs} ms`))
  }

  cut(cause: string): void {
    this.#clearDeadline()
    this.#cut = true
    this.#answer({ outage: cause, spoke: false })
    this.#controller?.abort(new Error(cause))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The deadline passed while the request waited for a connection: a payment must not be sent now.
    if (this.#cut) controller.abort(new Error('cut'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.#status = status
    const outage = outageOf(status)
    // The result is given at once. The body is still read, within the limits, so that the connection can be used again.
    if (outage) this.#answer(outage)
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!outageOf(this.#status)) this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#clearDeadline()
    this.#answer(answerOf(this.#status, Buffer.concat(this.#chunks).toString('utf8')))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }

  fail(error: Error): void {
    this.#clearDeadline()
    this.#answer({ outage: causeOf(error), spoke: false })
  }
}

function causeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
