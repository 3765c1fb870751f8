/** Whose money a journal of calls is about. It heads every such journal, so that one can be audited years later. */
import type { Network } from '../domain/network.js'

export interface Books {
  /** The journal's own version. */
  readonly journal: 1
  readonly agent: string
  readonly network: Network
  readonly payTo: string
  /** Decimal id of USDC on that network. */
  readonly asset: string
  /** The names of the endpoints that are sold. */
  readonly endpoints?: readonly string[]
}
