/**
 * The page's server-sent events, and the runs that both ends keep. None of them has a body, a key or a secret. One names a payer only
 * where the chain shows that payer too.
 */
import type { Charged } from '../../domain/machines/charge.machine.js'
import type { Table } from '../../domain/state-machine/transition-table.js'
import type { LoggedEntry } from '../../ports/call-observer.js'

/** The first event of each connection. */
export interface Hello {
  readonly agent: string
  readonly network: string
  readonly endpoints: readonly string[]
  readonly machine: Pick<Table, 'id' | 'initial' | 'rows'>
  /** Each move of the machine as `state.event`. Runs refer to it by its index. */
  readonly steps: readonly string[]
  /** The server's time: periods end by it, as its runs have it. */
  readonly nowMs: number
  /** When the server began. It keeps no run from before. */
  readonly sinceMs: number
  /** How many runs the server and the page keep. */
  readonly capacity: number
  /** The address of a transaction in an explorer, without the id at its end. Absent where the network has none. */
  readonly explorerUrl?: string
  /** Whether runs have the messages and logs of handlers. */
  readonly keepsMessages: boolean
}

export interface RunView {
  /** Its place among all runs since the server began. */
  readonly number: number
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
  readonly brokenBy?: 'caller' | 'seller'
  /** What became of a payment in doubt, once it is known: it landed, or it never can. */
  readonly landed?: boolean
  /** The run that books its payment: no run before it reported the same. */
  readonly isBooked?: true
  /** Who paid. Only of a booked payment: the chain shows it to everybody. */
  readonly payer?: string
  readonly error?: string
  readonly logs?: readonly LoggedEntry[]
}

/** What became of the payment of a run in doubt. */
export interface Decision extends Required<Pick<RunView, 'number' | 'landed'>> {}

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
  /** Of runs that were told before. */
  readonly decided: readonly Decision[]
  readonly totals: Totals
}

/** Forgetting in bulk moves the array once for many runs. */
const SPARE = 1.1
const QUOTES_PER_RUN = 5

/**
 * The runs that the server and the page keep: the latest. A fifth of the places is for quotes, so that programs that only ask for
 * prices cannot push the paid calls out. Returns the same array until it holds a tenth more than `capacity`. Oldest first, before and
 * after.
 */
export function keptOf<R extends Pick<RunView, 'final'>>(runs: R[], capacity: number): R[] {
  if (runs.length <= capacity * SPARE) return runs
  const quotes = runs.filter(isQuote).length
  let spareQuotes = Math.min(quotes - Math.ceil(capacity / QUOTES_PER_RUN), runs.length - capacity)
  return runs.filter(run => !(isQuote(run) && spareQuotes-- > 0)).slice(-capacity)
}

export function isQuote({ final }: Pick<RunView, 'final'>): boolean {
  return final === 'quoted'
}
