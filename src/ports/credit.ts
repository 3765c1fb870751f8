/**
 * How many runs of the handler a payer may have that are not settled yet. A payer begins with `start`; every run takes
 * one before it begins.
 *
 * `take` decides and counts in one move, so that of two runs only one gets the last credit. A counter that nobody has
 * changed for `idleMs` is forgotten and begins again at `start`; a `take` that was refused changes nothing. Memory is
 * bounded whatever the number of payers. A store that rejects is down, and no handler runs.
 */
export interface CreditStore {
  /** Takes one of the payer's runs; false where none is left. */
  take(payer: string, terms: CreditTerms): boolean | Promise<boolean>
  /** Gives runs back, up to `max`: one for a run that the seller failed, two for a run that was settled. */
  give(payer: string, runs: 1 | 2, terms: CreditTerms): void | Promise<void>
}

/** The numbers that a seller chose. */
export interface CreditTerms {
  /** Runs that an unknown payer may have before any of them is settled. */
  readonly start: number
  /** The most that a payer can earn. */
  readonly max: number
  /** After this many milliseconds without a change a payer is unknown again. */
  readonly idleMs: number
}
