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

/** Room for a note of 1024 bytes, the ledger's maximum. */
const BYTES_MAX = 2_048
const scratch = new Uint8Array(BYTES_MAX)
const view = new DataView(scratch.buffer)

/** `fields` are sorted by key, fewer than 16, and all text in them is ASCII, below 256 characters. */
function encodeMap(fields: readonly Field[]): Uint8Array {
  let end = 1
  let count = 0
  for (const [key, value] of fields) {
    if (value === undefined || value === 0n) continue
    count++
    end = putText(key, end)
    if (typeof value === 'bigint') end = putUint(value, end)
    else end = typeof value === 'string' ? putText(value, end) : putBytes(value, end)
  }
  scratch[0] = 0x80 | count
  return scratch.slice(0, end)
}

function putText(text: string, at: number): number {
  const { length } = text
  const isShort = length < 32
  scratch[at] = isShort ? 0xa0 | length : 0xd9
  if (!isShort) scratch[at + 1] = length
  const start = at + (isShort ? 1 : 2)
  for (let index = 0; index < length; index++) scratch[start + index] = text.charCodeAt(index)
  return start + length
}

function putBytes(bytes: Uint8Array, at: number): number {
  const { length } = bytes
  const isShort = length < 256
  scratch[at] = isShort ? 0xc4 : 0xc5
  if (isShort) scratch[at + 1] = length
  else view.setUint16(at + 1, length)
  const start = at + (isShort ? 2 : 3)
  scratch.set(bytes, start)
  return start + length
}

function putUint(value: bigint, at: number): number {
  if (value < 0x80n) {
    scratch[at] = Number(value)
    return at + 1
  }
  if (value < 0x100n) {
    scratch[at] = 0xcc
    scratch[at + 1] = Number(value)
    return at + 2
  }
  if (value < 0x1_0000n) {
    scratch[at] = 0xcd
    view.setUint16(at + 1, Number(value))
    return at + 3
  }
  if (value < 0x1_0000_0000n) {
    scratch[at] = 0xce
    view.setUint32(at + 1, Number(value))
    return at + 5
  }
  scratch[at] = 0xcf
  view.setBigUint64(at + 1, value)
  return at + 9
}
