/** How long answers are kept for callers that retry with the same key. */
export interface IdempotencyOptions {
  /** How long a completed answer is replayed, in milliseconds. @default 600000 */
  readonly windowMs?: number
  /** How many answers are kept in this process's memory. A new answer replaces the oldest. @default 500 */
  readonly max?: number
  /**
   * What happens when an answer was settled but could not be delivered. `release` frees the key, and a retry may be
   * charged again. `replay` keeps the answer, and a retry receives it.
   *
   * @default 'release'
   */
  readonly onLostResponse?: 'release' | 'replay'
  /**
   * Refuse payments without a key (400 `idempotency_key_required`): a caller without one may pay twice for one answer.
   * Quotes say that a key is required.
   *
   * @default false
   */
  readonly required?: boolean
  /**
   * The largest answer that is kept, in bytes. A larger one is delivered and charged. A retry with its key is 409
   * `answer_not_kept` with the transaction id.
   *
   * @default 1048576
   */
  readonly maxAnswerBytes?: number
}
