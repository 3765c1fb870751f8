/**
 * The encoding and the hashes of a transaction, computed once: encoding takes 25 µs, and between `/verify` and landing the
 * same transaction is read a dozen times. Use it only for transactions that do not change any more.
 */
import type { Transaction } from 'algosdk'
import { encodeBase32 } from '../adapters/algorand/base32.js'
import { bytesToSign, hashOf } from '../adapters/algorand/transaction-bytes.js'

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
  const now = { bytes, txId: encodeBase32(hash), ungroupedHash: txn.group ? ungroupedHash(txn) : hash }
  known.set(txn, now)
  return now
}

function ungroupedHash(txn: Transaction): Buffer {
  const { group } = txn
  txn.group = undefined
  try {
    return hashOf(bytesToSign(txn))
  } finally {
    txn.group = group
  }
}
