/** The registry's boxes: raw names (a prefix and a key), ABI-encoded values. */
import { decodeAddress, encodeAddress, PUBLIC_KEY_BYTES } from '../adapters/algorand/address.js'
import { concatBytes, equalBytes, textOf } from '../domain/bytes.js'
import type { RegisteredAgent, Score } from '../domain/registered-agent.js'

/** A box's name has at most 64 bytes. A longer one cannot be registered. */
const NAME_BYTES_MAX = 64
/** The id, the offset of the domain, the address and two times; then the length of the domain, and the domain. */
const AGENT_HEAD_BYTES = 8 + 2 + PUBLIC_KEY_BYTES + 8 + 8
const SCORE_BYTES = 7 * 8

/** Each prefix is part of the box's name. */
export const AGENT_BOXES = text('ag_')
export const SCORE_BOXES = text('sc_')

export function agentBox(agentId: bigint): Uint8Array {
  return concatBytes([AGENT_BOXES, uint64(agentId)])
}

export function scoreBox(agentId: bigint): Uint8Array {
  return concatBytes([SCORE_BOXES, uint64(agentId)])
}

/** `undefined` where a box cannot have that name. */
export function domainBox(domain: string): Uint8Array | undefined {
  const name = text(`dm_${domain}`)
  return domain !== '' && name.length <= NAME_BYTES_MAX ? name : undefined
}

export function addressBox(address: string): Uint8Array | undefined {
  const publicKey = decodeAddress(address)
  return publicKey && concatBytes([text('ad_'), publicKey])
}

/** The id in the name of a box with this prefix; `undefined` for any other name. */
export function idInBoxName(name: Uint8Array, prefix: Uint8Array): bigint | undefined {
  const prefixed = equalBytes(name.subarray(0, prefix.length), prefix)
  return prefixed ? readAgentId(name.subarray(prefix.length)) : undefined
}

/** `undefined` for malformed bytes, as of the readers below. */
export function readAgentId(value: Uint8Array): bigint | undefined {
  return value.length === 8 ? viewOf(value).getBigUint64(0) : undefined
}

export function readAgent(value: Uint8Array): RegisteredAgent | undefined {
  const numbers = viewOf(value)
  if (value.length < AGENT_HEAD_BYTES + 2 || numbers.getUint16(8) !== AGENT_HEAD_BYTES) return undefined
  if (AGENT_HEAD_BYTES + 2 + numbers.getUint16(AGENT_HEAD_BYTES) !== value.length) return undefined
  const addressEnd = 10 + PUBLIC_KEY_BYTES
  return {
    agentId: numbers.getBigUint64(0),
    domain: textOf(value.subarray(AGENT_HEAD_BYTES + 2)),
    address: encodeAddress(value.subarray(10, addressEnd)),
    registeredAt: Number(numbers.getBigUint64(addressEnd)),
    updatedAt: Number(numbers.getBigUint64(addressEnd + 8)),
  }
}

export function readScore(value: Uint8Array): Score | undefined {
  if (value.length !== SCORE_BYTES) return undefined
  const numbers = viewOf(value)
  const at = (index: number) => numbers.getBigUint64(8 * index)
  return {
    agentId: at(0),
    jobsPaid: at(1),
    volumeMicro: at(2),
    validated: at(3),
    disputed: at(4),
    firstAt: Number(at(5)),
    lastAt: Number(at(6)),
  }
}

function uint64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  viewOf(bytes).setBigUint64(0, value)
  return bytes
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value)
}
