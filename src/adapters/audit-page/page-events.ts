/** The page's server-sent events. None of them has a body, a payer, a key or a secret. */
import type { Charged } from '../../domain/machines/charge.machine.js'

/** The first event of each connection. */
export interface Hello {
  readonly agent: string
  readonly network: string
  readonly endpoints: readonly string[]
  /** Each move of the machine as `state.event`. Runs and edges refer to it by its index. */
  readonly steps: readonly string[]
  readonly outcomes: Readonly<Record<string, { readonly status: number; readonly charged: Charged }>>
  /** How many runs the server and the page keep. */
  readonly capacity: number
}

export interface RunView {
  readonly id: string
  readonly traceId: string
  readonly endpoint: string
  readonly final: string
  readonly status: number
  readonly code: string
  readonly charged: Charged
  readonly startedMs: number
  readonly ms: number
  /** Indexes into `steps`. */
  readonly path: readonly number[]
  readonly timingsMs: readonly number[]
  readonly txId?: string
  readonly amount?: string
  readonly asset?: string
  readonly mismatch?: string
  readonly streamBroken?: true
}

/** How often a move was made since the server began, and the median of its state's last durations. */
export type EdgeView = readonly [step: number, count: number, medianMs: number]

/** Totals since the server began. */
export interface Totals {
  readonly calls: number
  readonly charged: number
  readonly inDoubt: number
  /** Base units of USDC. */
  readonly taken: string
}

export interface AuditEvents {
  readonly hello: Hello
  /** Oldest first. */
  readonly runs: readonly RunView[]
  readonly edges: readonly EdgeView[]
  readonly totals: Totals
}
