/** What the page is told, as server-sent events. No body, payer, key or secret is in any of it. */
import type { Charged } from '../../domain/machines/charge.machine.js'

/** First, and again whenever the page connects anew. */
export interface Hello {
  readonly agent: string
  readonly network: string
  readonly endpoints: readonly string[]
  /** Each move of the machine, `state.event`: runs and edges name them by their place here. */
  readonly steps: readonly string[]
  readonly outcomes: Readonly<Record<string, { readonly status: number; readonly charged: Charged }>>
  /** How many runs are remembered, here and on the page. */
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
  /** Places in `steps`. */
  readonly path: readonly number[]
  readonly timingsMs: readonly number[]
  readonly txId?: string
  readonly amount?: string
  readonly asset?: string
  readonly mismatch?: string
}

/** How often a move was made since the server began, and how long its state took: the median of the last ones. */
export type EdgeView = readonly [step: number, count: number, medianMs: number]

/** Since the server began. */
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
