import type { CallObserver, EndedCall } from './call-observer.js'

/** The last calls, for operators. Bounded, lossy, never an accounting record. */
export interface Runs extends CallObserver {
  /** Newest first. */
  list(): readonly EndedCall[]
}
