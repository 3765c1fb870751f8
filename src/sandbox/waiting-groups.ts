/** A node's pool: groups that were accepted and have not landed. Each sees what the ones before it did. */
import type { SignedTransaction } from 'algosdk'
import { encoded } from '../adapters/algorand/encoded-transactions.js'
import { type Account, Draft } from './account-balances.js'
import { type LandedIds, landedIds } from './landed-ids.js'

export interface Dropped {
  readonly signed: SignedTransaction
  readonly error: string
}

export interface WaitingGroups {
  /** A draft over all that waits. */
  draft(): Draft
  ids(): LandedIds
  add(group: readonly SignedTransaction[], draft: Draft): void
  list(): readonly SignedTransaction[]
  find(txId: string): SignedTransaction | undefined
  isEmpty(): boolean
  /** All groups, in order. The pool is empty afterwards. */
  take(): readonly (readonly SignedTransaction[])[]
}

export function waitingGroups(
  accounts: Pick<ReadonlyMap<string, Account>, 'get'>,
  landed: LandedIds,
): WaitingGroups {
  let groups: (readonly SignedTransaction[])[] = []
  let waiting = new Map<string, SignedTransaction>()
  let together = new Draft(accounts)
  let ids = landedIds(landed)
  return {
    draft: () => new Draft(together),
    ids: () => landedIds(ids),
    add(group, draft) {
      groups.push(group)
      draft.commit(together)
      for (const signed of group) {
        const { txId } = encoded(signed.txn)
        waiting.set(txId, signed)
        ids.add(txId, signed.txn)
      }
    },
    list: () => [...waiting.values()],
    find: txId => waiting.get(txId),
    isEmpty: () => groups.length === 0,
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
