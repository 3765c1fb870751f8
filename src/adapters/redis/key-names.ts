/** The names of all keys. The keys of one payer share a hash slot, so that a move is one script on one node. */
import { hash } from 'node:crypto'

/** 132 bits: long enough that no two payers share one by chance, and short because every key of a claim repeats it. */
const TAG_LENGTH = 22

/** The beginning of the names of all keys of a payer, whose claims and payments follow. */
export function payerPlace(prefix: string, slot: string): string {
  return `${prefix}{${shortHash(slot)}}:`
}

type Name = string | undefined

export const claimKey = (place: string, name: Name) => name && `${place}claim:${name}`
export const paymentKey = (place: string, txId: Name) => txId && `${place}payment:${txId}`
export const keptKey = (place: string) => `${place}kept`
export const unitsKey = (place: string) => `${place}units`
export const reservedKey = (place: string) => `${place}reserved`

/** A payer's part of a name. It is hashed, because it may be any text that a caller sends: braces in it would change the hash slot. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)
}

export function checkedPrefix(prefix: string): string {
  if (/^[^{}\s]*$/.test(prefix)) return prefix
  throw new Error(`a key prefix has no braces and no white space; this is ${JSON.stringify(prefix)}`)
}
