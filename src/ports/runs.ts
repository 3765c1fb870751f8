import type { EndedCall, Witness } from './witness.js'

/** The last calls, for operators. Bounded, lossy, never an accounting record. */
export interface Runs extends Witness {
  /** Newest first. */
  list(): readonly EndedCall[]
}
