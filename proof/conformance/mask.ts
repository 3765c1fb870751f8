/**
 * Replaces in a reply what two chains cannot have in common: their rounds and times, the number of the asset, and with them
 * each id, hash and signature. Nothing else is masked: a field that is missing, or another word, is a difference.
 */
import { msgpackRawDecodeAsMap } from 'algosdk'
import type { Told } from './peer.js'
import type { Stage } from './stage.js'

export interface Masked {
  readonly status: number
  readonly type: string | undefined
  readonly body: unknown
}

/** Fields whose values differ from chain to chain, and what stands for them. */
const FIELDS: Readonly<Record<string, string>> = {
  ...named('ROUND', 'round last-round confirmed-round rnd fv lv next-version-round current_round'),
  ...named('TIME', 'time-since-last-round ts timestamp'),
  ...named('HASH', 'gh gen genesis-hash genesis_hash_b64 genesis_id genesis-id'),
  ...named('HASH', 'prev prev512 seed txn256 txn512 grp blockHash sig s'),
  ...named('OF THE CHAIN', 'tc rwcalr fc bi ld fees rwd build online-money online-stake total-money'),
  ...named('ISSUER', 'creator freeze manager reserve'),
  ...named('ASSET', 'xaid asset-id asset-index index'),
}

/** In this order: each is applied to what the ones before it have left. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  // go-algorand prints a transaction as a Go value, some 3 kB of it.
  [/transaction \{.*\} invalid : /s, 'transaction {...} invalid : '],
  [/, data \{.*\}, tried to spend/s, ', data {...}, tried to spend'],
  [/round \d+ outside of \d+--\d+/g, 'round ROUND outside of ROUND--ROUND'],
  [/\(\d+--\d+\)/g, '(ROUND--ROUND)'],
  [/for (\d+|round \d+)/g, 'for ROUND'],
  [/entry \d+ \(.*\)/g, 'entry ROUND (...)'],
  [/\[pos \d+\]/g, '[pos N]'],
  [/(?<![A-Z2-7])[A-Z2-7]{52}(?![A-Z2-7])/g, 'HASH'],
]

export async function maskedReply({ status, headers, body }: Told, stage: Stage): Promise<Masked> {
  const type = headers['content-type']?.split(';')[0]
  return { status, type, body: masked(bodyOf(type, body), stage) }
}

function bodyOf(type: string | undefined, body: Uint8Array): unknown {
  if (type === 'application/msgpack') return plain(msgpackRawDecodeAsMap(body))
  const text = Buffer.from(body).toString()
  if (type !== 'application/json') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Msgpack's maps and bytes as JSON has them. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [key, plain(each)]))
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(plain)
  return typeof value === 'bigint' ? Number(value) : value
}

export function masked(value: unknown, stage: Stage): unknown {
  if (typeof value === 'string') return maskedText(value, stage)
  if (Array.isArray(value)) return value.map(each => masked(each, stage))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => {
    const field = typeof each === 'object' && each !== null ? undefined : FIELDS[key]
    // A block's `txn` is a hash, a transaction's is an object.
    if (key === 'txn' && typeof each === 'string') return [key, 'HASH']
    // In msgpack holdings are a map from assets' numbers.
    const name = key === String(stage.peer.assetId) ? 'ASSET' : key
    return [name, field ?? masked(each, stage)]
  })
  return Object.fromEntries(entries.sort(([a], [b]) => (a! < b! ? -1 : 1)))
}

/** Of long notes the length and the beginning are enough. */
const TEXT_MAX = 800

function maskedText(text: string, { txIds, peer }: Stage): string {
  const { length } = text
  let left = length > TEXT_MAX && /^[A-Za-z0-9+/=]*$/.test(text) ? `${text.slice(0, 40)}... ${length}` : text
  for (const [at, txId] of txIds.entries()) left = left.replaceAll(txId, `<transaction ${at}>`)
  for (const [pattern, word] of WORDS) left = left.replace(pattern, word)
  return left.replaceAll(new RegExp(`\\b${peer.assetId}\\b`, 'g'), 'ASSET')
}

function named(word: string, keys: string): Record<string, string> {
  return Object.fromEntries(keys.split(' ').map(key => [key, word]))
}
