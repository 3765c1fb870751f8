/**
 * Whether the caller was charged. `maybe`: the payment was submitted, and its outcome was not proved in time.
 * `earlier`: the call that is being replayed charged it. `balance`: a balance that was paid for before.
 */
export type Charged = 'no' | 'yes' | 'earlier' | 'maybe' | 'balance'

/**
 * What happens to the idempotency key and the payment that the call holds: they are completed, kept for its
 * successor, or released.
 */
export type Closing = 'complete' | 'keep' | 'release'

/**
 * What happens to the credit that a run of the handler took from its payer: `earned` gives it back and one more,
 * `returned` gives it back, `spent` does not; `none` where no run can have happened.
 */
export type RunCredit = 'earned' | 'returned' | 'spent' | 'none'

/**
 * What the caller gets: the handler's `answer`, a `payment` to make, or a `problem` with a message. If a handler
 * answered its failure itself, the outcome is a problem with an answer.
 */
export type OutcomeKind = 'answer' | 'payment' | 'problem'

/** How a call ended, for every transport. */
export interface Outcome {
  /** What the caller gets. */
  readonly kind: OutcomeKind
  /** HTTP status. 200 stands for the status that the handler chose. */
  readonly status: number
  /** Stable, for programs; `docs/error-codes.md` lists them. */
  readonly code: string
  /** Whether the caller paid for it. */
  readonly charged: Charged
  /** What happens to the key and the payment that the call held. */
  readonly closing: Closing
  /** What happens to the credit that the call's run took. */
  readonly credit: RunCredit
}

export const answer = (code: string, charged: Charged, closing: Closing, credit: RunCredit) =>
  ({ kind: 'answer', status: 200, code, charged, closing, credit }) as const satisfies Outcome
export const problem = (status: number, code: string, credit: RunCredit = 'none') =>
  ({ kind: 'problem', status, code, charged: 'no', closing: 'release', credit }) as const satisfies Outcome
export const payment = (code: string, credit?: RunCredit) =>
  ({ ...problem(402, code, credit), kind: 'payment' }) as const
export const unknown = <Code extends string>(code: Code, credit: RunCredit) =>
  ({ ...problem(503, code, credit), charged: 'maybe', closing: 'keep' }) as const
