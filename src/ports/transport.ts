import type { ChargeOutcome, ChargeRequest, Parsed } from './charge.js'

/**
 * A protocol inside HTTP, with messages of its own: A2A, MCP. HTTP reads the request and writes the response; the transport
 * reads the message in it and words the answer. So a body, a forwarded header or a hang-up is read in one way only.
 */
export interface Transport {
  /** @throws Unwritten where a call has ended, and its answer cannot be worded. */
  answer(incoming: IncomingRequest): TransportResponse | Promise<TransportResponse>
  /** The transport's words for an error of the HTTP layer; `asked` is the body, if it was read. */
  refuse(refusal: Refusal, asked?: Parsed<unknown>): TransportResponse
}

/** A call has ended, and the transport cannot word its answer. HTTP reports it as undelivered, and answers how it ended. */
export class Unwritten extends Error {
  constructor(
    readonly outcome: ChargeOutcome,
    cause: unknown,
  ) {
    super('the answer of a call cannot be worded', { cause })
  }
}

/** A request as HTTP has read it: what a call needs to know, whichever endpoint it is for. */
export interface IncomingRequest extends ChargeRequest {
  /** Absolute URL of the free routes as this caller reaches them, without a trailing slash; `baseUrl` is it, or under it. */
  readonly rootUrl: string
}

export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  /** What a program may read beside the code. */
  readonly fields?: Readonly<Record<string, unknown>>
}

export interface TransportResponse {
  /** HTTP status. */
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** The call that this answers, where there was one: HTTP sets the headers of paid calls, and tells when it was handed over. */
  readonly outcome?: ChargeOutcome
}
