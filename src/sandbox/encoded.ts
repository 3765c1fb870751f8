/**
 * A transaction's encoding and hashes, worked out once: encoding takes 25 µs, and between `/verify` and landing the same
 * transaction is looked at a dozen times. Only for transactions that nobody changes any more.
 */
import type { Transaction } from 'algosdk'
import { encodeBase32 } from '../adapters/algorand/base32.js'
import { bytesToSign, hashOf } from '../adapters/algorand/transaction.js'

export interface Encoded {
  /** What is signed. */
  readonly bytes: Buffer
  readonly txId: string
  /** The hash without the group's id, which is what that id is made of. */
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
