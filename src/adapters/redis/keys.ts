/** The names of all keys. What one payer holds shares a hash slot, so that a move over it is one script on one node. */
import { createHash } from 'node:crypto'
import type { Hold } from '../../ports/charge-store.js'

/** 132 bits: enough that no two payers share one by chance, short because every claim's key repeats it. */
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

/** Hashed, because a slot may be any text that a caller claims to be paid from: braces in it would split the slot. */
function tag(slot: string): string {
  return `{${createHash('sha256').update(slot).digest('base64url').slice(0, TAG_LENGTH)}}`
}

/** @throws Error where the prefix would change which part of a key is hashed to its slot. */
export function checkedPrefix(prefix: string): string {
  if (/^[^{}\s]*$/.test(prefix)) return prefix
  throw new Error(`a key prefix has no braces and no white space; this is ${JSON.stringify(prefix)}`)
}
