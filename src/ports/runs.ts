import type { ChargeFinal } from '../domain/machines/charge.machine.js'
import type { Path } from '../domain/run.js'

/** The last calls, for operators. Bounded, lossy, never an accounting record; `add` is cheap and never throws. */
export interface Runs {
  add(run: Run): void
  /** Newest first. */
  list(): readonly Run[]
}

/** Never a body, a header, a payer or a key. */
export interface Run {
  readonly id: string
  readonly endpoint: string
  readonly status: number
  readonly ms: number
  readonly txId?: string
  readonly final: ChargeFinal
  readonly path: Path
  /** What the settlement named does not match the payment. */
  readonly mismatch?: string
}
