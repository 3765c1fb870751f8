import { callerIpNetwork } from '../../../domain/caller-ip-network.js'
import { mapSyncOrAsync } from '../../../domain/state-machine/run-machine.js'
import type { Counted } from '../../../ports/counters.js'
import { type Call, storeDown } from '../call-at-work.js'
import type { ChargeDeps, Rate } from '../charge-deps.js'
import { balanceSlot, claimedPayer, windowId } from '../names-in-stores.js'
import { preferWindow } from './entitle.js'

/** Checks draining first: a process that stops counts no calls. */
export function admit(deps: ChargeDeps, call: Call) {
  if (deps.stop.draining()) return 'draining'
  return mapSyncOrAsync(preferWindow(deps, call), storeDown => {
    const { rate } = call.endpoint
    return storeDown ?? (rate === undefined ? ('admitted' as const) : count(deps, call, rate))
  })
}

async function count(deps: ChargeDeps, call: Call, rate: Rate) {
  return (await limitOf(deps, call, () => verdictOf(deps, call, rate))) ?? 'admitted'
}

/** Why a call is not admitted, by what a counter says; `undefined` where it is. */
async function limitOf(deps: ChargeDeps, call: Call, ask: () => Counted | Promise<Counted>) {
  try {
    const verdict = await ask()
    if (verdict.admitted) return undefined
    call.end.retryAfterMs = verdict.retryAfterMs
    return 'limited'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the rate limit cannot be counted')
    return deps.rules.uncountedAdmitted ? undefined : storeDown(call)
  }
}

const ADMITTED = { admitted: true } as const

function verdictOf(deps: ChargeDeps, call: Call, rate: Rate) {
  if (rate.per === 'payer' && call.request.payment.kind !== 'none') return unverified(deps, call, rate)
  const name = countedAs(call, rate)
  return name === undefined ? ADMITTED : deps.rateLimit.take(rate.bucket + name, rate.terms)
}

/** Unpaid calls are not limited where payers are; those that present a window's key are counted by that key. */
function countedAs({ endpoint, request, balance }: Call, { per }: Rate): string | undefined {
  if (per === 'ip') return `ip:${callerIpNetwork(request.clientAddress)}`
  if (balance !== undefined) return balanceSlot(balance.id)
  const { subscriptionKey: key } = request
  return key === undefined ? undefined : `window:${windowId(endpoint.owner, key)}`
}

/**
 * Until the facilitator has verified a payment, the payment proves no payer, so it is counted under the caller's
 * address. Thus new keys without money get no new limits, and payments that landed (they are public) use up no other
 * caller's limit. A payer who is already over the limit is refused before the facilitator is asked.
 */
async function unverified(deps: ChargeDeps, call: Call, rate: Rate) {
  const payer = call.payment.read?.payer ?? claimedPayer(call.payment.payload)
  if (payer !== undefined) {
    const verdict = await deps.rateLimit.peek(`${rate.bucket}payer:${payer}`, rate.terms)
    if (!verdict.admitted) return verdict
  }
  const key = addressKey(rate.bucket, call.request.clientAddress)
  const verdict = await deps.rateLimit.take(key, rate.terms)
  if (verdict.admitted) call.holds.countedUnder = key
  return verdict
}

/** Counts an unpaid call that is kept as a task. Others take no room, and are not counted where payers are limited. */
export async function countTask(
  deps: Pick<ChargeDeps, 'logger' | 'rateLimit' | 'rules'>,
  { bucket, per, terms }: Rate,
  clientAddress: string,
): Promise<Counted> {
  if (per === 'ip') return ADMITTED
  try {
    return await deps.rateLimit.take(addressKey(bucket, clientAddress), terms)
  } catch (cause) {
    if (!deps.rules.uncountedAdmitted) throw cause
    deps.logger.error({ err: cause }, 'the rate limit cannot be counted')
    return ADMITTED
  }
}

/**
 * Gives back the count of a task whose payment has come: the payment is counted itself. If the payment comes in a later
 * minute, this lowers the count of that minute, because the payment itself is counted there. So an address can begin up to twice as
 * many tasks in a minute, if it pays for older ones.
 */
export async function uncountTask(
  { logger, rateLimit }: Pick<ChargeDeps, 'logger' | 'rateLimit'>,
  { bucket, per, terms }: Rate,
  clientAddress: string,
): Promise<void> {
  if (per === 'ip') return
  try {
    await rateLimit.giveBack(addressKey(bucket, clientAddress), 1, terms)
  } catch (cause) {
    logger.warn({ err: cause }, 'the count of a task was not given back')
  }
}

/** Counts a verified payment under its payer, and takes back the count under the caller's address. */
export async function countVerified(deps: ChargeDeps, call: Call, rate: Rate) {
  const { payer } = call.payment
  const { countedUnder } = call.holds
  if (rate.per !== 'payer' || payer === undefined) return 'verified'
  const ask = async () => {
    const [verdict] = await Promise.all([
      deps.rateLimit.take(`${rate.bucket}payer:${payer}`, rate.terms),
      countedUnder !== undefined && deps.rateLimit.giveBack(countedUnder, 1, rate.terms),
    ])
    return verdict
  }
  return (await limitOf(deps, call, ask)) ?? 'verified'
}

function addressKey(bucket: string, clientAddress: string): string {
  return `${bucket}address:${callerIpNetwork(clientAddress)}`
}
