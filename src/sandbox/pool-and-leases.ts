/** A node's pool: groups that were accepted and have not landed. Each sees what the ones before it did. */
import type { SignedTransaction, Transaction } from 'algosdk'
import { encodeBase32 } from '../adapters/algorand/address.js'
import { encoded } from '../adapters/algorand/transaction-hashes.js'
import { type Account, Draft } from './draft-accounts.js'

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

export interface Dropped {
  readonly signed: SignedTransaction
  readonly error: string
}

export function waitingGroups(accounts: Pick<ReadonlyMap<string, Account>, 'get'>, landed: LandedIds) {
  let groups: (readonly SignedTransaction[])[] = []
  let waiting = new Map<string, SignedTransaction>()
  let together = new Draft(accounts)
  let ids = landedIds(landed)
  return {
    draft: () => new Draft(together),
    ids: () => landedIds(ids),
    add(group: readonly SignedTransaction[], draft: Draft) {
      groups.push(group)
      draft.commit(together)
      for (const signed of group) {
        const { txId } = encoded(signed.txn)
        waiting.set(txId, signed)
        ids.add(txId, signed.txn)
      }
    },
    list: (): readonly SignedTransaction[] => [...waiting.values()],
    find: (txId: string) => waiting.get(txId),
    isEmpty: () => groups.length === 0,
    /** All groups, in order. The pool is empty afterwards. */
    take() {
      const taken = groups
      groups = []
      waiting = new Map()
      together = new Draft(accounts)
      ids = landedIds(landed)
      return taken
    },
  }
}
