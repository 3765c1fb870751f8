import {
  decodeSignedTransaction,
  decodeUnsignedTransaction,
  encodeMsgpack,
  type SignedTransaction,
  type Transaction,
} from 'algosdk'
import { aroundEntry, endOfValue } from './msgpack.js'
import { encoded, signedBytes, UNSIGNED_HEAD } from './transaction-hashes.js'

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
    if (!aroundEntry(bytes, 'txn')) return { txn: decodeUnsignedTransaction(bytes) }
    const signed = decodeSignedTransaction(bytes)
    return { txn: signed.txn, signed }
  } catch {
    return undefined
  }
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
