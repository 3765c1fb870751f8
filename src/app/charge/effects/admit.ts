import { type Call, claimedPayer, provenPayer, storeDown } from '../call.js'
import { keyId } from '../window.js'
import type { Rate, World } from '../world.js'

const DRAINING_RETRY_MS = 5_000

/** Draining first: a process that is leaving counts nobody. */
export function admit(world: World, call: Call) {
  if (world.stop.draining()) {
    call.retryAfterMs = DRAINING_RETRY_MS
    return 'draining'
  }
  const { rate } = call.listing
  return rate === undefined ? 'admitted' : count(world, call, rate)
}

async function count(world: World, call: Call, rate: Rate) {
  const key = rate.per === 'ip' ? `ip:${call.request.clientAddress}` : await payerKey(world, call)
  if (key === undefined) return 'admitted'
  try {
    const verdict = await world.rateLimit.take(rate.bucket + key, rate.perMinute)
    if (verdict.admitted) return 'admitted'
    call.retryAfterMs = verdict.retryAfterMs
    return 'limited'
  } catch (cause) {
    world.logger.error({ err: cause }, 'the rate limit cannot be counted')
    return world.rules.uncountedAdmitted ? 'admitted' : storeDown(call)
  }
}

/**
 * Proven payers and bare claims have separate buckets, so that a forged claim burns nobody's limit but its own. Who
 * presents nothing is not limited here; who presents a window's key is counted by it.
 */
async function payerKey(world: World, call: Call): Promise<string | undefined> {
  const { request, payload } = call
  if (payload !== undefined) {
    const proven = await provenPayer(world, call)
    if (proven !== undefined) return `payer:${proven}`
    const claimed = call.read?.payer ?? claimedPayer(payload)
    return claimed === undefined ? `address:${request.clientAddress}` : `claimed:${claimed}`
  }
  if (request.payment.kind === 'malformed') return `address:${request.clientAddress}`
  return request.subscriptionKey === undefined
    ? undefined
    : `window:${keyId(world.payTo, request.subscriptionKey)}`
}
