/**
 * The encoding and the hashes of a transaction, computed once: encoding takes 25 µs, and between `/verify` and landing the
 * same transaction is read a dozen times. Use it only for transactions that do not change any more.
 */
import type { Transaction } from 'algosdk'
import { encodeBase32 } from '../base32.js'
import { bytesToSign, hashOf, ungroupedHashOf } from '../transaction-bytes.js'

export interface Encoded {
  /** The bytes that are signed. */
  readonly bytes: Buffer
  readonly txId: string
  /** The hash of the transaction without its group's id. The group's id is made of these hashes. */
  readonly ungroupedHash: Buffer
}

const known = new WeakMap<Transaction, Encoded>()

export function encoded(txn: Transaction): Encoded {
  const before = known.get(txn)
  if (before) return before
  const bytes = bytesToSign(txn)
  const hash = hashOf(bytes)
  const now = { bytes, txId: encodeBase32(hash), ungroupedHash: ungroupedHashOf(bytes.subarray(2)) }
  known.set(txn, now)
  return now
}
