/** The bodies of a submission and of a simulation as groups, with a node's words for what cannot be read. */
import { decodeSignedTransaction, encodeMsgpack, msgpackRawEncode, type SignedTransaction } from 'algosdk'
import { GROUP_SIZE_MAX } from '../../adapters/algorand/transaction-bytes.js'
import { INVALID } from '../node-refusal.js'
import { BadRequest } from '../web-server.js'
import { DecodeError, Ended, type Raw, readJson, readMsgpack } from './raw-values.js'
import { type Fields, readShape, type Source, type Value } from './read-shape.js'
import { SIGNED_TRANSACTION, SIMULATE_REQUEST, TYPES } from './shapes.js'

export interface SimulateRequest {
  readonly groups: readonly (readonly SignedTransaction[])[]
  readonly options: Fields
}

/** Signed transactions, one behind the other. What is cut short at the end is not there. */
export function submittedGroup(body: Buffer): readonly SignedTransaction[] {
  const found: Fields[] = []
  try {
    for (let at = 0; at < body.length; ) {
      const { value, end } = readMsgpack(body, at)
      found.push(fieldsOf(value, 'msgpack'))
      at = end
      if (found.length > GROUP_SIZE_MAX) throw refused(`max group size is ${GROUP_SIZE_MAX}`)
    }
  } catch (error) {
    if (error instanceof DecodeError) throw refused(`msgpack decode error [pos 1]: ${error.message}`)
    if (!(error instanceof Ended)) throw error
  }
  if (found.length === 0) throw refused('empty txgroup')
  return found.map(signedOf)
}

/** Msgpack or JSON, whichever it is. Where it is neither, a node complains of JSON. */
export function simulateRequest(body: Buffer): SimulateRequest {
  const { 'txn-groups': groups = [], ...options } = requestIn(body)
  return {
    groups: (groups as readonly Fields[]).map(({ txns = [] }) => (txns as readonly Fields[]).map(signedOf)),
    options,
  }
}

function requestIn(body: Buffer): Fields {
  try {
    return (readShape(readMsgpack(body, 0).value, SIMULATE_REQUEST, 'msgpack') ?? {}) as Fields
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof Ended)) throw error
  }
  try {
    return (readShape(readJson(body.toString()), SIMULATE_REQUEST, 'json') ?? {}) as Fields
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const isNamed = /^(json decode error|EOF)/.test(error.message)
    throw refused(`failed to decode object: ${isNamed ? '' : 'json decode error [pos 1]: '}${error.message}`)
  }
}

function fieldsOf(raw: Raw, source: Source): Fields {
  return (readShape(raw, SIGNED_TRANSACTION, source) ?? {}) as Fields
}

/** Every encoding of a transaction is the same transaction: it is written canonically before it is looked at. */
function signedOf(fields: Fields): SignedTransaction {
  const { type = '' } = (fields.txn ?? {}) as Fields
  if (!TYPES.includes(String(type))) throw refused(`${INVALID}unknown tx type ${String(type)}`)
  if (fields.lsig !== undefined || fields.pqsig !== undefined) {
    throw unemulated('the sandbox ledger knows ed25519 signatures only, no programs and no post-quantum ones')
  }
  const bytes = msgpackRawEncode(encodable(fields))
  try {
    const signed = decodeSignedTransaction(bytes)
    if (Buffer.compare(encodeMsgpack(signed), bytes) === 0) return signed
  } catch {
    // Told below: a node reads more than the library does.
  }
  throw unemulated(`the sandbox cannot read this transaction of the type ${String(type)}`)
}

function encodable(value: Value): unknown {
  if (typeof value === 'bigint') return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value
  if (typeof value !== 'object' || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map(encodable)
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, encodable(each)]))
}

function refused(message: string): BadRequest {
  return new BadRequest('algod', message)
}

function unemulated(message: string): BadRequest {
  return new BadRequest('algod', `not emulated: ${message}`, 501)
}
