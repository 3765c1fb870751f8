import type { Charged, ChargeFinal } from '../domain/machines/charge.machine.js'
import type { Path } from '../domain/state-machine/run-machine.js'

/**
 * Observes every call that has ended: runs, metrics, logs, webhooks. An observer cannot change or delay an answer; an error
 * that it throws is logged and has no other effect.
 */
export interface CallObserver {
  /** Called once for each call, after its answer is decided; where the answer is a stream, when the stream has ended. */
  ended(call: EndedCall): void
  /** Called before `ended` where the answer is a stream: its charge is decided, and its first byte has not left. */
  streaming?(call: EndedCall): void
  /** The chain has decided a payment whose call ended in doubt: it landed, or it never can. It may be told more than once. */
  decided?(txId: string, landed: boolean): void
}

/**
 * The record of an ended call. It never holds a body, a header or a key. The payer is for accounting, not for anything
 * that strangers can read.
 */
export interface EndedCall {
  /** The call's id, as in logs. */
  readonly id: string
  /** W3C trace id. */
  readonly traceId: string
  /** The caller's span, where the caller sends a trace. */
  readonly parentSpan?: {
    /** 16 hexadecimal digits. */
    readonly id: string
    /** Whether the caller records it. */
    readonly sampled: boolean
  }
  /** The endpoint's name. */
  readonly endpoint: string
  /** The final state. */
  readonly final: ChargeFinal
  /** The path to that state. */
  readonly path: Path
  /** How long each step of the path took, in milliseconds with fractions. */
  readonly timingsMs: readonly number[]
  /** HTTP status of the answer. */
  readonly status: number
  /** The code of the outcome, or of the handler. */
  readonly code: string
  /** Whether the caller was charged. */
  readonly charged: Charged
  /** When the call began, in milliseconds since the epoch. */
  readonly startedMs: number
  /** How long it took, in milliseconds. */
  readonly ms: number
  /** The payment's transaction id. */
  readonly txId?: string
  /** The payer; of a replay, the payer of the first call. */
  readonly payer?: string
  /**
   * Base units of the payment. Present only where the call reports a charge: it settled the payment, or it is the
   * first to learn that the payment of an earlier call landed (its last step is then `recovering.found` or
   * `recovering.notKept`). Two calls may report one payment, so sums count each `txId` once.
   */
  readonly amount?: string
  /** The asset's id, in decimal. Present where `amount` is. */
  readonly asset?: string
  /** The answer was a stream, and its caller did not get all of it. The call stays charged. */
  readonly streamBroken?: true
  /** Whose side broke the stream: the caller went or stopped reading, or the handler, its time or the server ended. */
  readonly brokenBy?: 'caller' | 'seller'
  /** The call reports the payment of a window, whose key its caller has: when that window ends, in milliseconds since the epoch. */
  readonly windowEndsMs?: number
  /** The public name of the window that the call bought or used: it opens nothing. */
  readonly window?: string
  /** What the call did to a balance. */
  readonly units?: UnitsOfCall
  /** The fields in which the facilitator's settlement differs from the payment. */
  readonly mismatch?: string
  /**
   * Why there was no answer, in words: what the caller was told, or what the handler threw, which may hold secrets. It stays in
   * this process. Only in development, unless `audit.messages` says otherwise.
   */
  readonly error?: string
  /** What the handler logged for its caller. It stays where `error` stays, and is kept when `error` is. */
  readonly logs?: readonly LoggedEntry[]
}

/** What a call did to a balance, in base units. */
export interface UnitsOfCall {
  /** The balance's public name. */
  readonly balance: string
  /** What the call's payment bought. The payment itself is income, and what calls take from the balance is not. */
  readonly sold?: number
  /** What the call took; 0 for a stream that its seller broke, or whose call another one took over. */
  readonly used?: number
  /** What the store did not confirm: it may have been taken. */
  readonly inDoubt?: number
  /** What the store said is left, where it said so. */
  readonly left?: number
}

/** One call of the handler's `log`. */
export interface LoggedEntry {
  /** When, in milliseconds since the epoch. */
  readonly atMs: number
  /** At most 1,000 characters. */
  readonly message: string
  /** A JSON value. */
  readonly data?: unknown
}

/** The last calls, for operators. Bounded, lossy, never an accounting record. */
export interface Runs extends CallObserver {
  /** Newest first. */
  list(): readonly EndedCall[]
}
