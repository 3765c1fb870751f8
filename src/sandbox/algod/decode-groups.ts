/** Algosdk decodes them. What it would write otherwise is not emulated: all that the sandbox takes, a node takes as well. */
import {
  decodeJSON,
  decodeMsgpack,
  decodeSignedTransaction,
  type Encodable,
  encodeMsgpack,
  modelsv2,
  type SignedTransaction,
} from 'algosdk'
import { endOfValue, splitValues } from '../../adapters/algorand/msgpack.js'
import { GROUP_SIZE_MAX } from '../../adapters/algorand/transaction-bytes.js'
import { refused, unemulated } from './replies.js'

/** Signed transactions, one behind the other. */
export function submittedGroup(body: Buffer): readonly SignedTransaction[] {
  const texts = decoded('msgpack', () => splitValues(body, GROUP_SIZE_MAX + 1))
  if (texts.length === 0) throw refused('empty txgroup')
  if (texts.length > GROUP_SIZE_MAX) throw refused(`max group size is ${GROUP_SIZE_MAX}`)
  return texts.map(text => {
    const signed = decoded('msgpack', () => decodeSignedTransaction(text))
    return canonical(signed, text)
  })
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
