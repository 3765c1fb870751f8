/** Accounts by name. Their keys are the same in every episode: making one takes longer than a call. */

import { createHash } from 'node:crypto'
import { type SigningKey, signingKeyFromSeed } from '../../../src/simulation-parts.js'

const keys = new Map<string, SigningKey>()

export function keyOf(name: string): SigningKey {
  const known = keys.get(name)
  if (known) return known
  const key = signingKeyFromSeed(seedOf(name))
  keys.set(name, key)
  return key
}

/** As algosdk has it: the seed, and then the public key. */
export function secretKeyOf(name: string): Uint8Array {
  return Buffer.concat([seedOf(name), keyOf(name).publicKey])
}

function seedOf(name: string): Buffer {
  return createHash('sha256').update(`simulation\n${name}`).digest()
}
