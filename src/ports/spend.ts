/**
 * What a payer has spent in the last 24 hours, counted before it is spent.
 *
 * `reserve` decides and counts in one move: of two calls that fit under the cap only one at a time, one is refused. That
 * forbids reading the sum and writing it back. A reservation that nobody ends (the process died, the answer was lost)
 * stays counted for its 24 hours, because the money may be gone. Processes with one budget share one implementation;
 * a ledger that rejects is down, and nothing is paid.
 */
export interface SpendLedger {
  /** Counts the spend, unless the sum would then exceed `capBaseUnits`; whether it was counted. */
  reserve(spend: Spend, capBaseUnits: bigint | undefined): boolean | Promise<boolean>

  /** It was spent, or may have been. Called once for a reservation, and once more for a released one that landed after all. */
  commit(spend: Spend): void | Promise<void>

  /** Nothing was spent: it no longer counts. */
  release(spend: Spend): void | Promise<void>

  /** The sum that counts now, as far as this process knows without asking anybody; for display. */
  readonly spentBaseUnits: bigint
}

/** One payment, as a ledger counts it. */
export interface Spend {
  /** Unique per reservation. */
  readonly id: string
  /** Base units of USDC. */
  readonly amount: bigint
}
