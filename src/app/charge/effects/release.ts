import type { Call } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { giveBack } from '../close-call.js'

const IN_DOUBT_RETRY_MS = 5_000

/**
 * After settling began, "not charged" is true only of a payment that this call still holds. A call that took it over
 * may have settled it meanwhile, and may owe its answer.
 */
export async function release(deps: ChargeDeps, call: Call) {
  const given = await giveBack(deps, call)
  if (given !== 'released') call.retryAfterMs = IN_DOUBT_RETRY_MS
  return given
}
