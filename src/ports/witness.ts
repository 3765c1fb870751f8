import type { Charged, ChargeFinal } from '../domain/machines/charge.machine.js'
import type { Path } from '../domain/run.js'

/**
 * Told of every call when it has ended: runs, metrics, logs, webhooks. It cannot change an answer, delay it or break it:
 * what it throws is logged and forgotten.
 */
export interface Witness {
  /** Called once a call, after its answer is decided. */
  ended(call: EndedCall): void
}

/**
 * What became of a call. Never a body, a header or a key. The payer is for accounting sinks, not for anything that strangers
 * can read.
 */
export interface EndedCall {
  /** The call's own; also in logs. */
  readonly id: string
  /** W3C trace id. */
  readonly traceId: string
  /** The caller's own span, where the caller is tracing too. */
  readonly parentSpan?: {
    /** 16 hexadecimal digits. */
    readonly id: string
    /** Whether the caller records it. */
    readonly sampled: boolean
  }
  /** The endpoint's name. */
  readonly endpoint: string
  /** The state that it ended in. */
  readonly final: ChargeFinal
  /** How it got there. */
  readonly path: Path
  /** How long each step of the path took, in milliseconds with fractions. */
  readonly timingsMs: readonly number[]
  /** HTTP status of the answer. */
  readonly status: number
  /** The outcome's, or the handler's own. */
  readonly code: string
  /** Whether the caller was charged. */
  readonly charged: Charged
  /** When it came, in milliseconds since the epoch. */
  readonly startedMs: number
  /** How long it took, in milliseconds. */
  readonly ms: number
  /** The payment's transaction id. */
  readonly txId?: string
  /** Who paid for the answer; of a replay, who paid then. */
  readonly payer?: string
  /**
   * Base units of the payment. Only where the call reports a charge: it settled the payment, or it is the first to learn
   * that the payment of an earlier call landed (its last step is then `recovering.found` or `recovering.notKept`). Two calls
   * may report one payment, so sums count each `txId` once.
   */
  readonly amount?: string
  /** The asset's id, in decimal; where `amount` is. */
  readonly asset?: string
  /** What the facilitator's yes named differently from the payment. */
  readonly mismatch?: string
}
