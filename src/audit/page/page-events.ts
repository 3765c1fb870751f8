/** No event has a body, a key or a secret. One names a payer only where the chain shows that payer, too. */
import type { Table } from '../../domain/state-machine/transition-table.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { SUMS } from '../reconciliation/balance-accounts.js'

export interface Hello {
  readonly agent: string
  readonly network: string
  readonly endpoints: readonly string[]
  readonly machine: Pick<Table, 'id' | 'initial' | 'rows'>
  /** Each move of the machine as `state.event`. Runs refer to it by its index. */
  readonly steps: readonly string[]
  /** The server's time: periods end by it, as its runs have it. */
  readonly nowMs: number
  /** When the server began. Of runs from before, it has those that charged, from its journal. */
  readonly sinceMs: number
  /** How many runs the server and the page keep. */
  readonly capacity: number
  /** The address of a transaction in an explorer, without the id at its end. Absent where the network has none. */
  readonly explorerUrl?: string
  /** Whether runs have the messages and logs of handlers. */
  readonly keepsMessages: boolean
}

export interface RunView extends Omit<EndedCall, 'parentSpan' | 'final' | 'path' | 'payer'> {
  /** Its place among all runs since the server began; negative before. */
  readonly number: number
  readonly final: string
  /** Indexes into `steps`. */
  readonly path: readonly number[]
  /** What became of a payment in doubt, once it is known: it landed, or it never can. */
  readonly landed?: boolean
  /** The run that books its payment: no run before it reported the same. */
  readonly isBooked?: true
  /** Who paid. Only of a booked payment: the chain shows it to everybody. */
  readonly payer?: string
}

/** What became of the payment of a run in doubt. */
export interface Decision extends Required<Pick<RunView, 'number' | 'landed'>> {}

/** Sent after the runs that they count. */
export interface Totals {
  /** Since the server began. */
  readonly calls: number
  readonly charged: number
  readonly inDoubt: number
  readonly taken: string
  /** What the seller owes in work; absent where no balance is known. */
  readonly balances?: Outstanding
  /** Why the seller's wallet cannot be paid, as far as the node says. */
  readonly walletLacks?: string
}

export interface Outstanding {
  readonly count: number
  readonly sums: Readonly<Record<(typeof SUMS)[number], string>>
  readonly largest: readonly {
    readonly balance: string
    readonly unspent: string
    readonly endsMs?: number
  }[]
}

export interface AuditEvents {
  readonly hello: Hello
  readonly runs: readonly RunView[]
  /** Of runs that were sent before. */
  readonly decided: readonly Decision[]
  readonly totals: Totals
}

/** Runs are dropped in bulk, so that the array moves once for many. */
const SPARE = 1.1
const QUOTES_PER_RUN = 5

/** A fifth of the places is for quotes, so that they push no paid call out. Copied where it holds a tenth more. Oldest first. */
export function keptOf<R extends Pick<RunView, 'final'>>(runs: R[], capacity: number): R[] {
  if (runs.length <= capacity * SPARE) return runs
  const quotes = runs.filter(isQuote).length
  let spareQuotes = Math.min(quotes - Math.ceil(capacity / QUOTES_PER_RUN), runs.length - capacity)
  return runs.filter(run => !(isQuote(run) && spareQuotes-- > 0)).slice(-capacity)
}

export function isQuote({ final }: Pick<RunView, 'final'>): boolean {
  return final === 'quoted'
}
