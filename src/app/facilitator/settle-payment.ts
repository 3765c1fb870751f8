/**
 * Settles one payment that was checked. Only the call whose own submission the node took may say yes, and only once; each other
 * one is answered by the chain. A no that is final for a server (`simulation_failed` without a transaction) is said only where this
 * call submitted nothing and the node does not know the payment.
 */
import type { SignedTransaction } from 'algosdk'
import { LRUCache } from 'lru-cache'
import { awaitFate } from '../../adapters/algorand/facilitating/await-fate.js'
import {
  ALREADY_IN_LEDGER,
  type FacilitatorNode,
  type Fate,
} from '../../adapters/algorand/facilitating/facilitator-node.js'
import type { Clock } from '../../ports/clock.js'
import type { FeeBudget } from './fee-budget.js'

export type Settled =
  | { readonly outcome: 'settled' }
  /** It had landed before this call. */
  | { readonly outcome: 'already' }
  /** It is in the pool, or nobody knows. `earlier`: it was not this call that submitted it. */
  | { readonly outcome: 'pending'; readonly earlier: boolean; readonly words: string }
  /** Nothing was submitted, and the node knows nothing of it. */
  | { readonly outcome: 'refused'; readonly code: string; readonly words: string }
  /** No yes, and no proof of a no. */
  | { readonly outcome: 'failed'; readonly code: string; readonly words: string }

export interface Settlement {
  readonly txId: string
  readonly feeMicroAlgos: bigint
  /** Signs for the sponsor. Called after the fee is reserved. */
  readonly group: () => readonly SignedTransaction[]
}

export interface SettlingDeps {
  readonly node: FacilitatorNode
  readonly budget: FeeBudget
  readonly clock: Clock
}

/**
 * How long a settlement may take, but for the last question, which may take 4 s more. Our own server stops to wait after 20 s;
 * landing takes about 5.
 */
const SETTLE_MS = 12_000
const REMEMBERED_MAX = 100_000

export const BUDGET_EXHAUSTED = 'sponsor_budget_exhausted'

export function paymentSettler({ node, budget, clock }: SettlingDeps) {
  const inFlight = new Set<string>()
  /** `sent`: a submission that the node took, or that it may have taken. */
  const remembered = new LRUCache<string, 'sent' | 'settled'>({ max: REMEMBERED_MAX })

  async function attempt({ txId, feeMicroAlgos, group }: Settlement): Promise<Settled> {
    const untilMs = clock.monotonic() + SETTLE_MS
    if (remembered.get(txId) === 'settled') return { outcome: 'already' }
    if (!budget.reserve(txId, feeMicroAlgos)) {
      return {
        outcome: 'refused',
        code: BUDGET_EXHAUSTED,
        words: 'The sponsor has paid its fees of this day',
      }
    }
    const signed = group()
    const words = await node.simulate(signed).catch(error => {
      forget(txId)
      throw error
    })
    return words === undefined ? submit(txId, signed, untilMs) : notSimulated(txId, words)
  }

  /** Gives the fee back, unless an earlier call may have submitted the payment. */
  function forget(txId: string): void {
    if (!remembered.has(txId)) budget.giveBack(txId)
  }

  /** A node does not see its pool in a simulation, and says "txn dead" of what has landed. So it is asked for the payment itself. */
  async function notSimulated(txId: string, words: string): Promise<Settled> {
    const wasSent = remembered.has(txId)
    forget(txId)
    const fate = await fateOf(txId)
    if (fate?.is === 'landed') return { outcome: 'already' }
    if (fate?.is === 'pooled') return { outcome: 'pending', earlier: true, words: POOLED }
    if (fate?.is === 'dropped' && wasSent) return dropped(txId, fate.words)
    if (words.includes(ALREADY_IN_LEDGER)) return { outcome: 'failed', code: SETTLEMENT_FAILED, words }
    const isSure = fate !== undefined && !wasSent
    return { outcome: isSure ? 'refused' : 'failed', code: SIMULATION_FAILED, words }
  }

  async function submit(
    txId: string,
    signed: readonly SignedTransaction[],
    untilMs: number,
  ): Promise<Settled> {
    const wasSent = remembered.has(txId)
    remembered.set(txId, 'sent')
    const submission = await node.submit(signed)
    if (submission.said === 'accepted') return confirmed(txId, untilMs)
    if (submission.said === 'unclear') return { outcome: 'pending', earlier: false, words: submission.words }
    const { words } = submission
    if (!wasSent) {
      remembered.delete(txId)
      budget.giveBack(txId)
    }
    if (!words.includes(ALREADY_IN_LEDGER)) return { outcome: 'failed', code: SETTLEMENT_FAILED, words }
    const fate = await fateOf(txId)
    return fate?.is === 'landed'
      ? { outcome: 'already' }
      : { outcome: 'pending', earlier: true, words: POOLED }
  }

  async function confirmed(txId: string, untilMs: number): Promise<Settled> {
    const fate = await awaitFate(node, clock, txId, untilMs)
    if (fate?.is === 'dropped') return dropped(txId, fate.words)
    if (fate === undefined) return { outcome: 'pending', earlier: false, words: 'It has not landed yet' }
    remembered.set(txId, 'settled')
    return { outcome: 'settled' }
  }

  function dropped(txId: string, words: string): Settled {
    remembered.delete(txId)
    budget.giveBack(txId)
    return { outcome: 'failed', code: CONFIRMATION_FAILED, words }
  }

  /** `undefined` where the node does not say. */
  const fateOf = (txId: string): Promise<Fate | undefined> => node.fateOf(txId).catch(() => undefined)

  return {
    /** Whether this process knows that it was submitted, without asking anybody. */
    isSubmitted: (txId: string) => inFlight.has(txId) || remembered.get(txId) === 'settled',
    /** @throws SvcError `node_unavailable`: nothing was submitted by this call */
    async settle(settlement: Settlement): Promise<Settled> {
      const { txId } = settlement
      if (inFlight.has(txId)) return { outcome: 'pending', earlier: true, words: 'It is being settled' }
      inFlight.add(txId)
      try {
        return await attempt(settlement)
      } finally {
        inFlight.delete(txId)
      }
    },
  }
}

const POOLED = 'It was submitted before'
const SIMULATION_FAILED = 'invalid_exact_avm_simulation_failed'
const SETTLEMENT_FAILED = 'invalid_exact_avm_settlement_failed'
const CONFIRMATION_FAILED = 'invalid_exact_avm_confirmation_failed'
