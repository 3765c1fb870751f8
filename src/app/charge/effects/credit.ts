import { callerIpNetwork } from '../../../domain/caller-ip-network.js'
import { type ChargeFinal, OUTCOMES, type RunCredit } from '../../../domain/machines/charge.machine.js'
import { mapSyncOrAsync } from '../../../domain/state-machine/run-machine.js'
import { sleep } from '../../../ports/clock.js'
import type { Counted } from '../../../ports/counters.js'
import { type Call, storeDown } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { creditorName } from '../names-in-stores.js'
import { mayBeTaken } from './settle.js'

/** How often to look for credit that another process gave back. */
const ASK_EVERY_MS = 250
/** A payer's credit comes back as soon as one of their calls is settled. */
const EXHAUSTED_RETRY_MS = 5_000

/**
 * Takes one run of the payer's credit, and waits a short time where none is left. Without credit a wallet of one cent
 * had twenty runs at once: each of its payments was verified, and only one could settle.
 */
export function credit(deps: ChargeDeps, call: Call, payer = call.payment.payer) {
  if (deps.rules.credit === undefined) return 'credited'
  return mapSyncOrAsync(take(deps, call, payer), taken => taken ?? wait(deps, call, payer))
}

/** For a call that a balance or a window pays: the runs on its credit are counted together. */
export function coveredOnCredit(deps: ChargeDeps, call: Call, creditor: string) {
  return mapSyncOrAsync(credit(deps, call, creditor), taken =>
    taken === 'credited' ? 'covered' : taken === 'storeDown' ? taken : 'exhausted',
  )
}

type Taken = 'credited' | 'storeDown' | undefined

function take(deps: ChargeDeps, call: Call, payer: string | undefined): Taken | Promise<Taken> {
  // The facilitator has verified the payer. Where the payer cannot be read, the caller's address replaces it.
  const creditor = creditorName(deps.owner, payer ?? callerIpNetwork(call.request.clientAddress))
  const granted = ({ admitted }: Counted): Taken => {
    if (!admitted) return undefined
    call.holds.creditor = creditor
    return 'credited'
  }
  const failed = (cause: unknown) => {
    deps.logger.error({ err: cause }, 'the credit store did not answer')
    return storeDown(call)
  }
  try {
    const taken = deps.credit.take(creditor, deps.rules.credit!)
    return 'admitted' in taken ? granted(taken) : taken.then(granted, failed)
  } catch (cause) {
    return failed(cause)
  }
}

async function wait(deps: ChargeDeps, call: Call, payer: string | undefined) {
  const untilMs = deps.clock.monotonic() + deps.rules.timeouts.creditMs
  for (;;) {
    const leftMs = untilMs - deps.clock.monotonic()
    if (leftMs <= 0) break
    await sleep(deps.clock, Math.min(ASK_EVERY_MS, leftMs))
    if (call.request.caller.gone()) return 'abandoned'
    if (deps.stop.cutting()) return 'stopped'
    const taken = await take(deps, call, payer)
    if (taken !== undefined) return taken
  }
  call.end.retryAfterMs = EXHAUSTED_RETRY_MS
  return 'exhausted'
}

const RUNS_GIVEN = { earned: 2, returned: 1, spent: 0, none: 0 } as const satisfies Record<RunCredit, number>

export function settleCredit(deps: ChargeDeps, call: Call, final: ChargeFinal) {
  const { creditor } = call.holds
  if (creditor === undefined) return
  const { credit } = OUTCOMES[final]
  // A call that stood still may be paid and taken over: the call that found its payment has earned this credit by then.
  if (credit === 'earned' && mayBeTaken(deps, call)) return
  const runs = RUNS_GIVEN[credit]
  if (runs !== 0) void giveCredit(deps, creditor, runs)
}

/** Sends the credit without waiting: the call is over. If the credit arrives late, the payer's next call waits for it. */
export async function giveCredit(deps: ChargeDeps, creditor: string, runs: 1 | 2): Promise<void> {
  try {
    await deps.credit.giveBack(creditor, runs, deps.rules.credit!)
  } catch (cause) {
    deps.logger.warn({ err: cause }, 'credit was not given back; in time it is forgotten')
  }
}
