/** The results of the client's methods. */
import type { PaymentRequired } from '../../domain/x402.js'
import { dataOf, type HttpReply } from './http-reply.js'

/** What an endpoint asks for. */
export interface QuoteResult {
  /** Whether the endpoint answered 402. */
  readonly paymentRequired: boolean
  /** HTTP status of the answer. */
  readonly status: number
  /** The decoded challenge, as it came; absent where it could not be decoded. */
  readonly requirements?: PaymentRequired
  /** Why the endpoint refused to quote, in the seller's words. */
  readonly reason?: string
}

/** What a call paid. */
export interface CallPayment {
  /** The payment's transaction id. */
  readonly txId?: string
  /** Base units. */
  readonly amount?: string
  /** The same amount in USD. */
  readonly usd?: number
  /** The asset's id, in decimal. */
  readonly asset?: string
}

/** An answer, and what was paid for it. */
export interface CallResult<T = unknown> {
  /**
   * Parsed by content type: JSON, a string for text, bytes for anything else, `null` for an empty body. The charset is honoured; text
   * that does not fit it, or whose charset is unknown, is bytes.
   */
  readonly data: T
  /** The payment that was signed and accepted; for a replay, the first payment. Absent where nothing was paid. */
  readonly payment?: CallPayment
  /** HTTP status of the answer. */
  readonly status: number
  /** How often the answered request had been sent. */
  readonly attempts?: number
  /**
   * The seller sent an answer for the second time. Either an earlier call had your idempotency key: then the seller says that this
   * call cost nothing. Or the answer of this call was lost, and a proof of the payer got it: then `payment` is this call's, and there is
   * no `sentTxId`.
   */
  readonly replayed?: true
  /**
   * Only with `replayed`: the payment that this call sent. The seller says that it did not take it, and can submit it until its
   * last valid round.
   */
  readonly sentTxId?: string
  /** Base units that the call took from a balance, as its seller says; `payment` is absent then. A stream says it by `cost()`. */
  readonly charged?: string
  /** Base units that are left on that balance, says its seller. */
  readonly left?: string
  /** What the seller says of the call on a balance, to be kept. */
  readonly receipt?: BalanceReceipt
  /** Contradictions that are no reason to fail. */
  readonly warnings?: readonly Warning[]
}

/** What a call took from a balance, and what is left there: both are absent where no balance paid. */
export type StreamCost = Pick<CallResult, 'charged' | 'left'>

/** A seller's receipt for a call on a balance. */
export interface BalanceReceipt {
  /** The public id of the balance. */
  readonly balance: string
  /** The id of the call. */
  readonly call: string
  /** Base units. */
  readonly charged: string
  /** Base units. */
  readonly left: string
}

/** A balance at an agent. */
export interface AgentBalance {
  /** The agent's base URL. */
  readonly agent: string
  /** Base units that are left, as its seller said last. */
  readonly left: string
  /** The same in USD. */
  readonly usd: number
  /** Milliseconds since the epoch; absent where the seller did not say. */
  readonly expiresAt?: number
}

/** A balance that was bought, and what was paid for it. */
export interface TopUpResult
  extends AgentBalance,
    Omit<CallResult, 'data' | 'charged' | 'left' | 'receipt'> {}

/** A window that was bought, and the key that opens it. */
export interface ActiveSubscription {
  /** The endpoint, without query: the address that its quote named, where that is of the origin that was asked. */
  readonly url: string
  /** Sent instead of a payment. Every holder of the key can use the window. */
  readonly key: string
  /** Milliseconds since the epoch; absent where the seller did not say. */
  readonly expiresAt?: number
  /**
   * How many calls it still has: as the last answer said, and no fewer than were quoted and not used by this client; absent
   * where the seller counts none, or has not said.
   */
  readonly remaining?: number
}

/** A new subscription, and the answer of the call that bought it. */
export interface SubscribeResult<T = unknown> extends CallResult<T>, ActiveSubscription {}

/** A contradiction that is no reason to fail. */
export interface Warning {
  /** For programs. */
  readonly code: WarningCode
  /** For people. */
  readonly message: string
}

/**
 * What a {@link Warning} is about.
 *
 * - `resource_elsewhere`: the quote says it is for another origin than the one that was asked
 * - `key_refused`: the held subscription key was refused, and its window has ended or has no known end, so that this call was paid
 * - `idempotency_not_offered`: the caller gave an idempotency key, and the quote does not say that the seller keeps keys
 * - `fewer_calls_than_sold`: the seller says that a subscription window has fewer calls left than were quoted and not used
 * - `receipt_missing`: a paid answer came without a receipt that can be read
 * - `receipt_mismatch`: the receipt speaks of another payment than the one that was signed
 * - `balance_mismatch`: a seller says of a balance that was bought, or of a call on one, something else than was agreed
 * - `charged_above_max`: the seller says that it took more from a balance than the call allowed; that balance is used no more
 * - `top_up_failed`: the balance could not be bought again, and the call was made without
 * - `body_unreadable`: the body is not what its content type says, or is JSON of more than 512 levels; `data` is its text, or its bytes where they are no text
 */
export type WarningCode =
  | 'resource_elsewhere'
  | 'key_refused'
  | 'idempotency_not_offered'
  | 'fewer_calls_than_sold'
  | 'receipt_missing'
  | 'receipt_mismatch'
  | 'balance_mismatch'
  | 'charged_above_max'
  | 'top_up_failed'
  | 'body_unreadable'

/** A success, before its body is read. */
export interface Outcome {
  readonly reply: HttpReply
  readonly attempts: number
  readonly payment?: CallPayment
  readonly replayed?: boolean
  readonly sentTxId?: string
  readonly idempotencyKey?: string
  readonly subscription?: ActiveSubscription
  /** Of a call on a balance. */
  readonly balance?: Pick<CallResult, 'charged' | 'left' | 'receipt'>
  /** Of a stream on a balance: what it took. No answer is withheld where this fails. */
  readonly cost?: () => Promise<StreamCost>
  /** Of such a stream: is told whether its reader waits for more, and that it is over. */
  readonly reader?: { reads(isWaiting: boolean): void; over(): void } | undefined
  readonly warnings: readonly Warning[]
}

const outcomes = new WeakMap<object, Outcome>()

/** The answer of a call as it came, for programs that pass it on: parsed and written anew, a number beyond 2^53 is another one. */
export function outcomeOfResult(result: object): Outcome | undefined {
  return outcomes.get(result)
}

export function rememberOutcome<T extends object>(result: T, outcome: Outcome): T {
  outcomes.set(result, outcome)
  return result
}

/** `data` is what the seller sent. Its type `T` is the caller's claim, and is not checked. */
export function resultOf<T>(outcome: Outcome): CallResult<T> {
  const { data, unreadable } = dataOf(outcome.reply)
  const unread: Warning = {
    code: 'body_unreadable',
    message: 'The body is no JSON, or is nested too deep',
  }
  const warnings = [...outcome.warnings, ...(unreadable ? [unread] : [])]
  return rememberOutcome({ data: data as T, ...toldOf({ ...outcome, warnings }) }, outcome)
}

export function toldOf({ reply, attempts, payment, replayed, sentTxId, balance, warnings }: Outcome) {
  return {
    ...(payment && { payment }),
    ...balance,
    status: reply.status,
    attempts,
    ...(replayed && { replayed, ...(sentTxId !== undefined && { sentTxId }) }),
    ...(warnings.length > 0 && { warnings }),
  }
}
