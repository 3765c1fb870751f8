/** Accounts by name. Their keys are the same in every episode: making one takes longer than a call. */

import { createHash } from 'node:crypto'
import { type SigningKey, signingKeyFromSeed } from '../../../src/parts.js'

const keys = new Map<string, SigningKey>()

export function keyOf(name: string): SigningKey {
  const known = keys.get(name)
  if (known) return known
  const key = signingKeyFromSeed(createHash('sha256').update(`simulation\n${name}`).digest())
  keys.set(name, key)
  return key
}
