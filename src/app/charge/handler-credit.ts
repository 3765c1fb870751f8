/** The payer whose credit a run takes, and the credit that the end of its call gives back. */
import { type ChargeFinal, OUTCOMES, type RunCredit } from '../../domain/machines/charge.machine.js'
import type { ChargeDeps } from './charge-deps.js'

const RUNS_GIVEN = { earned: 2, returned: 1, spent: 0, none: 0 } as const satisfies Record<RunCredit, number>

export function settleCredit(deps: ChargeDeps, creditor: string, final: ChargeFinal): void {
  const runs = RUNS_GIVEN[OUTCOMES[final].credit]
  if (runs !== 0) giveCredit(deps, creditor, runs)
}

/** Sends the credit without waiting: the call is over. If the credit arrives late, the payer's next call waits for it. */
export function giveCredit(deps: ChargeDeps, creditor: string, runs: 1 | 2): void {
  const give = async () => deps.credit.give(creditor, runs, deps.rules.credit!)
  give().catch(cause =>
    deps.logger.warn({ err: cause }, 'credit was not given back; in time it is forgotten'),
  )
}
