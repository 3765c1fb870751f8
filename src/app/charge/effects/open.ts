import type { Hold, Opened } from '../../../ports/charge-store.js'
import { type Call, claimedPayer, signingPayer, storeDown } from '../call.js'
import { bodyHash, claimName, unseal } from '../claim.js'
import { keyId } from '../window.js'
import type { World } from '../world.js'

/** Beyond all budgets between opening and recording, so that no lease ends under a call that is on time. */
const LEASE_SLACK_MS = 5_000
/** A lease says how long a dead holder blocks; a live one may be done at any moment. */
const RETRY_MAX_MS = 2_000

/** Takes the idempotency key and the payment together. Where there is neither, nothing is at stake and nobody is asked. */
export function open(world: World, call: Call) {
  const hold = holdOf(world, call)
  return hold === undefined ? 'opened' : take(world, call, hold)
}

async function take(world: World, call: Call, hold: Hold) {
  call.hold = hold
  const opened = await attempt(world, call, hold)
  if (opened === undefined || opened.verdict === 'full') return storeDown(call)
  switch (opened.verdict) {
    case 'opened':
      call.held = true
      return 'opened'
    case 'replayable':
      call.replayed = unseal(opened.answer, call.request.idempotencyKey!, hold.claim!.name)
      return 'replayable'
    case 'orphaned':
      call.recorded = opened.recorded
      return 'orphaned'
    case 'inUse':
      if (opened.retryAfterMs <= 0 && (await landed(world, call))) return 'spent'
      call.retryAfterMs = Math.min(opened.retryAfterMs, RETRY_MAX_MS)
      return 'inUse'
    case 'inProgress':
      call.retryAfterMs = Math.min(opened.retryAfterMs, RETRY_MAX_MS)
      return 'inProgress'
    default:
      return opened.verdict
  }
}

/** A payment whose call died while settling and had no key: nobody will adopt it, but the chain knows how it ended. */
async function landed(world: World, { read }: Call): Promise<boolean> {
  return read !== undefined && (await world.chain.lookup(read.txId, read)) === 'found'
}

async function attempt(world: World, call: Call, hold: Hold): Promise<Opened | undefined> {
  const leaseMs = leaseOf(world, call)
  try {
    return await world.store.open({ ...hold, leaseMs })
  } catch (cause) {
    world.logger.error({ err: cause }, 'the charge store did not open')
    return undefined
  }
}

export function leaseOf(world: World, call: Call): number {
  const { priceMs, verifyMs } = world.rules.budgets
  return priceMs + verifyMs + call.listing.def.timeout + LEASE_SLACK_MS
}

/** A claim protects a payment or a window's key; a request with neither has nothing to claim. */
function holdOf(world: World, call: Call): Hold | undefined {
  const { request, read, payload, listing } = call
  const key = world.rules.idempotency && request.idempotencyKey
  const scope = key === undefined ? undefined : scopeOf(world, call)
  if (read === undefined && scope === undefined) return undefined
  return {
    token: call.id,
    // Everything that one payer holds lives together, so that a claim and its payment move in one step.
    slot: read?.payer ?? claimedPayer(payload) ?? scope!,
    ...(read && { payment: read.txId }),
    ...(scope !== undefined && {
      claim: {
        name: claimName(world.payTo, listing.def.name, scope, key!),
        bodyHash: bodyHash(rawInput(call)),
      },
    }),
  }
}

/** Whose key it is. A payer who proves nothing shares a scope with nobody but their own address on the network. */
function scopeOf(world: World, call: Call): string | undefined {
  const { request, payload } = call
  if (payload !== undefined) {
    const payer = signingPayer(world, call)
    if (payer !== undefined) return `payer:${payer}`
    return `address:${request.clientAddress}:${call.read?.payer ?? claimedPayer(payload) ?? ''}`
  }
  return request.subscriptionKey === undefined
    ? undefined
    : `window:${keyId(world.payTo, request.subscriptionKey)}`
}

function rawInput({ request, listing }: Call): unknown {
  if (listing.def.method === 'GET') return request.query
  return request.body.kind === 'read' ? request.body.value : undefined
}
