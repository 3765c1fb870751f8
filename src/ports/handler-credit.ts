/**
 * Counts how many unsettled runs of the handler a payer may still have. A payer begins with `start`; every run takes
 * one before it begins.
 *
 * `take` decides and counts in one move, so that only one of two runs gets the last credit. A counter that has not
 * changed for `idleMs` is forgotten and begins again at `start`. A `take` that was refused changes nothing. Memory is
 * bounded for any number of payers. A store that rejects is down, and no handler runs.
 */
export interface CreditStore {
  /** Takes one of the payer's runs; returns false where none is left. */
  take(payer: string, terms: CreditTerms): boolean | Promise<boolean>
  /** Gives runs back, up to `max`: one for a run that the seller failed, two for a run that was settled. */
  give(payer: string, runs: 1 | 2, terms: CreditTerms): void | Promise<void>
}

/** The seller's limits for credit. */
export interface CreditTerms {
  /** How many runs an unknown payer may have before any of them is settled. */
  readonly start: number
  /** The most runs that a payer can earn. */
  readonly max: number
  /** After this many milliseconds without a change, a payer is unknown again. */
  readonly idleMs: number
}
