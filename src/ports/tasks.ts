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
      /** The task was charged, and is over. Not awaited by callers: an answer is never withheld for a store's error. */
      completed(): Promise<void>
      /**
       * Nothing was charged, and the task is over. `false`: another request with the same payment took the task since,
       * and may be charged.
       */
      failed(): Promise<boolean>
    }
