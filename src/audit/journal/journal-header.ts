/** The header of a journal: the seller whose calls it holds. With it a journal can be audited years later. */
import type { NetworkKey } from '../../domain/network.js'

export interface JournalHeader {
  /** The version of the format. */
  readonly journal: 1
  readonly agent: string
  readonly network: NetworkKey
  readonly payTo: string
  /** Decimal id of USDC on that network. */
  readonly asset: string
  /** The names of the endpoints that the agent sells. */
  readonly endpoints?: readonly string[]
}
