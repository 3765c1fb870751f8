/** Whether bytes are the canonical encoding of a transaction, and whether its signature is of a key. */
import type { SignedTransaction } from 'algosdk'
import { LRUCache } from 'lru-cache'
import { verifySignature } from '../signing-keys.js'
import { hashOf } from '../transaction-bytes.js'
import { encoded, encodedMember } from './encoded-transactions.js'

export function isCanonical(signed: SignedTransaction, bytes: Uint8Array): boolean {
  return Buffer.compare(encodedMember(signed), bytes) === 0
}

// A payment is checked three times: by verify, by settle, and when it is submitted.
const provenSignatures = new LRUCache<string, true>({ max: 10_000 })

export function isSignedBy(
  { txn, sig }: Pick<SignedTransaction, 'txn' | 'sig'>,
  publicKey: Uint8Array,
): boolean {
  if (!sig) return false
  const { bytes } = encoded(txn)
  const name = hashOf(Buffer.concat([publicKey, sig, bytes])).toString('latin1')
  if (provenSignatures.has(name)) return true
  const proven = verifySignature(publicKey, bytes, sig)
  if (proven) provenSignatures.set(name, true)
  return proven
}
