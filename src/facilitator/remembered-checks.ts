/**
 * Decoding, encoding and proving take 25 µs and more each, and a payment is checked three times: by verify, by settle, and when it is
 * submitted. So each is done once. Only for transactions that do not change any more.
 */
import type { Address, SignedTransaction } from 'algosdk'
import { LRUCache } from 'lru-cache'
import { verifySignature } from '#platform'
import { encodeAddress } from '../adapters/algorand/address.js'
import { decodeMember, encodedMember, type GroupMember } from '../adapters/algorand/decode-by-algosdk.js'
import { encoded, hashOf } from '../adapters/algorand/transaction-hashes.js'

/** The length of the Base64 texts that are remembered: some 500 payments between `/verify` and `/settle`. */
const REMEMBERED_TEXT_MAX = 524_288

const decoded = new LRUCache<string, GroupMember>({ maxSize: REMEMBERED_TEXT_MAX })

/** A member of a group, from Base64; `undefined` for other input. The same text gives the same object. */
export function decodedMember(text: string): GroupMember | undefined {
  const before = decoded.get(text)
  if (before) return before
  const now = decodeMember(Buffer.from(text, 'base64'))
  if (now) decoded.set(text, now, { size: text.length })
  return now
}

const addresses = new WeakMap<Address, string>()

export function addressOf(address: Address): string {
  const before = addresses.get(address)
  if (before !== undefined) return before
  const now = encodeAddress(address.publicKey)
  addresses.set(address, now)
  return now
}

export function isCanonical(signed: SignedTransaction, bytes: Uint8Array): boolean {
  return Buffer.compare(encodedMember(signed), bytes) === 0
}

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
