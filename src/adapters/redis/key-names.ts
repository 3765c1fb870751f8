/** The names of all keys. The keys of one payer share a hash slot, so that a move is one script on one node. */
import { createHash } from 'node:crypto'
import type { Hold } from '../../ports/charge-store.js'

/** 132 bits: long enough that no two payers share one by chance, and short because every key of a claim repeats it. */
const TAG_LENGTH = 22

export interface ChargeKeys {
  claim(hold: Hold): string | undefined
  payment(slot: string, txId: string | undefined): string | undefined
}

export function chargeKeys(prefix: string): ChargeKeys {
  return {
    claim: ({ slot, claim }) => claim && `${prefix}${tag(slot)}:claim:${claim.name}`,
    payment: (slot, txId) => txId && `${prefix}${tag(slot)}:payment:${txId}`,
  }
}

/** A slot is hashed, because it may be any text that a caller sends as its payer: braces in it would change the hash slot. */
function tag(slot: string): string {
  return `{${createHash('sha256').update(slot).digest('base64url').slice(0, TAG_LENGTH)}}`
}

/** @throws Error where the prefix would change the part of a key that decides its hash slot. */
export function checkedPrefix(prefix: string): string {
  if (/^[^{}\s]*$/.test(prefix)) return prefix
  throw new Error(`a key prefix has no braces and no white space; this is ${JSON.stringify(prefix)}`)
}
