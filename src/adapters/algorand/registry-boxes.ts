/** The registry's boxes: raw names (a prefix and a key), ABI-encoded values. */
import type { RegisteredAgent, Score } from '../../domain/registry.js'
import { decodeAddress, encodeAddress, PUBLIC_KEY_BYTES } from './address.js'

const AGENT_PREFIX = 'ag_'
/** A box's name has 64 bytes at most; what does not fit is registered nowhere. */
const NAME_BYTES_MAX = 64
/** id, offset of the domain, address, two times; then the domain itself, behind its length. */
const AGENT_HEAD_BYTES = 8 + 2 + PUBLIC_KEY_BYTES + 8 + 8
const SCORE_BYTES = 7 * 8

export const AGENT_BOXES = Buffer.from(AGENT_PREFIX)

export function agentBox(agentId: bigint): Buffer {
  return Buffer.concat([AGENT_BOXES, uint64(agentId)])
}

export function scoreBox(agentId: bigint): Buffer {
  return Buffer.concat([Buffer.from('sc_'), uint64(agentId)])
}

/** `undefined` where no box can have that name. */
export function domainBox(domain: string): Buffer | undefined {
  const name = Buffer.from(`dm_${domain}`)
  return domain !== '' && name.length <= NAME_BYTES_MAX ? name : undefined
}

export function addressBox(address: string): Buffer | undefined {
  const publicKey = decodeAddress(address)
  return publicKey && Buffer.concat([Buffer.from('ad_'), publicKey])
}

/** The id in an agent's box name; `undefined` for any other name. */
export function idInAgentBox(name: Uint8Array): bigint | undefined {
  const bytes = Buffer.from(name)
  if (bytes.length !== AGENT_BOXES.length + 8 || !bytes.subarray(0, AGENT_BOXES.length).equals(AGENT_BOXES)) {
    return undefined
  }
  return bytes.readBigUInt64BE(AGENT_BOXES.length)
}

/** `undefined` for bytes that are no such value. The same for the readers below. */
export function readAgentId(value: Uint8Array): bigint | undefined {
  return value.length === 8 ? Buffer.from(value).readBigUInt64BE() : undefined
}

export function readAgent(value: Uint8Array): RegisteredAgent | undefined {
  const bytes = Buffer.from(value)
  if (bytes.length < AGENT_HEAD_BYTES + 2 || bytes.readUInt16BE(8) !== AGENT_HEAD_BYTES) return undefined
  if (AGENT_HEAD_BYTES + 2 + bytes.readUInt16BE(AGENT_HEAD_BYTES) !== bytes.length) return undefined
  const addressEnd = 10 + PUBLIC_KEY_BYTES
  return {
    agentId: bytes.readBigUInt64BE(0),
    domain: bytes.subarray(AGENT_HEAD_BYTES + 2).toString('utf8'),
    address: encodeAddress(bytes.subarray(10, addressEnd)),
    registeredAt: Number(bytes.readBigUInt64BE(addressEnd)),
    updatedAt: Number(bytes.readBigUInt64BE(addressEnd + 8)),
  }
}

export function readScore(value: Uint8Array): Score | undefined {
  if (value.length !== SCORE_BYTES) return undefined
  const bytes = Buffer.from(value)
  const at = (index: number) => bytes.readBigUInt64BE(8 * index)
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

/** For the sandbox, which stands in for the applications that write. @throws RangeError for an address that is none */
export function writeAgent({ agentId, domain, address, registeredAt, updatedAt }: RegisteredAgent): Buffer {
  const publicKey = decodeAddress(address)
  if (!publicKey) throw new RangeError('an agent is registered from a valid address')
  const name = Buffer.from(domain)
  const times = [registeredAt, updatedAt].map(seconds => uint64(BigInt(seconds)))
  return Buffer.concat([
    uint64(agentId),
    uint16(AGENT_HEAD_BYTES),
    publicKey,
    ...times,
    uint16(name.length),
    name,
  ])
}

export function writeScore(score: Score): Buffer {
  const { agentId, jobsPaid, volumeMicro, validated, disputed, firstAt, lastAt } = score
  const values = [agentId, jobsPaid, volumeMicro, validated, disputed, BigInt(firstAt), BigInt(lastAt)]
  return Buffer.concat(values.map(uint64))
}

export function writeAgentId(agentId: bigint): Buffer {
  return uint64(agentId)
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
