/** In the ledger's encoding, written here: a library that encodes all of Algorand weighs 230 kB in a browser. */
import type { NetworkFacts } from '../../domain/network.js'

export interface CommonFields {
  readonly network: Pick<NetworkFacts, 'genesisId' | 'genesisHashBytes'>
  /** 32 bytes; the same for all addresses here. */
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
type Field = readonly [key: string, value: Value]

export function encodeAssetPayment({ amount, receiver, assetId, ...common }: AssetPayment): Uint8Array {
  return encodeMap([
    ['aamt', amount],
    ['arcv', unlessZero(receiver)],
    ...validity(common),
    ['snd', unlessZero(common.sender)],
    ['type', 'axfer'],
    ['xaid', assetId],
  ])
}

/** A payment of zero to the sender itself. It pays the fees of the group. */
export function encodeSponsorship(common: CommonFields): Uint8Array {
  const sender = unlessZero(common.sender)
  return encodeMap([...validity(common), ['rcv', sender], ['snd', sender], ['type', 'pay']])
}

function validity({ network, feeMicroAlgos, firstValid, lastValid, note, group }: CommonFields): Field[] {
  return [
    ['fee', feeMicroAlgos],
    ['fv', firstValid],
    ['gen', network.genesisId],
    ['gh', network.genesisHashBytes],
    ['grp', group && unlessZero(group)],
    ['lv', lastValid],
    ['note', note === '' ? undefined : utf8.encode(note)],
  ]
}

const utf8 = new TextEncoder()

/** The zero address counts as a zero value too. */
function unlessZero(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.some(byte => byte !== 0) ? bytes : undefined
}

/** `fields` are sorted by key, fewer than 16, and all text in them is ASCII, below 256 characters. */
function encodeMap(fields: readonly Field[]): Uint8Array {
  const bytes = [0x80]
  for (const [key, value] of fields) {
    if (value === undefined || value === 0n) continue
    bytes[0]!++
    put(bytes, key)
    if (typeof value === 'bigint') putUint(bytes, value)
    else put(bytes, value)
  }
  return new Uint8Array(bytes)
}

function put(bytes: number[], value: string | Uint8Array): void {
  const { length } = value
  const isText = typeof value === 'string'
  if (isText && length < 32) bytes.push(0xa0 | length)
  else if (length < 256) bytes.push(isText ? 0xd9 : 0xc4, length)
  else bytes.push(0xc5, length >> 8, length & 0xff)
  for (let at = 0; at < length; at++) bytes.push(isText ? value.charCodeAt(at) : value[at]!)
}

/** In the shortest form: by itself, or behind its size, in one, two, four or eight bytes. */
function putUint(bytes: number[], value: bigint): void {
  if (value < 0x80n) return void bytes.push(Number(value))
  const power = [0, 1, 2].find(each => value < 1n << (8n << BigInt(each))) ?? 3
  bytes.push(0xcc + power)
  for (let bits = 8 * 2 ** power - 8; bits >= 0; bits -= 8)
    bytes.push(Number((value >> BigInt(bits)) & 0xffn))
}
