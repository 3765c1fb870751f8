import type { PaymentPayload } from '../domain/x402.js'

/**
 * What a transport with tasks calls: quoted calls that wait for their payment, by an id that only their caller knows.
 * Each function rejects where the store is down.
 */
export interface Tasks {
  /** Keeps a call whose price was quoted, for as long as the quote lives. */
  keep(call: QuotedCall, clientAddress: string): Promise<KeptTask>
  /** `undefined` where there is no such task. */
  find(id: string): Promise<{ readonly call: QuotedCall; readonly paidBy?: PaidBy } | undefined>
  /** Takes the task for this payment. A task is taken by one payment, ever. */
  take(id: string, payment: PaymentPayload): Promise<Take>
  /** The caller declines to pay. `paid`: a payment took the task before. */
  decline(id: string): Promise<'declined' | 'paid' | 'unknown'>
}

/** What was quoted, and is run when it is paid. */
export interface QuotedCall {
  readonly endpoint: string
  readonly contextId: string
  readonly input: unknown
}

/** The payment that has a task; without `txId` where no transaction can be read in it. */
export interface PaidBy {
  readonly txId: string | undefined
}

export type KeptTask =
  | { readonly verdict: 'kept'; readonly id: string }
  /** Too many tasks wait. */
  | { readonly verdict: 'full' }
  /** The caller's address made too many calls. */
  | { readonly verdict: 'limited'; readonly retryAfterMs: number }
  /** The input has more bytes than a task may hold. */
  | { readonly verdict: 'tooLarge'; readonly bytesMax: number }

export type Take =
  | { readonly verdict: 'unknown' }
  /** Another payment took it. */
  | { readonly verdict: 'refused'; readonly paidBy: PaidBy }
  | {
      readonly verdict: 'taken'
      readonly call: QuotedCall
      /** The payment is good, and the work begins: keeps the task for as long as its answer may be asked for. Never rejects. */
      paid(): Promise<void>
      /** The task was charged, and is over. Its answer has the key of what was `sold`, and is never withheld for a store's error. */
      completed(sold: { readonly expiresAtMs: number } | undefined): Promise<void>
      /**
       * Nothing was charged, and the task is over. `false`: another request with the same payment took the task since,
       * and may be charged.
       */
      failed(): Promise<boolean>
    }

/**
 * Keeps the tasks of A2A that wait for their payment, and remembers which payment was presented for each.
 *
 * A task belongs to the first payment that takes it, and never to another: two payments that come at once, to whichever
 * replicas, cannot both be charged for it. The claim `task:<id>` does not forbid that: it lies in its payer's slot, and another payer's
 * payment opens another one. So each move decides and writes in one atomic step on the store's own time,
 * and an implementation that reads and then writes is wrong. Sent again, a move changes nothing more, and says the same; only a
 * `take` is then no longer the first, and an `end` that deleted the task says `unknown`.
 *
 * The number of tasks that are not completed is bounded, for each owner and in all, and no task is dropped before its
 * time to make room for another. If a move rejects, the store is down. It is unknown whether a rejected `put` or `take`
 * happened; both are harmless, because the task then only waits, or still takes the same payment.
 */
export interface TaskStore {
  /** Keeps a new task. `full`: too many wait, and nothing was kept. */
  put(task: NewTask): Promise<'kept' | 'full'>
  /** The task of this name; `undefined` where there is none, or its time is over. Changes nothing. */
  get(name: string): Promise<StoredTask | undefined>
  /**
   * Takes the task for a payment, unless another payment has it. From then on the task is kept for `lifeMs`, and never
   * for less time than before. The token is remembered: it is the last request's that took the task. `undefined` where there is no
   * such task.
   */
  take(move: TakeTask): Promise<TakenTask | undefined>
  /**
   * Ends a task. `completed`: its answer was paid for. The task no longer counts, and is kept for `lifeMs`, so that the
   * payment that has it can ask again. Needs the payment that has it, and no token. `failed`: deletes a task that is not
   * completed, but only for the request that took it last. Without a payment: deletes it only if no payment took it.
   * `kept`: the task stays, because another request or payment has it by now. `unknown`: there is no such task.
   */
  end(move: EndTask): Promise<'ended' | 'kept' | 'unknown'>
}

/** The arguments of `put`. */
export interface NewTask {
  /** Unique; it does not open the content. */
  readonly name: string
  /** What the task is, sealed. */
  readonly content: Uint8Array
  /** Whose share of the tasks it takes. */
  readonly owner: string
  /** How long the task waits for a payment, in milliseconds. */
  readonly lifeMs: number
  /** The most tasks of this owner that are not completed. */
  readonly ownerMax: number
  /** The most tasks of all owners that are not completed. */
  readonly max: number
}

/** A task as it is kept. */
export interface StoredTask {
  /** As it was put. */
  readonly content: Uint8Array
  /** The payment that has it, if any. */
  readonly payment?: string
}

/** The arguments of `take`. */
export interface TakeTask {
  /** The task's name. */
  readonly name: string
  /** The payment's id. */
  readonly payment: string
  /** Unique for each request. */
  readonly token: string
  /** How long the task is kept from now on, in milliseconds. */
  readonly lifeMs: number
}

/** A task that a payment has. */
export interface TakenTask extends StoredTask {
  /** The payment that took it first, which may be another one. */
  readonly payment: string
  /** Whether no request took the task before. */
  readonly isFirst: boolean
}

/** The arguments of `end`. */
export interface EndTask {
  /** The task's name. */
  readonly name: string
  /** Whether the task's answer was paid for. */
  readonly how: 'completed' | 'failed'
  /** The payment that has the task; absent where the caller declines to pay. */
  readonly payment?: string
  /** The request's own token, for `failed`. */
  readonly token?: string
  /** How long a completed task is kept, in milliseconds. */
  readonly lifeMs: number
}
