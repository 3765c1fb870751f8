import type { Hold, Opened } from '../../../ports/charge-store.js'
import type { ReadPayment } from '../../../ports/payment-reader.js'
import { type Call, claimedPayer, signingPayer, storeDown } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { bodyHash, claimName, unseal } from '../claim-name-and-seal.js'
import { keyOfTask } from '../key-of-call.js'
import { keyId } from '../subscription-key.js'

/**
 * The lease says how long a stopped call still blocks its key. A running call may end sooner, so the caller retries
 * after this time at the latest.
 */
const RETRY_MAX_MS = 2_000
/** Shorter keys can be guessed: a counter, a common word, a date. */
const SECRET_KEY_LENGTH_MIN = 16

/**
 * Takes the idempotency key and the payment together. With neither, there is nothing to protect, and the store is not
 * asked.
 */
export function open(deps: ChargeDeps, call: Call) {
  if (call.keyProblem !== undefined) {
    call.problem = call.keyProblem
    return 'unusableKey'
  }
  const hold = holdOf(deps, call)
  return hold === undefined ? 'opened' : take(deps, call, hold)
}

async function take(deps: ChargeDeps, call: Call, hold: Hold) {
  if (isGuessable(call) && call.read) {
    const refused = await landedWithShortKey(deps, call.read, call)
    if (refused !== undefined) return refused
  }
  call.hold = hold
  const opened = await attempt(deps, hold)
  if (opened?.verdict === 'full') deps.logger.error({ txId: call.txId }, 'the charge store is full')
  if (opened === undefined || opened.verdict === 'full') return storeDown(call)
  switch (opened.verdict) {
    case 'opened':
      call.held = true
      deps.leases.keep(hold, call.startedMonotonicMs)
      return 'opened'
    case 'replayable':
      call.replayed = unseal(opened.answer, call.secret!, hold.claim!.name)
      return call.replayed.answer === undefined ? 'notKept' : 'replayable'
    case 'orphaned':
      call.recorded = opened.recorded
      // This call takes over the key, but no payment yet.
      deps.leases.keep({ slot: hold.slot, token: hold.token, claim: hold.claim! }, call.startedMonotonicMs)
      return 'orphaned'
    case 'spent':
      return 'spent'
    default:
      return refusedFor(deps, call, opened)
  }
}

type Refused = Extract<Opened, { verdict: 'reused' | 'inProgress' | 'inUse' }>

/** If the caller sent no key, the refusal is about the payment. */
async function refusedFor(deps: ChargeDeps, call: Call, opened: Refused) {
  const waitMs = opened.verdict === 'reused' ? 0 : opened.retryAfterMs
  const isOfKey = opened.verdict !== 'inUse' && call.key !== undefined
  if (!isOfKey && waitMs <= 0 && (await landed(deps, call.read!))) return 'spent'
  if (isOfKey && opened.verdict === 'reused') return 'reused'
  call.retryAfterMs = Math.min(waitMs, RETRY_MAX_MS)
  return isOfKey ? 'inProgress' : 'inUse'
}

/**
 * The call of this payment stopped while settling, and now the payment comes with another key or body: the chain
 * knows whether it landed.
 */
async function landed(deps: ChargeDeps, read: ReadPayment): Promise<boolean> {
  return (await deps.chain.lookup(read.txId, read)) === 'found'
}

/**
 * A payment that landed is public. With a key that can be guessed it would open another caller's answer, or the
 * refusal would show which keys exist. So it is refused before the key is looked up: the answer is the same for every
 * key.
 */
async function landedWithShortKey(deps: ChargeDeps, read: ReadPayment, call: Call) {
  const round = await deps.chain.round()
  if (round !== undefined && read.lastValid < round) {
    // Do not ask for proof: it would cost the node one request for each round of the payment, and any stranger may
    // send this request.
    call.problem = {
      message: 'This payment can no longer land. With this Idempotency-Key it opens nothing; look txId up.',
    }
    return 'spent'
  }
  const landed = await deps.chain.hasLanded(read.txId)
  if (landed === false) return undefined
  if (landed) return 'spent'
  call.retryAfterMs = RETRY_MAX_MS
  call.problem = {
    code: 'node_unavailable',
    message: `The node does not say whether this payment has landed, which an Idempotency-Key of fewer than ${SECRET_KEY_LENGTH_MIN} characters needs. Nothing was charged by this request; try again, or use a longer key.`,
  }
  return 'storeDown'
}

function isGuessable({ key }: Call): boolean {
  return key !== undefined && key.length < SECRET_KEY_LENGTH_MIN
}

async function attempt(deps: ChargeDeps, hold: Hold): Promise<Opened | undefined> {
  try {
    return await deps.store.open({ ...hold, leaseMs: deps.leases.leaseMs })
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the charge store did not open')
    // The store may have opened the call before its answer was lost.
    deps.pendingCloses.add({ ...hold, how: 'release', retentionMs: 0 })
    return undefined
  }
}

/** A claim protects a payment or a window's key. A request with neither needs no claim. */
function holdOf(deps: ChargeDeps, call: Call): Hold | undefined {
  const { read, payload, endpoint, key } = call
  const scope = key === undefined ? paymentScope(call) : scopeOf(deps, call)
  if (read === undefined && scope === undefined) return undefined
  call.secret = key ?? read!.signature
  return {
    token: call.id,
    // Everything that one payer holds is in one slot, so that a claim and its payment move in one step.
    slot: read?.payer ?? claimedPayer(payload) ?? scope!,
    ...(read && { payment: read.txId }),
    ...(scope !== undefined && {
      claim: {
        name: claimName(deps.recordOwner, endpoint.def.name, scope, key ?? ''),
        bodyHash: bodyHash(rawInput(call)),
      },
    }),
  }
}

/**
 * Without a key, the payment itself is the key while its outcome is open: the same payment with the same body gets
 * the answer of a call whose outcome was unknown. The payment's signature seals the answer, so another signature over
 * the same transaction opens nothing.
 */
function paymentScope({ read }: Call): string | undefined {
  return read?.signature && `payment:${read.txId}:${read.signature}`
}

/** The owner of the key. A payer without proof shares a scope only with callers from the same network address. */
function scopeOf(deps: ChargeDeps, call: Call): string | undefined {
  const { request, payload } = call
  // Only the task's caller knows its id, and only one payment can have it: a retry may come from another address.
  if (request.task !== undefined && call.key === keyOfTask(request.task)) return 'task'
  if (payload !== undefined) {
    const payer = signingPayer(deps, call)
    if (payer !== undefined) return `payer:${payer}`
    return `address:${request.clientAddress}:${call.read?.payer ?? claimedPayer(payload) ?? ''}`
  }
  return request.subscriptionKey === undefined
    ? undefined
    : `window:${keyId(deps.recordOwner, request.subscriptionKey)}`
}

function rawInput({ request, endpoint }: Call): unknown {
  if (endpoint.def.method === 'GET') return request.query
  return request.body.kind === 'read' ? request.body.value : undefined
}
