/** Msgpack and JSON as plain values, read as go-algorand's codec does: every form of a value, and nothing after the first one. */
import { IntDecoding, parseJSON } from 'algosdk'

/** Text and bytes are the same to the codec. Of a key that comes twice the last value counts. */
export type Raw = null | boolean | bigint | number | Uint8Array | readonly Raw[] | ReadonlyMap<string, Raw>

export class DecodeError extends Error {}
/** The input ends within a value. */
export class Ended extends Error {}

export const NO_STRUCT = 'only encoded map or array can be decoded into a struct'

const DEPTH_MAX = 16

export interface Read {
  readonly value: Raw
  readonly end: number
}

/** Never allocates what a length prefix claims before the bytes are there. */
export function readMsgpack(bytes: Buffer, start: number, depth = 0): Read {
  if (depth > DEPTH_MAX) throw new DecodeError('max depth exceeded')
  const lead = uintAt(bytes, start, 1)
  const at = start + 1
  if (lead <= 0x7f) return { value: BigInt(lead), end: at }
  if (lead >= 0xe0) return { value: BigInt(lead - 0x100), end: at }
  if (lead <= 0x8f) return readMap(bytes, at, lead & 0x0f, depth)
  if (lead <= 0x9f) return readList(bytes, at, lead & 0x0f, depth)
  if (lead <= 0xbf) return readBytes(bytes, at, lead & 0x1f)
  switch (lead) {
    case 0xc0:
      return { value: null, end: at }
    case 0xc2:
    case 0xc3:
      return { value: lead === 0xc3, end: at }
    case 0xca:
      return { value: within(bytes, at, 4).readFloatBE(0), end: at + 4 }
    case 0xcb:
      return { value: within(bytes, at, 8).readDoubleBE(0), end: at + 8 }
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return readSized(bytes, at, 1 << (lead - 0xc4))
    case 0xd9:
    case 0xda:
    case 0xdb:
      return readSized(bytes, at, 1 << (lead - 0xd9))
    case 0xdc:
    case 0xdd:
      return readList(bytes, at + 2 * (lead - 0xdb), uintAt(bytes, at, 2 * (lead - 0xdb)), depth)
    case 0xde:
    case 0xdf:
      return readMap(bytes, at + 2 * (lead - 0xdd), uintAt(bytes, at, 2 * (lead - 0xdd)), depth)
  }
  if (lead >= 0xcc && lead <= 0xd3) return readInteger(bytes, at, lead)
  throw new DecodeError(NO_STRUCT)
}

function readInteger(bytes: Buffer, at: number, lead: number): Read {
  const width = 1 << ((lead - 0xcc) & 3)
  const value = BigInt(`0x${within(bytes, at, width).toString('hex')}`)
  return { value: lead >= 0xd0 ? BigInt.asIntN(8 * width, value) : value, end: at + width }
}

function readSized(bytes: Buffer, at: number, width: number): Read {
  return readBytes(bytes, at + width, uintAt(bytes, at, width))
}

function readBytes(bytes: Buffer, at: number, length: number): Read {
  return { value: within(bytes, at, length), end: at + length }
}

function readList(bytes: Buffer, at: number, count: number, depth: number): Read {
  const value: Raw[] = []
  let end = at
  for (let item = 0; item < count; item++) {
    const read = readMsgpack(bytes, end, depth + 1)
    value.push(read.value)
    end = read.end
  }
  return { value, end }
}

function readMap(bytes: Buffer, at: number, count: number, depth: number): Read {
  const value = new Map<string, Raw>()
  let end = at
  for (let entry = 0; entry < count; entry++) {
    const key = readMsgpack(bytes, end, depth + 1)
    if (!(key.value instanceof Uint8Array)) throw new DecodeError(NO_STRUCT)
    const read = readMsgpack(bytes, key.end, depth + 1)
    value.set(Buffer.from(key.value).toString(), read.value)
    end = read.end
  }
  return { value, end }
}

function uintAt(bytes: Buffer, at: number, width: number): number {
  return within(bytes, at, width).readUIntBE(0, width)
}

function within(bytes: Buffer, at: number, length: number): Buffer {
  if (at + length > bytes.length) throw new Ended('EOF')
  return bytes.subarray(at, at + length)
}

/** The first JSON value. Text becomes its bytes: whether it is base64 or an address depends on its field. */
export function readJson(text: string): Raw {
  const first = text.trimStart()
  if (first === '') throw new DecodeError('EOF')
  if (first[0] !== '{' && first[0] !== '[') throw new DecodeError(`json decode error [pos 1]: ${NO_STRUCT}`)
  try {
    return rawOf(parseJSON(first.slice(0, endOfJson(first)), { intDecoding: IntDecoding.BIGINT }))
  } catch (error) {
    throw new DecodeError(`json decode error [pos 1]: ${error instanceof Error ? error.message : error}`)
  }
}

function endOfJson(text: string): number {
  let depth = 0
  for (const { 0: mark, index } of text.matchAll(/"(?:[^"\\]|\\.)*(?:"|$)|[{}[\]]/gs)) {
    if (mark === '{' || mark === '[') depth++
    if ((mark === '}' || mark === ']') && --depth === 0) return index + 1
  }
  return text.length
}

function rawOf(value: unknown, depth = 0): Raw {
  if (depth > DEPTH_MAX) throw new DecodeError('max depth exceeded')
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (typeof value === 'string') return Buffer.from(value)
  if (Array.isArray(value)) return value.map(each => rawOf(each, depth + 1))
  return new Map(Object.entries(value as object).map(([key, each]) => [key, rawOf(each, depth + 1)]))
}
