/**
 * Measures msgpack without decoding it.
 *
 * Algosdk's decoder allocates the length that a prefix claims, before it checks the input: 150 bytes of nested array headers
 * end the process with an out-of-memory error. So all input is walked here first. The walk allocates nothing, and refuses
 * input that is longer or deeper than a transaction or has types that a transaction does not have.
 */

/** A signed transaction nests at most 6 levels, unless it is a state proof. */
const DEPTH_MAX = 16

/** Payload bytes of each lead byte with a fixed length. Algorand uses neither floats nor extension types. */
const FIXED: Readonly<Record<number, number>> = Object.freeze({
  192: 0, // nil
  194: 0, // false
  195: 0, // true
  204: 1, // uint 8 to 64
  205: 2,
  206: 4,
  207: 8,
  208: 1, // int 8 to 64
  209: 2,
  210: 4,
  211: 8,
})

/** The end of the value that begins at `start`. Throws for input that is truncated, too deep or of an unknown type. */
export function endOfValue(bytes: Uint8Array, start: number, depth = 0): number {
  const lead = byteAt(bytes, start)
  const next = start + 1
  if (lead <= 0x7f || lead >= 0xe0) return next
  if (lead <= 0x8f) return endOfItems(bytes, next, 2 * (lead & 0x0f), depth)
  if (lead <= 0x9f) return endOfItems(bytes, next, lead & 0x0f, depth)
  if (lead <= 0xbf) return within(bytes, next + (lead & 0x1f))
  switch (lead) {
    case 0xc4:
    case 0xd9:
      return within(bytes, next + 1 + uint(bytes, next, 1))
    case 0xc5:
    case 0xda:
      return within(bytes, next + 2 + uint(bytes, next, 2))
    case 0xc6:
    case 0xdb:
      return within(bytes, next + 4 + uint(bytes, next, 4))
    case 0xdc:
      return endOfItems(bytes, next + 2, uint(bytes, next, 2), depth)
    case 0xdd:
      return endOfItems(bytes, next + 4, uint(bytes, next, 4), depth)
    case 0xde:
      return endOfItems(bytes, next + 2, 2 * uint(bytes, next, 2), depth)
    case 0xdf:
      return endOfItems(bytes, next + 4, 2 * uint(bytes, next, 4), depth)
  }
  const width = FIXED[lead]
  if (width === undefined) throw new RangeError(`msgpack type 0x${lead.toString(16)} is not used by Algorand`)
  return within(bytes, next + width)
}

/** The two parts of a map's entries around the entry that has this short key, and how many entries they are without it. */
export function aroundEntry(
  bytes: Uint8Array,
  key: string,
): { before: Uint8Array; after: Uint8Array; entries: number } | undefined {
  const head = mapHead(bytes)
  if (head === undefined) return undefined
  let { offset } = head
  for (let entry = 0; entry < head.entries; entry++) {
    const end = endOfValue(bytes, endOfValue(bytes, offset))
    if (isKey(bytes, offset, key)) {
      const [before, after] = [bytes.subarray(head.offset, offset), bytes.subarray(end)]
      return { before, after, entries: head.entries - 1 }
    }
    offset = end
  }
  return undefined
}

/** Accepts every form of a map's head: another decoder may accept them all, so all of them are one payment here. */
function mapHead(bytes: Uint8Array): { entries: number; offset: number } | undefined {
  const lead = byteAt(bytes, 0)
  if (lead >= 0x80 && lead <= 0x8f) return { entries: lead & 0x0f, offset: 1 }
  const width = lead === 0xde ? 2 : lead === 0xdf ? 4 : undefined
  return width && { entries: uint(bytes, 1, width), offset: 1 + width }
}

function isKey(bytes: Uint8Array, offset: number, key: string): boolean {
  const lead = byteAt(bytes, offset)
  if (lead === (0xa0 | key.length)) return isText(bytes, offset + 1, key)
  const width = { 217: 1, 218: 2, 219: 4 }[lead]
  if (width === undefined) return false
  return uint(bytes, offset + 1, width) === key.length && isText(bytes, offset + 1 + width, key)
}

function endOfItems(bytes: Uint8Array, start: number, count: number, depth: number): number {
  if (depth >= DEPTH_MAX) throw new RangeError(`msgpack nested deeper than ${DEPTH_MAX}`)
  let offset = start
  for (let item = 0; item < count; item++) offset = endOfValue(bytes, offset, depth + 1)
  return offset
}

function uint(bytes: Uint8Array, offset: number, width: number): number {
  let value = 0
  for (let index = 0; index < width; index++) value = value * 256 + byteAt(bytes, offset + index)
  return value
}

function isText(bytes: Uint8Array, offset: number, text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (bytes[offset + index] !== text.charCodeAt(index)) return false
  return true
}

function byteAt(bytes: Uint8Array, offset: number): number {
  const byte = bytes[offset]
  if (byte === undefined) throw new RangeError('msgpack ends early')
  return byte
}

function within(bytes: Uint8Array, end: number): number {
  if (end > bytes.length) throw new RangeError('msgpack ends early')
  return end
}
