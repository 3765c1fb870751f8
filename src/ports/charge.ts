import type { Answer } from '../domain/answer.js'
import type { ChargeFinal } from '../domain/machines/charge.machine.js'
import type { Path } from '../domain/run.js'
import type { PaymentPayload, PaymentRequired, Receipt } from '../domain/x402.js'

/**
 * What every transport calls: one request in, one outcome out. It walks the charge machine and has
 * already closed what the call held when it answers. What an effect throws is an outcome, not a rejection; only an
 * endpoint that does not exist rejects, and asking for one is the transport's bug.
 */
export interface Charge {
  call(endpoint: string, request: ChargeRequest): Promise<ChargeOutcome>
}

export interface ChargeRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: Parsed<unknown>
  readonly payment: Parsed<PaymentPayload>
  readonly subscriptionKey?: string
  readonly idempotencyKey?: string
  /** Absolute URL of the agent as this caller reaches it, without a trailing slash; the challenge's resource is under it. */
  readonly baseUrl: string
  /** Where the request came from, as far as the transport trusts to know. */
  readonly clientAddress: string
  readonly caller: Caller
}

/** Something that a request may carry: absent, read by the transport, or malformed. */
export type Parsed<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly why: string }
  | { readonly kind: 'read'; readonly value: T }

export interface Caller {
  /** Whether the caller has hung up. */
  gone(): boolean
  /** Calls back once if the caller hangs up; returns how to stop listening. */
  onGone(listener: () => void): () => void
  /** Calls back once: `true` when the answer has reached the socket, `false` when it cannot any more. */
  onEnd(listener: (arrived: boolean) => void): void
}

export interface ChargeOutcome {
  readonly final: ChargeFinal
  readonly path: Path
  readonly traceId: string
  /** 16 hexadecimal digits, of this call alone. */
  readonly spanId: string
  /** What the handler delivered: for settled, served and replayed, and for a failure that it answered itself. */
  readonly answer?: Answer
  /** Why there is no answer. */
  readonly problem?: Problem
  /** For 402: what to pay. */
  readonly challenge?: Challenge
  readonly receipt?: Receipt
  readonly subscription?: { readonly key: string; readonly expiresAtMs: number }
  readonly retryAfterMs?: number
}

export interface Challenge {
  readonly required: PaymentRequired
  /** The same, as the header carries it. */
  readonly header: string
}

/** Overrides what the final state says, where a call knows better; `fields` are added to the error body. */
export interface Problem {
  readonly message: string
  readonly status?: number
  readonly code?: string
  readonly fields?: Readonly<Record<string, unknown>>
}
