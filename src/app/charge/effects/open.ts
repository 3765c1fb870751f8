import { problemOf } from '../../../domain/answer-codes.js'
import { identifierIn } from '../../../domain/idempotency-key.js'
import { mapSyncOrAsync } from '../../../domain/state-machine/run-machine.js'
import type { Hold, Opened, OpenMove } from '../../../ports/charge-store.js'
import { knownCost, noteTaken } from '../balances.js'
import { type Call, type Owned, storeDown } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { proveCaller } from '../check-payer-proof.js'
import { keyOfCall, ownedBy } from '../names-in-stores.js'
import { unseal } from '../seal-answers.js'
import { underEndedWindow } from './entitle.js'

/**
 * The lease says how long a stopped call still blocks its key. A running call may end sooner, so the caller retries
 * after this time at the latest.
 */
const RETRY_MAX_MS = 2_000

/** Takes the idempotency key and the payment together. With neither, there is nothing to protect, and the store is not asked. */
export function open(deps: ChargeDeps, call: Call) {
  const { key, problem } = keyOfCall(deps.rules, call)
  if (problem !== undefined) {
    call.end.problem = problem
    return 'unusableKey'
  }
  call.holds.key = key
  return call.window.endedKey === undefined ? proveAndHold(deps, call) : askEndedWindow(deps, call)
}

/**
 * A call that a window covered is answered by the window, also after the window has ended: where its answer was lost, the retry brings
 * a payment beside the key, and it must not be charged for the same call again.
 */
async function askEndedWindow(deps: ChargeDeps, call: Call) {
  const aside = underEndedWindow(call)
  const { key } = keyOfCall(deps.rules, aside)
  const owned = ownedBy(deps, aside, key)
  if (owned === undefined) return proveAndHold(deps, call)
  const look = { ...owned, hold: { ...owned.hold, token: deps.random.uuid() } }
  const opened = await attempt(deps, look)
  if (opened === undefined || opened.verdict === 'full') return storeDown(call)
  if (opened.verdict === 'opened') await releaseNow(deps, look.hold)
  else {
    Object.assign(call, aside)
    call.holds.key = key
  }
  return proveAndHold(deps, call)
}

async function releaseNow(deps: ChargeDeps, hold: Hold): Promise<void> {
  try {
    await deps.store.close({ how: 'release', retentionMs: 0, ...hold })
  } catch (cause) {
    deps.logger.warn({ err: cause }, 'the charge store did not release')
    releaseLater(deps, hold)
  }
}

function proveAndHold(deps: ChargeDeps, call: Call) {
  return mapSyncOrAsync(proveCaller(deps, call), problem => {
    call.end.problem = problem
    return problem === undefined ? hold(deps, call) : 'unusableKey'
  })
}

function hold(deps: ChargeDeps, call: Call, isOtherName = false): 'opened' | Promise<Taken> {
  call.holds.owned = ownedBy(deps, call, call.holds.key)
  return call.holds.owned ? take(deps, call, call.holds.owned, isOtherName) : 'opened'
}

type Taken = Exclude<Opened['verdict'], 'unsure' | 'full'> | 'storeDown'

async function take(deps: ChargeDeps, call: Call, owned: Owned, isOtherName: boolean): Promise<Taken> {
  const cost = knownCost(call)
  let opened = await attempt(deps, owned, cost)
  if (opened?.verdict === 'unsure') {
    const refused = await unlessFresh(deps, call)
    if (refused !== undefined) return refused
    call.holds.owned = { ...owned, isBearer: 'unlanded' }
    opened = await attempt(deps, call.holds.owned)
  }
  if (opened?.verdict === 'full') deps.logger.error({ txId: call.payment.txId }, 'the charge store is full')
  if (opened === undefined || opened.verdict === 'full' || opened.verdict === 'unsure') return storeDown(call)
  switch (opened.verdict) {
    case 'opened':
      call.holds.held = true
      if (opened.units) noteTaken(call, opened.units, cost!)
      deps.upkeep.leases.keep(owned.hold, call.startedMonotonicMs)
      return 'opened'
    case 'replayable':
      return replay(deps, call, owned, opened.answer, isOtherName)
    case 'notKept':
      call.earlier.replayed = { ...NOT_KEPT, txId: opened.txId }
      return 'notKept'
    case 'orphaned': {
      call.earlier.recorded = opened.recorded
      // This call takes over the key, but no payment yet.
      const { slot, token, claim } = owned.hold
      deps.upkeep.leases.keep({ slot, token, claim }, call.startedMonotonicMs)
      return 'orphaned'
    }
    case 'spent':
    case 'inUse':
      if (!isOtherName && takesOtherName(call)) return hold(deps, call, true)
      return opened.verdict === 'spent' ? 'spent' : refusedFor(deps, call, opened)
    default:
      return refusedFor(deps, call, opened)
  }
}

const NOT_KEPT = { answer: undefined, payer: undefined, amount: '0', asset: '', window: undefined } as const

/** A deploy may have turned keys on or off since: a payment was recorded under its own name then, or under the key beside it. */
function takesOtherName({ holds, payment: { read, payload }, request }: Call): boolean {
  const wasNamed = holds.key !== undefined
  const id = payload && identifierIn(payload)
  const given = request.idempotencyKey ?? (id === 'malformed' ? undefined : id)
  holds.key = wasNamed ? undefined : given
  return read !== undefined && (wasNamed || holds.key !== undefined)
}

function replay(deps: ChargeDeps, call: Call, owned: Owned, sealed: Uint8Array, isOtherName: boolean) {
  const { name, isOfPayment } = owned.hold.claim
  const replayed = unseal(sealed, owned.seals, name)
  if (replayed === undefined) {
    if (!isOtherName && takesOtherName(call)) return hold(deps, call, true)
    if (!isOfPayment && !owned.answerName) throw new Error('the answer under this key cannot be unsealed')
    if (call.payment.isProven) call.end.problem = { message: OTHER_KEY }
    return 'spent'
  }
  call.earlier.replayed = replayed
  return replayed.answer === undefined ? 'notKept' : 'replayable'
}

const OTHER_KEY =
  'This very payment was already spent, and its answer is kept under the Idempotency-Key that was sent with it: send the same request with that key.'

type Refused = Extract<Opened, { verdict: 'reused' | 'inProgress' | 'inUse' }>

/** If the caller sent no key, the refusal is about the payment. */
async function refusedFor(deps: ChargeDeps, call: Call, opened: Refused) {
  const isOfKey = opened.verdict !== 'inUse' && call.holds.key !== undefined
  if (isOfKey && opened.verdict === 'reused') return 'reused'
  const waitMs = opened.verdict === 'reused' ? 0 : opened.retryAfterMs
  if (isOfKey || waitMs > 0) call.end.retryAfterMs = Math.min(waitMs, RETRY_MAX_MS)
  if (isOfKey) return 'inProgress'
  if (waitMs > 0) return 'inUse'
  // The call of this payment stopped while settling, and now the payment comes with another key or body, or from a stranger.
  if ((await deps.chain.hasLanded(call.payment.read!.txId)) === true) return 'spent'
  call.end.retryAfterMs = RETRY_MAX_MS
  call.end.problem = { message: STOPPED }
  return 'inUse'
}

const STOPPED =
  'The call of this payment stopped before its settlement was known. Its payer gets the answer by the same request with a proof (SIGN-IN-WITH-X), or with the Idempotency-Key that was sent with it. Do not pay again before the last round of the payment has passed.'

/**
 * A claim lies under a name that can be guessed, and the store does not know the payment. A payment that landed is public, and
 * proves nobody: with it, a guessed key would open another caller's answer, or the refusal would show which keys exist. One
 * question to the node, and only where a claim lies.
 */
async function unlessFresh(deps: ChargeDeps, call: Call) {
  const { read } = call.payment
  const round = await deps.chain.round()
  const landed = read && (await deps.chain.hasLanded(read.txId))
  if (landed) return 'spent'
  if (read !== undefined && round !== undefined && read.lastValid < round) {
    // The node forgets what landed long ago, so its no proves nothing, and neither "charged" nor "not charged" is said.
    call.end.problem = {
      code: 'settlement_unknown',
      message:
        'This payment can no longer land, and the node does not know whether it landed before. With this Idempotency-Key it opens nothing; look txId up, or prove that you are its payer.',
    }
    return 'spent'
  }
  if (landed === false) return undefined
  call.end.retryAfterMs = RETRY_MAX_MS
  call.end.problem = problemOf('node_unavailable')
  return 'storeDown'
}

/**
 * Reserves what the call may cost on its balance, under the key that it holds.
 *
 * @returns whether the store answered, and the call still holds its key
 */
export async function reserve(deps: ChargeDeps, call: Call, units: number): Promise<boolean> {
  const opened = await attempt(deps, call.holds.owned!, units)
  if (opened?.verdict !== 'opened' || opened.units === undefined) return false
  noteTaken(call, opened.units, units)
  return true
}

async function attempt(deps: ChargeDeps, owned: Owned, take?: number): Promise<Opened | undefined> {
  const { hold, isBearer, caller, answerName } = owned
  const { leaseMs } = deps.upkeep.leases
  const move: OpenMove = { leaseMs, isBearer: isBearer === true, take, caller, answerName, ...hold }
  try {
    return await deps.store.open(move)
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the charge store did not open')
    releaseLater(deps, hold)
    return undefined
  }
}

/** The store may have opened the call before its answer was lost. */
function releaseLater(deps: ChargeDeps, hold: Hold): void {
  deps.upkeep.pendingCloses.add({ how: 'release', retentionMs: 0, ...hold })
}
