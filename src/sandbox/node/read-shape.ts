/** Reads a value into a shape, as go-algorand's codec reads a struct: lenient in forms, strict in names. Zero values disappear. */
import { decodeAddress } from '../../adapters/algorand/address.js'
import { DecodeError, NO_STRUCT, type Raw } from './raw-values.js'

/** `any`: what the sandbox does not do. It reads only whether there is something. */
export type Shape =
  | 'uint'
  | 'bool'
  | 'text'
  | 'bytes'
  | 'address'
  | 'any'
  | { readonly fixed: number }
  | { readonly list: Shape }
  | { readonly struct: Readonly<Record<string, Shape>> }

/** What a canonical encoding has; `undefined` for a zero value, which it leaves out. */
export type Value = bigint | boolean | string | Uint8Array | readonly Value[] | Fields | undefined
export interface Fields {
  readonly [key: string]: Value
}

export type Source = 'json' | 'msgpack'

const ADDRESS_BYTES = 32

export function readShape(raw: Raw, shape: Shape, source: Source): Value {
  if (raw === null) return undefined
  if (typeof shape === 'object') {
    if ('struct' in shape) return readStruct(raw, shape.struct, source)
    if ('list' in shape) return readListOf(raw, shape.list, source)
    return nonZero(fitted(bytesIn(raw, source), shape.fixed))
  }
  switch (shape) {
    case 'uint':
      return uintIn(raw) || undefined
    case 'bool':
      if (typeof raw !== 'boolean') throw new DecodeError(`cannot decode bool: ${described(raw)}`)
      return raw || undefined
    case 'text':
      return textIn(raw) || undefined
    case 'bytes':
      return nonEmpty(bytesIn(raw, source))
    case 'address':
      return nonZero(source === 'json' ? addressIn(raw) : fitted(bytesIn(raw, source), ADDRESS_BYTES))
    case 'any':
      return isEmpty(raw) ? undefined : true
  }
}

function readStruct(raw: Raw, shapes: Readonly<Record<string, Shape>>, source: Source): Fields | undefined {
  if (Array.isArray(raw) && raw.length === 0) return undefined
  if (!(raw instanceof Map)) throw new DecodeError(NO_STRUCT)
  const fields: [string, Value][] = []
  for (const [key, each] of raw as ReadonlyMap<string, Raw>) {
    if (!Object.hasOwn(shapes, key)) {
      throw new DecodeError(`no matching struct field found when decoding stream map with key ${key}`)
    }
    const value = readShape(each, shapes[key]!, source)
    if (value !== undefined) fields.push([key, value])
  }
  return fields.length === 0 ? undefined : Object.fromEntries(fields)
}

function readListOf(raw: Raw, shape: Shape, source: Source): readonly Value[] | undefined {
  if (!Array.isArray(raw)) throw new DecodeError(`cannot decode slice: ${described(raw)}`)
  // In a list a zero value has its place.
  const values = raw.map(each => readShape(each as Raw, shape, source) ?? zeroOf(shape))
  return values.length === 0 ? undefined : values
}

function zeroOf(shape: Shape): Value {
  if (shape === 'uint') return 0n
  if (shape === 'bytes') return new Uint8Array()
  if (shape === 'address') return new Uint8Array(ADDRESS_BYTES)
  return {}
}

function uintIn(raw: Raw): bigint {
  if (typeof raw !== 'bigint') throw new DecodeError(`cannot decode unsigned integer: ${described(raw)}`)
  if (raw < 0n) throw new DecodeError(`assigning negative signed value: ${raw}, to unsigned type`)
  return raw
}

function textIn(raw: Raw): string {
  return Buffer.from(bytesIn(raw, 'msgpack')).toString()
}

/** Bytes may come as a list of numbers. In JSON they are base64. */
function bytesIn(raw: Raw, source: Source): Uint8Array {
  if (Array.isArray(raw)) return Uint8Array.from(raw, each => Number(uintIn(each as Raw)))
  if (!(raw instanceof Uint8Array)) throw new DecodeError(`cannot decode bytes: ${described(raw)}`)
  return source === 'json' ? Buffer.from(Buffer.from(raw).toString(), 'base64') : raw
}

function addressIn(raw: Raw): Uint8Array {
  const text = textIn(raw)
  const decoded = text === '' ? new Uint8Array(ADDRESS_BYTES) : decodeAddress(text)
  if (!decoded) throw new DecodeError(`decoded bad addr: ${text.slice(0, 64)}`)
  return decoded
}

/** The codec fills what is missing with zeros, and cuts what is too long. */
function fitted(bytes: Uint8Array, length: number): Uint8Array {
  const fixed = new Uint8Array(length)
  fixed.set(bytes.subarray(0, length))
  return fixed
}

function nonZero(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.some(byte => byte !== 0) ? bytes : undefined
}

function nonEmpty(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.length > 0 ? bytes : undefined
}

function isEmpty(raw: Raw): boolean {
  if (raw instanceof Map) return [...raw.values()].every(isEmpty)
  if (Array.isArray(raw) || raw instanceof Uint8Array) return raw.length === 0
  return raw === 0n || raw === false || raw === null
}

/** The codec names the first byte of a value that it cannot use. */
function described(raw: Raw): string {
  const hex = (byte: number) => byte.toString(16)
  const name =
    typeof raw === 'number'
      ? 'cb/float'
      : typeof raw === 'boolean'
        ? `${raw ? 'c3/true' : 'c2/false'}`
        : raw instanceof Uint8Array
          ? `${hex(0xa0 | Math.min(raw.length, 31))}/string|bytes`
          : Array.isArray(raw)
            ? `${hex(0x90 | Math.min(raw.length, 15))}/array`
            : 'map'
  return `unrecognized descriptor byte: ${name}`
}
