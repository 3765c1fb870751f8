/** The verdict of the sandbox's facilitator: the shared checks, its signature, and what its ledger would answer. */
import type { SignedTransaction } from 'algosdk'
import type { SigningKey } from '../adapters/algorand/signing-keys.js'
import { checkGroup, Refusal, type Refused, refusalOf, sponsoredGroup } from '../facilitator/group-checks.js'
import { MIN_FEE_MICRO_ALGOS } from './evaluate-group.js'
import type { Ledger } from './ledger.js'

export interface Accepted {
  readonly ok: true
  readonly payer: string
  readonly txId: string
  readonly group: readonly SignedTransaction[]
}

/** Never throws: malformed input is refused as `payload`. */
export function checkTransactions(
  payload: unknown,
  requirements: unknown,
  ledger: Ledger,
  sponsor: SigningKey,
): Accepted | Refused {
  try {
    const checked = checkGroup(payload, requirements, {
      network: ledger.network,
      sponsor: sponsor.address,
      sponsorFeeMax: group => MIN_FEE_MICRO_ALGOS * BigInt(group.length),
    })
    const group = sponsoredGroup(checked, sponsor.sign)
    const refusal = ledger.simulate(group)
    if (refusal) throw new Refusal('simulation_failed', refusal.message)
    return { ok: true, payer: checked.payer, txId: checked.txId, group }
  } catch (error) {
    return refusalOf(error)
  }
}
