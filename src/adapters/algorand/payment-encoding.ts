/**
 * The two transactions of a payment, as the ledger encodes them: msgpack with sorted keys, no zeros, the shortest form of
 * every number. Written out here because a library that encodes all of Algorand weighs 230 kB in a browser.
 */

import { fromBase64 } from '../../domain/base64.js'
import { concatBytes } from '../../domain/bytes.js'
import { GENESIS_HASH, GENESIS_ID, type Network } from '../../domain/network.js'

export interface CommonFields {
  readonly network: Network
  readonly sender: Uint8Array
  readonly feeMicroAlgos: bigint
  readonly firstValid: bigint
  readonly lastValid: bigint
  readonly note: string
  readonly group?: Uint8Array
}

export interface AssetPayment extends CommonFields {
  readonly receiver: Uint8Array
  readonly assetId: bigint
  readonly amount: bigint
}

type Value = Uint8Array | string | bigint | undefined

/** A transfer of an asset. */
export function encodeAssetPayment({ amount, receiver, assetId, ...common }: AssetPayment): Uint8Array {
  return encodeMap({ ...fieldsOf(common), type: 'axfer', aamt: amount, arcv: receiver, xaid: assetId })
}

/** A payment of nothing to oneself, which is there for the fee. */
export function encodeSponsorship(common: CommonFields): Uint8Array {
  return encodeMap({ ...fieldsOf(common), type: 'pay', rcv: common.sender })
}

function fieldsOf(common: CommonFields): Record<string, Value> {
  return {
    snd: common.sender,
    fee: common.feeMicroAlgos,
    fv: common.firstValid,
    lv: common.lastValid,
    note: text.encode(common.note),
    gen: GENESIS_ID[common.network],
    gh: fromBase64(GENESIS_HASH[common.network]),
    grp: common.group,
  }
}

const text = new TextEncoder()

function encodeMap(fields: Readonly<Record<string, Value>>): Uint8Array {
  const present = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== 0n && value !== '' && !isEmpty(value))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  // No payment has more than 15 fields, nor any text of theirs more than 31 bytes.
  const head = Uint8Array.of(0x80 | present.length)
  return concatBytes([head, ...present.flatMap(([key, value]) => [encodeText(key), encodeValue(value!)])])
}

function isEmpty(value: Value): boolean {
  return value instanceof Uint8Array && value.length === 0
}

function encodeValue(value: Uint8Array | string | bigint): Uint8Array {
  if (typeof value === 'bigint') return encodeUint(value)
  return typeof value === 'string' ? encodeText(value) : encodeBytes(value)
}

function encodeText(value: string): Uint8Array {
  const bytes = text.encode(value)
  return concatBytes([Uint8Array.of(0xa0 | bytes.length), bytes])
}

function encodeBytes(bytes: Uint8Array): Uint8Array {
  const { length } = bytes
  const head = length < 256 ? [0xc4, length] : [0xc5, length >> 8, length & 0xff]
  return concatBytes([Uint8Array.from(head), bytes])
}

function encodeUint(value: bigint): Uint8Array {
  if (value < 128n) return Uint8Array.of(Number(value))
  const [lead, width] = WIDTHS.find(([, bytes]) => value < 1n << BigInt(8 * bytes))!
  const bytes = new Uint8Array(1 + width)
  bytes[0] = lead
  for (let at = width, rest = value; at > 0; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn)
  return bytes
}

/** Lead bytes of unsigned integers, and how many bytes follow. */
const WIDTHS = [
  [0xcc, 1],
  [0xcd, 2],
  [0xce, 4],
  [0xcf, 8],
] as const
