import type { Parsed } from '../domain/x402.js'
import type { ChargeOutcome, ChargeRequest, Problem } from './charge.js'

/**
 * A protocol inside HTTP that has its own messages: A2A, MCP. HTTP reads the request and writes the response. The
 * transport reads the message in it and renders the answer. So one place reads bodies, forwarded headers and
 * hang-ups.
 */
export interface Transport {
  /** @throws Unwritten where a call has ended, and its answer cannot be rendered. */
  answer(incoming: IncomingRequest): TransportResponse | Promise<TransportResponse>
  /** Renders an error of the HTTP layer in the transport's format; `asked` is the body, if it was read. */
  refuse(refusal: Refusal, asked?: Parsed<unknown>): TransportResponse
}

/**
 * A call has ended, and the transport cannot render its answer. HTTP reports the answer as undelivered, and answers
 * how the call ended.
 */
export class Unwritten extends Error {
  constructor(
    readonly outcome: ChargeOutcome,
    cause: unknown,
  ) {
    super('the answer of a call cannot be worded', { cause })
  }
}

/** A request after HTTP has read it: the facts that a call needs, for any endpoint. */
export interface IncomingRequest extends ChargeRequest {
  /**
   * Absolute URL of the free routes as this caller reaches them, without a trailing slash. `baseUrl` equals it or is
   * under it.
   */
  readonly rootUrl: string
}

export type Refusal = Required<Omit<Problem, 'fields'>> & Pick<Problem, 'fields'>

export interface TransportResponse {
  /** HTTP status. */
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /**
   * The outcome of the call that this answers, where there was one. HTTP sets the headers of paid calls, and reports
   * when the answer was delivered.
   */
  readonly outcome?: ChargeOutcome
}
