/**
 * Whose is it: the one place that names what the stores keep. Each record has one owner: the network, the seller's address, the
 * agent's handle and the endpoint, and the one who proved to be there. The price, the schema, the mode and the facilitator are no
 * part of a name: a deploy between two requests of one call changes nothing.
 */
import { hash } from 'node:crypto'
import { problemOf } from '../../domain/answer-codes.js'
import { callerIpNetwork } from '../../domain/caller-ip-network.js'
import { identifierIn } from '../../domain/idempotency-key.js'
import { canonicalJson } from '../../domain/json.js'
import { parseBaseUnits } from '../../domain/money.js'
import type { NetworkFacts } from '../../domain/network.js'
import { NO_PARAMS } from '../../domain/path-pattern.js'
import { isRecord, memberAt, type PaymentPayload, type PaymentRequirements } from '../../domain/x402.js'
import { NO_ADDRESS, type Problem } from '../../ports/charge.js'
import type { ReadPayment } from '../../ports/payment-reader.js'
import type { Call, Owned } from './call-at-work.js'
import type { ChargeDeps, Owner, Rules } from './charge-deps.js'

export function ownerOf(network: NetworkFacts, payTo: string, handle: string): Owner {
  const { caip2 } = network
  return {
    network,
    payTo,
    seller: JSON.stringify([caip2, payTo]),
    agent: JSON.stringify([caip2, payTo, handle]),
  }
}

export function endpointOwner({ agent }: Owner, endpoint: string): string {
  return JSON.stringify([agent, endpoint])
}

/** The name under which a window is stored. A store that leaks reveals no key. */
export function windowId(endpointOwner: string, key: string): string {
  return sha256(JSON.stringify(['window', endpointOwner, key]))
}

/** The public name of a balance: it opens nothing. */
export function balanceId({ agent }: Owner, key: string): string {
  return sha256(JSON.stringify(['balance', agent, key]))
}

/** The slot in which the store keeps a balance, with the claims of its calls. */
export function balanceSlot(id: string): string {
  return `balance ${id}`
}

/** The name of a task. It does not open the content, which is sealed under the id. */
export function taskName({ agent }: Owner, id: string): string {
  return sha256(JSON.stringify(['task', agent, id]))
}

/** No endpoint has a name with a space, so no window opens by a record of this name. */
export const QUOTED_SPONSOR = 'quoted sponsor'

/** The name under which the store of windows keeps that a seller's quotes named a sponsor in this span of time. */
export function quotedSponsorId({ seller }: Pick<Owner, 'seller'>, sponsor: string, span: number): string {
  return sha256(JSON.stringify([QUOTED_SPONSOR, seller, sponsor, span]))
}

/** All agents of a seller count a payer's unsettled runs together. */
export function creditorName({ seller }: Owner, payer: string): string {
  return `${seller}:${payer}`
}

/** Shorter keys can be guessed: a counter, a date, an invoice's number. Ours is a random UUID of 36 characters. */
export const RANDOM_KEY_LENGTH_MIN = 32

/** `undefined` for a request with neither a payment nor the key of a window: it has nothing to protect, and looks nothing up. */
export function ownedBy(deps: ChargeDeps, call: Call, key: string | undefined): Owned | undefined {
  const { endpoint, request } = call
  const { read, payload } = call.payment
  const own = read && paymentName(endpoint.owner, read)
  const scope = key === undefined ? undefined : scopeOf(deps, call, key)
  const name = scope === undefined ? own : claimName(endpoint.owner, scope.who, key!)
  if (name === undefined) return undefined
  const payerSlot = read?.payer ?? claimedPayer(payload) ?? scope!.who.join(' ')
  const isRandom = key !== undefined && key.length >= RANDOM_KEY_LENGTH_MIN
  return {
    hold: {
      token: call.id,
      // Everything that one payer holds is in one slot, so that a claim and its payment move in one step.
      slot: call.balance ? balanceSlot(call.balance.id) : payerSlot,
      hasUnits: call.balance && true,
      payment: read?.txId,
      claim: { name, bodyHash: requestHash(call), isOfPayment: name === own || undefined },
    },
    seals: sealsOf(deps, key ?? read!.wrapperDigest),
    isBearer: !(call.payment.isProven || isRandom || scope?.isSecret),
    // It counts beside a payment alone. The key of a window is worth more than one answer: an address opens none.
    caller:
      read && endpoint.periodMs === undefined ? callerMark(endpoint.owner, request.clientAddress) : undefined,
    answerName: name === own ? undefined : own,
  }
}

/** What the payer brings, under the seller's secrets and alone: an answer that was sealed before the seller had one is opened too. */
export function sealsOf({ rules }: ChargeDeps, brought: string): readonly string[] {
  return [...rules.sealSecrets.map(secret => JSON.stringify([secret, brought])), brought]
}

interface Scope {
  readonly who: readonly string[]
  /** Whoever can name it is its owner. */
  readonly isSecret?: boolean
}

/** The owner of a key. */
function scopeOf(deps: ChargeDeps, call: Call, key: string): Scope | undefined {
  const { request, endpoint, balance } = call
  const { payload, read } = call.payment
  if (balance !== undefined) return { who: ['balance', balance.id], isSecret: true }
  if (payload === undefined) {
    const { subscriptionKey } = request
    if (subscriptionKey === undefined) return undefined
    return { who: ['window', windowId(endpoint.owner, subscriptionKey)], isSecret: true }
  }
  // Only the task's caller knows its id, and only one payment can have it: a retry may come from another address.
  if (request.task !== undefined && key === keyOfTask(request.task)) return { who: ['task'], isSecret: true }
  if (read !== undefined && paysUs(deps, read) && read.proven()) return { who: ['payer', read.payer] }
  // Nobody proved to be this payer. A random key names its owner; with a short one, the payment's own bytes do.
  const claimed = read?.payer ?? claimedPayer(payload)
  if (claimed !== undefined && key.length >= RANDOM_KEY_LENGTH_MIN) return { who: ['claimed', claimed] }
  const digests = read ? [read.txId, read.wrapperDigest] : [sha256(canonicalJson(payload.payload ?? null))]
  return { who: ['payment', ...digests] }
}

/** The name of an answer whose payment has no key: another signature over the same transaction has another name. */
function paymentName(endpointOwner: string, { txId, wrapperDigest }: ReadPayment): string {
  return claimName(endpointOwner, ['payment', txId, wrapperDigest], '')
}

/** The name holds the key's hash, never the key, because the key opens the sealed answer. */
export function claimName(endpointOwner: string, who: readonly string[], key: string): string {
  return sha256(JSON.stringify([endpointOwner, who, key]))
}

/** The host that says no address gives all its callers the same one. */
function callerMark(endpointOwner: string, address: string): string | undefined {
  if (address === NO_ADDRESS) return undefined
  return sha256(JSON.stringify(['caller', endpointOwner, callerIpNetwork(address)])).slice(0, MARK_LENGTH)
}

const MARK_LENGTH = 22

/**
 * A request: method, the parameters in its path, query and body. Equal for bodies that are the same JSON value, whatever their white
 * space and order of keys. The parsers limit their depth.
 */
function requestHash({ request }: Pick<Call, 'request'>): string {
  const { query, body } = request
  const { method, params } = request.target!
  const path = params === NO_PARAMS ? '' : `/${canonicalJson(params)} `
  const asked = `${method} ${path}${canonicalJson({ ...query })}`
  if (method === 'GET' || body.kind !== 'read') return sha256(asked)
  const { value } = body
  const sent =
    value instanceof Uint8Array ? `bytes ${hash('sha256', value, 'base64url')}` : canonicalJson(value)
  return sha256(`${asked} ${sent}`)
}

export function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** The payer that a payment claims, where no transaction in it can be read. It is a claim without proof. */
export function claimedPayer(payload: PaymentPayload | undefined): string | undefined {
  const inner = payload?.payload
  if (!isRecord(inner)) return undefined
  const claimed = inner.payer ?? inner.from ?? inner.sender ?? memberAt(inner, 'authorization', 'from')
  return typeof claimed === 'string' && claimed.length <= 128 ? claimed : undefined
}

/** Whether a payment transfers the asset that is asked for to this seller. */
export function paysUs({ owner: { payTo, network } }: ChargeDeps, read: ReadPayment): boolean {
  return read.receiver === payTo && read.genesisHash === network.genesisHash && read.asset === network.usdcId
}

/** Whether a readable payment transfers exactly what the requirements ask for. */
export function meetsTerms(deps: ChargeDeps, read: ReadPayment, requirements: PaymentRequirements): boolean {
  return paysUs(deps, read) && read.amount === parseBaseUnits(requirements.amount)
}

/** `problem` says why the request cannot be accepted as it is. A call without a key has neither. */
interface CallKey {
  readonly key?: string
  readonly problem?: Problem
}

/**
 * Decided before anything is held or verified, so a wrong key costs nothing. A key is demanded of payments only: other
 * requests risk nothing, and need the quote, which says that a key is required.
 */
export function keyOfCall(
  { idempotency }: Rules,
  { request: { idempotencyKey: header, task, payment, maxCharge }, payment: { payload }, balance }: Call,
): CallKey {
  if (balance !== undefined) {
    if (payment.kind !== 'none') return refused('payment_and_balance')
    if (maxCharge !== undefined && parseBaseUnits(maxCharge) === undefined)
      return refused('invalid_max_charge')
  }
  const id = idempotency && payload && identifierIn(payload)
  if (id === 'malformed') return refused('invalid_payment_identifier')
  // The task names the call. A header belongs to one request: with a new one, a paid answer that was lost was out of reach.
  if (task !== undefined) return { key: id ?? keyOfTask(task) }
  if (idempotency === undefined && balance === undefined) return {}
  if (id !== undefined && header !== undefined && id !== header) return refused('idempotency_key_mismatch')
  const key = header ?? id
  if (key !== undefined) return { key }
  const isPaid = balance !== undefined || (idempotency?.required && payload !== undefined)
  return isPaid ? refused('idempotency_key_required') : {}
}

/** The key of a task's call whose payment has no id. */
function keyOfTask(task: string): string {
  return `task:${task}`
}

function refused(code: string): CallKey {
  return { problem: problemOf(code) }
}
