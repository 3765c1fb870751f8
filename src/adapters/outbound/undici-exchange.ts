/** Requests over a pool of kept-alive connections of undici. */
import { setImmediate } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import type { StreamSource } from '../../domain/handler.js'
import { loadOnce } from '../../domain/load-once.js'
import { systemClock } from '../../ports/clock.js'
import type { MakeExchange } from '../../ports/exchange.js'
import { beginsToSend } from './paused-replies.js'

const CONNECT_TIMEOUT_MS = 5_000

export const undiciExchange: MakeExchange = (
  base,
  { connectionsMax, bytesMax, isEnough, clock = systemClock },
) => {
  // Loading undici takes 0.1 s of CPU. A server whose facilitator is in its process may never need it.
  const opened = loadOnce(async () => {
    const { Pool } = await import('undici')
    const { origin, pathname } = new URL(base)
    const pool = new Pool(origin, {
      connections: connectionsMax,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      maxResponseSize: bytesMax,
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
        const late = () => reply.cut(new Error(`no answer within ${timeoutMs} ms`))
        const reply = new UndiciReply({ isEnough, onEnd: clock.after(timeoutMs, late) })
        pool.dispatch({ path: prefix + path, method, headers, body }, reply)
        const text = String(await reply.body)
        // undici frees a connection one turn after its response. An earlier request would open another connection.
        await setImmediate()
        return { status: reply.head!.status, text }
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

export interface ReplyHead {
  readonly status: number
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface ReplyRules {
  /** The largest body that is collected. @default any */
  readonly bytesMax?: number
  /** Whether the body is handed over as it comes. @default never */
  isStream?(head: ReplyHead): boolean
  /** Whether the status alone is the reply. It comes before the body. @default never */
  readonly isEnough?: ((status: number) => boolean) | undefined
  /** Called once, when all of it has come, or it was cut. */
  onEnd?(): void
}

export class ReplyTooLarge extends Error {}

/** How much of a stream waits for a caller that reads slowly. */
const WAITING_BYTES_MAX = 65_536

/**
 * Needs no stream and no signal of Node's: 60 µs where undici's `request` takes 90, while payers wait. Undici calls the methods whose
 * names begin with `on`.
 */
export class UndiciReply implements StreamSource {
  /** Whole, or a stream whose first bytes are there. Rejects with what broke it. */
  readonly body: Promise<Buffer | StreamSource>
  head: ReplyHead | undefined
  /** The first result counts. */
  #give!: (body: Buffer | StreamSource) => void
  #refuse!: (cause: Error) => void
  #controller: Dispatcher.DispatchController | undefined
  #isStream = false
  #chunks: Buffer[] = []
  #bytes = 0
  #ended: Error | 'whole' | undefined
  #wake = () => {}

  constructor(private readonly rules: ReplyRules) {
    this.body = new Promise((resolve, reject) => {
      this.#give = resolve
      this.#refuse = reject
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // It was cut while it waited for a connection: a payment must not be sent now.
    if (this.#ended instanceof Error) controller.abort(this.#ended)
    else beginsToSend(this)
  }

  onResponseStart(_: unknown, status: number, headers: ReplyHead['headers']): void {
    // Interim replies, such as 103, are of this connection alone.
    if (status < 200) return
    this.head = { status, headers }
    this.#isStream = this.rules.isStream?.(this.head) ?? false
    // The body is still read, so that the connection can be used again.
    if (this.rules.isEnough?.(status)) this.#give(Buffer.alloc(0))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // From a parser that is resumed when the connection has ended: pausing it again would undo that.
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#isStream) {
      if (this.#bytes > WAITING_BYTES_MAX) controller.pause()
      this.#give(this)
      this.#wake()
    } else if (this.#bytes > (this.rules.bytesMax ?? Number.POSITIVE_INFINITY)) this.cut(new ReplyTooLarge())
  }

  onResponseEnd(): void {
    this.#ended ??= 'whole'
    this.rules.onEnd?.()
    // A stream that ends before its first bytes is an empty body.
    this.#give(Buffer.concat(this.#chunks))
    this.#wake()
  }

  onResponseError(_: unknown, cause: Error): void {
    this.cut(cause)
  }

  /** Gives the request and its reply up. */
  cut(cause: Error): void {
    if (this.#ended !== undefined) return
    this.#ended = cause
    this.#chunks = []
    this.rules.onEnd?.()
    this.#refuse(cause)
    this.#controller?.abort(cause)
    this.#wake()
  }

  resume(): void {
    this.#controller?.resume()
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
    if (this.#bytes <= WAITING_BYTES_MAX) this.resume()
    return { done: false, bytes }
  }

  end(): void {
    this.cut(new Error('nobody waits for this reply any more'))
  }
}

/** In short why: a code where there is one. */
export function codeOf(cause: Error): string {
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}
