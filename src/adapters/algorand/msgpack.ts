/**
 * Measures msgpack without decoding it.
 *
 * Algosdk's decoder allocates what a length prefix claims before looking whether so much was sent: 150 bytes of nested
 * array headers end the process with an out-of-memory error. So nothing from outside reaches it before it has been
 * walked here, which allocates nothing and refuses whatever is longer, deeper or stranger than a transaction.
 */

/** A signed transaction nests 6 levels at most where it is not a state proof. */
const DEPTH_MAX = 16

/** Bytes of payload behind each lead byte whose length is fixed; floats and extension types are not in Algorand. */
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

/** Where the value that begins at `start` ends. Throws on truncated, too deep or unknown input. */
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

/** Whether the value that begins at `start` is a map with this short text among its keys. */
export function mapHasKey(bytes: Uint8Array, key: string, start = 0): boolean {
  const lead = byteAt(bytes, start)
  if (lead < 0x80 || lead > 0x8f) return false
  let offset = start + 1
  for (let entry = 0; entry < (lead & 0x0f); entry++) {
    const end = endOfValue(bytes, offset)
    if (byteAt(bytes, offset) === (0xa0 | key.length) && isText(bytes, offset + 1, key)) return true
    offset = endOfValue(bytes, end)
  }
  return false
}

/** Cuts a run of values that follow each other without a separator, as `POST /v2/transactions` carries them. */
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
  for (let index = 0; index < text.length; index++) {
    if (bytes[offset + index] !== text.charCodeAt(index)) return false
  }
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
