/**
 * HTTP requests to one server: to a facilitator, a node, an indexer, the receiver of a webhook. `adapters/outbound` sends them with
 * undici on Node, and with `fetch` elsewhere. The client sends with the program's own `fetch` (`app/client/http-reply.ts`).
 */
import { concatBytes } from '../domain/bytes.js'
import type { Clock } from './clock.js'

export interface Exchange {
  /** Loads what requests need, where that takes time. The first request does it otherwise. Never rejects. */
  open(): Promise<unknown>
  /**
   * Sends once, and follows no redirect. Never rejects. A request whose time ends while it waits for a connection is never
   * sent: it may carry a payment.
   */
  send(request: OutgoingRequest): Promise<ExchangeReply>
  /** Takes no more requests. Resolves when those in flight have ended, at their time limit at the latest. */
  close(): Promise<void>
  /** Takes no more requests, and cuts those in flight. */
  destroy(): Promise<void>
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST'
  /** What follows the base URL, the query included. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer> | string
  /** For the whole reply, connecting included. */
  readonly timeoutMs: number
}

export type ExchangeReply =
  | { readonly status: number; readonly text: string }
  /** No whole reply came; the other side may have acted upon the request. In short why: a code where there is one. */
  | { readonly failed: string }

export interface ExchangeLimits {
  /** Further requests wait for one of these connections. */
  readonly connectionsMax: number
  /** A larger body is no whole reply. */
  readonly bytesMax: number
  /** Ends late replies. @default the system's */
  readonly clock?: Pick<Clock, 'after'> | undefined
  /** Whether the status alone is the reply. It comes without its text, before the body. */
  isEnough?(status: number): boolean
}

/** `base` is an http(s) URL. Its path is kept, without slashes at its end. With another text every request fails. */
export type MakeExchange = (base: string, limits: ExchangeLimits) => Exchange

/**
 * Reads the whole body of a web request or response.
 *
 * @returns its bytes, or `undefined` if there are more than `bytesMax`. The rest is not read, and the connection ends.
 */
export async function readWebBody(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  if (body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  // Not `for await`: Safari's streams cannot be iterated.
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return concatBytes(chunks)
    length += value.length
    if (length > bytesMax) {
      // A failure to cancel changes nothing.
      reader.cancel().catch(() => {})
      return undefined
    }
    chunks.push(value)
  }
}
