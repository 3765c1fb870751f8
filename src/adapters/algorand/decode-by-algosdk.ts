/** Computed once: decoding and encoding take 25 µs each. Only for transactions that do not change any more. */
import {
  type Address,
  decodeSignedTransaction,
  decodeUnsignedTransaction,
  encodeMsgpack,
  type SignedTransaction,
  type Transaction,
} from 'algosdk'
import { LRUCache } from 'lru-cache'
import { verifySignature } from '#platform'
import { encodeAddress } from './address.js'
import { endOfValue, mapHasKey } from './msgpack.js'
import { encoded, hashOf, signedBytes, UNSIGNED_HEAD } from './transaction-hashes.js'

/** Algorand's limits of a transaction are well below this, logic signatures included. */
export const TRANSACTION_BYTES_MAX = 16_384

/** A member of a group. `signed` is present where the member came in the wrapper of signatures, even an empty one. */
export interface GroupMember {
  readonly txn: Transaction
  readonly signed?: SignedTransaction
}

/** Decodes one transaction, wrapped or bare; `undefined` for other input. Never throws and never trusts a length prefix. */
export function decodeMember(bytes: Uint8Array): GroupMember | undefined {
  if (bytes.length === 0 || bytes.length > TRANSACTION_BYTES_MAX) return undefined
  try {
    if (endOfValue(bytes, 0) !== bytes.length) return undefined
    if (!mapHasKey(bytes, 'txn')) return { txn: decodeUnsignedTransaction(bytes) }
    const signed = decodeSignedTransaction(bytes)
    return { txn: signed.txn, signed }
  } catch {
    return undefined
  }
}

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

/** The canonical encoding of a member. A plain signature, or none, is put around the transaction's own bytes. */
export function encodedMember(signed: SignedTransaction): Uint8Array {
  return encodedWith(signed, encoded(signed.txn).bytes)
}

/** As {@link encodedMember}, for callers who have the signed bytes already. */
export function encodedWith(signed: SignedTransaction, signedText: Uint8Array): Uint8Array {
  const { sig, msig, lsig, pqsig, sgnr } = signed
  if (msig ?? lsig ?? pqsig ?? sgnr) return encodeMsgpack(signed)
  const bytes = signedText.subarray(2)
  // A signature of zeros is left out of the encoding.
  return sig?.some(byte => byte !== 0) ? signedBytes(bytes, sig) : Buffer.concat([UNSIGNED_HEAD, bytes])
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
