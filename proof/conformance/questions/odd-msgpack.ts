/** Writes msgpack in forms that no encoder of Algorand writes and that decoders may read. */

export type Written = Buffer
type Key = 'fix' | 'str8' | 'str16' | 'bin8'

export const nil = Buffer.of(0xc0)

export function map(
  entries: readonly (readonly [Written, Written])[],
  head: 'fix' | 16 | 32 = 'fix',
): Written {
  const { length } = entries
  const start = {
    fix: () => Buffer.of(0x80 | length),
    16: () => Buffer.of(0xde, 0, length),
    32: () => Buffer.of(0xdf, 0, 0, 0, length),
  }[head]()
  return Buffer.concat([start, ...entries.flat()])
}

export function array(items: readonly Written[]): Written {
  return Buffer.concat([Buffer.of(0xdc, 0, items.length), ...items])
}

export function str(text: string | Uint8Array, form: Key = 'fix'): Written {
  const bytes = Buffer.from(text as string)
  const { length } = bytes
  const start = {
    fix: () => Buffer.of(0xa0 | length),
    str8: () => Buffer.of(0xd9, length),
    str16: () => Buffer.of(0xda, 0, length),
    bin8: () => Buffer.of(0xc4, length),
  }[form]()
  return Buffer.concat([start, bytes])
}

export function bin(bytes: Uint8Array, form: 8 | 16 | 32 = 8): Written {
  const { length } = bytes
  const start = { 8: [0xc4, length], 16: [0xc5, 0, length], 32: [0xc6, 0, 0, 0, length] }[form]
  return Buffer.concat([Buffer.from(start), bytes])
}

export function uint64(value: bigint): Written {
  const bytes = Buffer.alloc(9, 0xcf)
  bytes.writeBigUInt64BE(value, 1)
  return bytes
}

export function int64(value: bigint): Written {
  const bytes = Buffer.alloc(9, 0xd3)
  bytes.writeBigInt64BE(value, 1)
  return bytes
}

export function float64(value: number): Written {
  const bytes = Buffer.alloc(9, 0xcb)
  bytes.writeDoubleBE(value, 1)
  return bytes
}
