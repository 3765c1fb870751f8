/** Requests over a pool of kept-alive connections of undici. */
import { setImmediate } from 'node:timers/promises'
import { type Cancel, systemClock } from '../../ports/clock.js'
import type { ExchangeLimits, ExchangeReply, MakeExchange } from '../../ports/exchange.js'
import { loadOnce } from '../../ports/load-once.js'

const CONNECT_TIMEOUT_MS = 5_000

export const undiciExchange: MakeExchange = (base, limits) => {
  // Loading undici takes 0.1 s of CPU. A server whose facilitator is in its process may never need it.
  const opened = loadOnce(async () => {
    const { Pool } = await import('undici')
    const { origin, pathname } = new URL(base)
    const pool = new Pool(origin, {
      connections: limits.connectionsMax,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      maxResponseSize: limits.bytesMax,
      // The time limit of each request covers both, to the millisecond.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    return { pool, prefix: pathname.replace(/\/+$/, '') }
  })
  let closing: Promise<void> | undefined

  return {
    open: () => opened().catch(() => {}),
    async send({ path, timeoutMs, method, headers, body }) {
      if (closing) return { failed: 'closed' }
      try {
        // Before the time limit begins: on a busy machine, loading takes most of the time that the other side has.
        const { pool, prefix } = await opened()
        const handler = new ReplyHandler(timeoutMs, limits)
        pool.dispatch({ path: prefix + path, method, headers, body }, handler)
        const reply = await handler.reply
        // undici frees a connection one turn after its response. An earlier request would open another connection.
        await setImmediate()
        return reply
      } catch (error) {
        return { failed: codeOf(error as Error) }
      }
    },
    close() {
      closing ??= Promise.resolve(opened.used).then(used => used?.pool.close())
      return closing
    },
    destroy() {
      closing = Promise.resolve(opened.used).then(used => used?.pool.destroy(new Error('closed')))
      return closing
    },
  }
}

/** Of undici, as far as it is used here. */
interface Controller {
  abort(cause: Error): void
}

/**
 * Receives one reply from undici's `dispatch`, which needs no stream and no signal: 60 µs where undici's `request` takes 90,
 * while payers wait. Undici calls the methods whose names begin with `on`.
 */
class ReplyHandler {
  readonly reply: Promise<ExchangeReply>
  /** The first result counts; later ones are ignored. */
  #answer!: (reply: ExchangeReply) => void
  readonly #isEnough: ExchangeLimits['isEnough']
  readonly #clearLimit: Cancel
  readonly #chunks: Buffer[] = []
  #controller: Controller | undefined
  #cut: Error | undefined
  #status = 0

  constructor(timeoutMs: number, { clock = systemClock, isEnough }: ExchangeLimits) {
    this.#isEnough = isEnough
    this.reply = new Promise(resolve => {
      this.#answer = resolve
    })
    this.#clearLimit = clock.after(timeoutMs, () => {
      this.#cut = new Error(`no answer within ${timeoutMs} ms`)
      this.#answer({ failed: this.#cut.message })
      this.#controller?.abort(this.#cut)
    })
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    // It was cut while it waited for a connection: a payment must not be sent now.
    if (this.#cut) controller.abort(this.#cut)
  }

  onResponseStart(_: Controller, status: number): void {
    this.#status = status
    // The body is still read, so that the connection can be used again.
    if (this.#isEnough?.(status)) this.#answer({ status, text: '' })
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#clearLimit()
    this.#answer({ status: this.#status, text: Buffer.concat(this.#chunks).toString('utf8') })
  }

  onResponseError(_: Controller, cause: Error): void {
    this.#clearLimit()
    this.#answer({ failed: codeOf(cause) })
  }
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
