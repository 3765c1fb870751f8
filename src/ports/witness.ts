import type { Charged, ChargeFinal } from '../domain/machines/charge.machine.js'
import type { Path } from '../domain/run.js'

/**
 * Told of every call when it has ended: runs, metrics, logs, webhooks. It cannot change an answer, delay it or break it:
 * what it throws is logged and forgotten.
 */
export interface Witness {
  ended(call: EndedCall): void
}

/** Never a body, a header or a key. The payer is for accounting sinks, not for anything that strangers can read. */
export interface EndedCall {
  readonly id: string
  readonly traceId: string
  /** The caller's own span, where the caller is tracing too. */
  readonly parentSpan?: { readonly id: string; readonly sampled: boolean }
  readonly endpoint: string
  readonly final: ChargeFinal
  readonly path: Path
  /** How long each step of the path took, in milliseconds with fractions. */
  readonly timingsMs: readonly number[]
  readonly status: number
  readonly code: string
  readonly charged: Charged
  readonly startedMs: number
  readonly ms: number
  readonly txId?: string
  readonly payer?: string
  /** Base units that this call moved; only where `charged` is `yes`. */
  readonly amount?: string
  readonly asset?: string
  /** What the facilitator's yes named differently from the payment. */
  readonly mismatch?: string
}
