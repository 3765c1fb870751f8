/** Which transactions and leases a chain has, and with a base, a pool on top of it. */
import type { Transaction } from 'algosdk'
import { encodeBase32 } from '../adapters/algorand/address.js'

export interface LandedIds {
  hasTransaction(txId: string): boolean
  /** Whether another transaction of the same sender holds the lease in this round. */
  holdsLease(txn: Transaction, round: bigint): boolean
  add(txId: string, txn: Transaction): void
}

export function landedIds(base?: LandedIds): LandedIds {
  const ids = new Set<string>()
  /** Until which round each is held. */
  const leases = new Map<string, bigint>()
  return {
    hasTransaction: txId => ids.has(txId) || (base?.hasTransaction(txId) ?? false),
    holdsLease(txn, round) {
      if (!txn.lease) return false
      const until = leases.get(leaseName(txn))
      return (until !== undefined && until >= round) || (base?.holdsLease(txn, round) ?? false)
    },
    add(txId, txn) {
      ids.add(txId)
      if (txn.lease) leases.set(leaseName(txn), txn.lastValid)
    },
  }
}

function leaseName({ sender, lease }: Transaction): string {
  return `${sender} ${encodeBase32(lease!)}`
}
