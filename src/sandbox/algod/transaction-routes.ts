/**
 * Algosdk decodes them. What it would write otherwise is not emulated: all that the sandbox takes, a node takes as well.
 */
import {
  decodeJSON,
  decodeMsgpack,
  decodeSignedTransaction,
  type Encodable,
  encodeMsgpack,
  modelsv2,
  type SignedTransaction,
} from 'algosdk'
import { endOfValue } from '../../adapters/algorand/msgpack.js'
import { GROUP_SIZE_MAX, txIdOf } from '../../adapters/algorand/transaction-hashes.js'
import { INVALID } from '../check-signatures.js'
import type { Ledger } from '../ledger.js'
import { json, type Reply, type SandboxRequest } from '../serve-http.js'
import { addressIn, formatted, refused, uintIn, unemulated } from './replies.js'

/** How long a node remembers a transaction. */
const ROUNDS_KEPT = 1_000n
const NOT_IN_POOL =
  'could not find the transaction in the transaction pool or in the last 1000 confirmed rounds'

export function submit(ledger: Ledger, { body }: SandboxRequest): Reply {
  const group = submittedGroup(body)
  const refusal = ledger.submit(group)
  if (!refusal) return json(200, { txId: txIdOf(group[0]!.txn) })
  switch (refusal.stage) {
    case 'ledger':
      throw refused(`TransactionPool.Remember: ${refusal.message}`)
    case 'fields':
      throw refused(INVALID + refusal.message)
    case 'unemulated':
      throw refused(refusal.message, 501)
    default:
      throw refused(refusal.message)
  }
}

export function pending(ledger: Ledger, { parts, query }: SandboxRequest): Reply {
  const [txId = ''] = parts
  if (!/^[A-Z2-7]{52}$/.test(txId)) throw refused('no valid transaction ID was specified')
  const landed = ledger.landed(txId)
  if (landed && ledger.rounds.current() - landed.round <= ROUNDS_KEPT) {
    const { signed, round, result } = landed
    return formatted(query, view => ({
      'pool-error': '',
      txn: view.signed(signed),
      'confirmed-round': round,
      'closing-amount': result.closing || undefined,
      'asset-closing-amount': result.assetClosing || undefined,
    }))
  }
  const waiting = ledger.waitingFor(txId)
  if (waiting) return formatted(query, view => ({ 'pool-error': '', txn: view.signed(waiting) }))
  const dropped = ledger.dropped(txId)
  if (!dropped) throw refused(NOT_IN_POOL, 404)
  return formatted(query, view => ({ 'pool-error': dropped.error, txn: view.signed(dropped.signed) }))
}

export function pool(ledger: Ledger, { query }: SandboxRequest): Reply {
  return pooled(query, ledger.waiting(), ledger)
}

export function poolOf(ledger: Ledger, { parts, query }: SandboxRequest): Reply {
  const address = addressIn(parts[0]!)
  const own = ledger.waiting().filter(({ txn }) => {
    const { payment, assetTransfer, sender } = txn
    const receiver = (payment ?? assetTransfer)?.receiver.toString()
    return sender.toString() === address || receiver === address
  })
  return pooled(query, own, ledger)
}

/** The total is the whole pool's, also where only a part of it is listed. A `max` of 0 lists all. */
function pooled(query: URLSearchParams, listed: readonly SignedTransaction[], ledger: Ledger): Reply {
  const most = Number(uintIn('max', query.get('max') ?? '0')) || listed.length
  return formatted(query, view => ({
    'top-transactions': listed.slice(0, most).map(view.signed),
    'total-transactions': ledger.waiting().length,
  }))
}

/** Signed transactions, one behind the other. */
function submittedGroup(body: Buffer): readonly SignedTransaction[] {
  const texts = decoded('msgpack', () => splitValues(body, GROUP_SIZE_MAX + 1))
  if (texts.length === 0) throw refused('empty txgroup')
  if (texts.length > GROUP_SIZE_MAX) throw refused(`max group size is ${GROUP_SIZE_MAX}`)
  return texts.map(text => {
    const signed = decoded('msgpack', () => decodeSignedTransaction(text))
    return canonical(signed, text)
  })
}

/** Splits values that follow each other without a separator, as in the body of `POST /v2/transactions`. */
export function splitValues(bytes: Uint8Array, countMax: number): Uint8Array[] {
  const values: Uint8Array[] = []
  for (let offset = 0; offset < bytes.length; ) {
    if (values.length === countMax) throw new RangeError(`more than ${countMax} msgpack values`)
    const end = endOfValue(bytes, offset)
    values.push(bytes.subarray(offset, end))
    offset = end
  }
  return values
}

export function simulateRequest(body: Buffer): modelsv2.SimulateRequest {
  if (!isMsgpack(body)) return decoded('json', () => decodeJSON(body.toString(), modelsv2.SimulateRequest))
  const request = decoded('msgpack', () => decodeMsgpack(body, modelsv2.SimulateRequest))
  return canonical(request, body)
}

/** Whether it is one value of msgpack. Walked first: algosdk's decoder trusts lengths of what is not there. */
function isMsgpack(body: Buffer): boolean {
  try {
    return endOfValue(body, 0) === body.length
  } catch {
    return false
  }
}

function decoded<T>(format: 'json' | 'msgpack', decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw refused(`${format} decode error [pos 1]: ${(error as { message?: string }).message}`)
  }
}

function canonical<T extends Encodable>(value: T, text: Uint8Array): T {
  if (Buffer.compare(encodeMsgpack(value), text) === 0) return value
  throw unemulated('encodings that are not canonical')
}
