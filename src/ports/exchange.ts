/**
 * HTTP requests to one server: to a facilitator, a node, an indexer, the receiver of a webhook. `adapters/outbound` sends them with
 * undici on Node, and with `fetch` elsewhere. The client sends with the program's own `fetch` (`app/client/http-exchange.ts`).
 */
import type { StreamSource } from '../domain/handler-answer.js'
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

/** A request to a server behind this one, whose answer may be a stream. */
export interface UpstreamRequest {
  readonly origin: string
  /** The path and the query, sent as they stand. */
  readonly path: string
  readonly method: string
  /** Names and values in turn. */
  readonly headers: string[]
  /** A stream needs its length among the headers, where that is known. */
  readonly body?: Uint8Array | string | AsyncIterable<Uint8Array> | null
  /** The largest body that is collected. */
  readonly bytesMax: number
  /** Whether the body of this answer is handed over as it comes. */
  isStream(status: number, headers: UpstreamReply['headers']): boolean
}

export interface UpstreamReply {
  readonly status: number
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Whole, or a stream whose first bytes are there. */
  readonly body: Uint8Array | StreamSource
}

export interface UpstreamExchange {
  /** Rejects with an `SvcError` of status 502, whose words are for callers, where no whole answer came. Follows no redirect. */
  readonly reply: Promise<UpstreamReply>
  /** Gives the request and its answer up. */
  cancel(): void
}
