/** Decodes the transactions of others, by algosdk. Loading it takes 0.1 s of CPU: not for what every program loads. */
import {
  decodeSignedTransaction,
  decodeUnsignedTransaction,
  type SignedTransaction,
  type Transaction,
} from 'algosdk'
import { endOfValue, mapHasKey } from './msgpack.js'

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
