import { type Call, claimedPayer, storeDown } from '../call.js'
import type { ChargeDeps, Rate } from '../deps.js'
import { keyId } from '../subscription-key.js'

const DRAINING_RETRY_MS = 5_000

/** Draining first: a process that is leaving counts no calls. */
export function admit(deps: ChargeDeps, call: Call) {
  if (deps.stop.draining()) {
    call.retryAfterMs = DRAINING_RETRY_MS
    return 'draining'
  }
  const { rate } = call.endpoint
  return rate === undefined ? 'admitted' : count(deps, call, rate)
}

async function count(deps: ChargeDeps, call: Call, rate: Rate) {
  try {
    const verdict = await verdictOf(deps, call, rate)
    if (verdict.admitted) return 'admitted'
    call.retryAfterMs = verdict.retryAfterMs
    return 'limited'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the rate limit cannot be counted')
    return deps.rules.uncountedAdmitted ? 'admitted' : storeDown(call)
  }
}

const ADMITTED = { admitted: true } as const

function verdictOf(deps: ChargeDeps, call: Call, rate: Rate) {
  const { request } = call
  if (rate.per === 'ip')
    return deps.rateLimit.take(`${rate.bucket}ip:${request.clientAddress}`, rate.perMinute)
  if (request.payment.kind !== 'none') return unverified(deps, call, rate)
  // Unpaid calls are not limited here; calls that present a window's key are counted by it.
  return request.subscriptionKey === undefined
    ? ADMITTED
    : deps.rateLimit.take(
        `${rate.bucket}window:${keyId(deps.payTo, request.subscriptionKey)}`,
        rate.perMinute,
      )
}

/**
 * A payment proves its payer only once the facilitator has verified it: until then it is counted under the caller's
 * address, so that fresh keys without money buy no fresh limits, and payments that landed (they are public) use up
 * nobody else's. A payer who is over the limit already is refused before the facilitator is asked.
 */
async function unverified(deps: ChargeDeps, call: Call, rate: Rate) {
  const payer = call.read?.payer ?? claimedPayer(call.payload)
  if (payer !== undefined) {
    const verdict = await deps.rateLimit.peek(payerKey(rate, payer), rate.perMinute)
    if (!verdict.admitted) return verdict
  }
  const key = `${rate.bucket}address:${call.request.clientAddress}`
  const verdict = await deps.rateLimit.take(key, rate.perMinute)
  if (verdict.admitted) call.countedUnder = key
  return verdict
}

/** Counts a verified payment under its payer, and no longer under the caller's address. */
export async function countVerified(deps: ChargeDeps, call: Call, rate: Rate) {
  if (rate.per !== 'payer' || call.payer === undefined) return 'verified'
  try {
    const [verdict] = await Promise.all([
      deps.rateLimit.take(payerKey(rate, call.payer), rate.perMinute),
      call.countedUnder !== undefined && deps.rateLimit.giveBack(call.countedUnder, rate.perMinute),
    ])
    if (verdict.admitted) return 'verified'
    call.retryAfterMs = verdict.retryAfterMs
    return 'limited'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the rate limit cannot be counted')
    return deps.rules.uncountedAdmitted ? 'verified' : storeDown(call)
  }
}

function payerKey({ bucket }: Rate, payer: string): string {
  return `${bucket}payer:${payer}`
}
