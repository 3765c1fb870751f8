/** A node's replies: JSON with numbers as plain digits, or msgpack where `format` asks for it, and errors of one message. */
import { msgpackRawEncode, SignedTransaction, stringifyJSON } from 'algosdk'
import { decodeAddress } from '../../adapters/algorand/address.js'
import { BadRequest, type Reply } from '../serve-http.js'

export type Format = 'json' | 'msgpack'

/** How a format shows what the other one shows otherwise. */
export interface View {
  readonly format: Format
  signed(signed: SignedTransaction): unknown
  bytes(bytes: Uint8Array): unknown
}

const INDENT = 2

const VIEWS: Readonly<Record<Format, View>> = {
  json: {
    format: 'json',
    signed: signed => SignedTransaction.encodingSchema.prepareJSON(signed.toEncodingData(), {}),
    bytes: bytes => Buffer.from(bytes).toString('base64'),
  },
  msgpack: {
    format: 'msgpack',
    signed: signed => SignedTransaction.encodingSchema.prepareMsgpack(signed.toEncodingData()),
    bytes: bytes => bytes,
  },
}

/** A node does not read `Accept`. Python's algosdk names no format and reads JSON. */
export function formatIn(query: URLSearchParams): Format {
  const format = query.get('format') ?? 'json'
  if (format === 'json') return 'json'
  if (format === 'msgpack' || format === 'msgp') return 'msgpack'
  throw refused('failed to parse the format option')
}

export function formatted(query: URLSearchParams, value: (view: View) => object): Reply {
  const view = VIEWS[formatIn(query)]
  const made = value(view)
  if (view.format === 'json') return digits(made, INDENT)
  return { status: 200, type: 'application/msgpack', body: msgpackRawEncode(mapped(made)) }
}

/** Amounts go up to 2^64, and a node writes them as plain digits. */
export function digits(value: unknown, indent?: number): Reply & { body: string } {
  return { status: 200, type: 'application/json', body: `${stringifyJSON(value, undefined, indent)}\n` }
}

export function refused(message: string, status = 400): BadRequest {
  return new BadRequest('algod', message, status)
}

export function unemulated(what: string): BadRequest {
  return refused(`not emulated: the sandbox's node does not do ${what}`, 501)
}

/** Msgpack has no `undefined`, and its small integers are numbers. */
function mapped(value: unknown): unknown {
  if (typeof value === 'bigint') return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if (value instanceof Map) return new Map([...value].map(([key, each]) => [key, mapped(each)]))
  if (Array.isArray(value)) return value.map(mapped)
  const kept = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(kept.map(([key, each]) => [key, mapped(each)]))
}

const UINT64_MAX = 2n ** 64n - 1n

export function uintIn(name: string, text: string): bigint {
  const fault = !/^\d+$/.test(text)
    ? 'invalid syntax'
    : BigInt(text) > UINT64_MAX
      ? 'value out of range'
      : undefined
  if (fault === undefined) return BigInt(text)
  const why = `error binding string parameter: strconv.ParseUint: parsing "${text}": ${fault}`
  throw refused(`Invalid format for parameter ${name}: ${why}`)
}

export function addressIn(text: string): string {
  if (decodeAddress(text)) return text
  const why = !/^[A-Z2-7]*$/.test(text)
    ? `failed to decode address ${text} from base 32`
    : text.length === 58
      ? `address ${text} is malformed, checksum verification failed`
      : `decoded bad addr: ${text}`
  throw refused(
    `Invalid format for parameter address: error unmarshaling '${text}' text as *basics.Address: ${why}`,
  )
}

export function excludesIn(query: URLSearchParams): boolean {
  const exclude = query.get('exclude') ?? 'none'
  if (exclude !== 'all' && exclude !== 'none') throw refused('failed to parse exclude')
  return exclude === 'all'
}
