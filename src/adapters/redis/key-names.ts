/** The names of all keys. The keys of one payer share a hash slot, so that a move is one script on one node. */
import { hash } from 'node:crypto'

/** 132 bits: long enough that no two payers share one by chance, and short because every key of a claim repeats it. */
const TAG_LENGTH = 22

/** The beginning of the names of all keys of a payer, whose claims and payments follow. */
export function payerPlace(prefix: string, slot: string): string {
  return `${prefix}{${shortHash(slot)}}:`
}

export function claimKey(place: string, name: string | undefined): string | undefined {
  return name && `${place}claim:${name}`
}

export function keptKey(place: string): string {
  return `${place}kept`
}

export function unitsKey(place: string): string {
  return `${place}units`
}

export function reservedKey(place: string): string {
  return `${place}reserved`
}

export function paymentKey(place: string, txId: string | undefined): string | undefined {
  return txId && `${place}payment:${txId}`
}

/** A payer's part of a name. It is hashed, because it may be any text that a caller sends: braces in it would change the hash slot. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)
}

export function checkedPrefix(prefix: string): string {
  if (/^[^{}\s]*$/.test(prefix)) return prefix
  throw new Error(`a key prefix has no braces and no white space; this is ${JSON.stringify(prefix)}`)
}
