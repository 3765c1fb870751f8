/**
 * Settles one payment. Each call first asks what became of the payment, and submits only what is unknown, or what the pool dropped.
 * Only the call whose submission the node accepted may answer yes, once. All other calls report what the chain says.
 */
import type { SignedTransaction } from 'algosdk'
import { LRUCache } from 'lru-cache'
import { sharedQuestions } from '../domain/load-once.js'
import type { Clock } from '../ports/clock.js'
import type { Asker } from '../ports/facilitator.js'
import type { Logger } from '../ports/logger.js'
import { awaitFate, type FacilitatorNode, type Fate } from './facilitator-node.js'
import type { FeeBudget } from './fee-budget.js'
import type { CheckedGroup } from './official-group-checks.js'
import { addressOf } from './remembered-checks.js'
import {
  BUDGET_EXHAUSTED,
  CONFIRMATION_FAILED,
  SETTLEMENT_FAILED,
  type Settled,
  SIMULATION_FAILED,
  type Submitted,
  USED_UP,
} from './x402-answers.js'

export interface Objection {
  readonly code: string
  readonly words: string
}

export interface Settlement extends Pick<CheckedGroup, 'txId' | 'sponsored'> {
  readonly feeMicroAlgos: bigint
  /** The group without the sponsor's signature, where the node can check it so: it sees that signature when the group is submitted. */
  readonly withoutSponsor: readonly SignedTransaction[] | undefined
  readonly group: () => readonly SignedTransaction[]
  /** Why it can land in no later round. */
  readonly dead: string | undefined
}

export interface SettlingDeps {
  readonly node: FacilitatorNode
  readonly budget: FeeBudget
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * A settlement takes at most 12 s, plus up to 4 s for a last request to the node. Our own server stops to wait after 20 s; landing
 * takes about 5.
 */
const SETTLE_MS = 12_000
const SENT_MAX = 100_000
const GONE_MAX = 10_000

export function paymentSettler({ node, budget, clock, logger }: SettlingDeps) {
  /** Who asked for the settlements that are under way. */
  const underWay = new Map<string, string | undefined>()
  /** What was sent to the node, and who asked for it. It stays if the node refuses or drops it: other nodes may have it. */
  const sent = new LRUCache<string, { readonly by: string | undefined; readonly settled: boolean }>({
    // `max` would take the memory of all entries at once, and 20 ms.
    maxSize: SENT_MAX,
    sizeCalculation: () => 1,
  })

  /** @throws SvcError `node_unavailable` */
  const fateOf = async (txId: string): Promise<Fate> =>
    sent.get(txId)?.settled ? { is: 'landed' } : node.fateOf(txId)

  const askedFate = sharedQuestions<Fate>()
  /** Expired payments that the node does not know: they stay so. */
  const gone = new LRUCache<string, true>({ maxSize: GONE_MAX, sizeCalculation: () => 1 })

  async function attempt(settlement: Settlement, asker: Asker | undefined): Promise<Settled> {
    const { txId, feeMicroAlgos, group, dead } = settlement
    if (dead !== undefined) return no(settlement, asker, SIMULATION_FAILED, dead)
    const untilMs = clock.monotonic() + SETTLE_MS
    const simulation = begun(simulated(node, settlement))
    const before = submitted(await fateOf(txId))
    if (before) return { ...before, elsewhere: isElsewhere(settlement, asker) }
    const objection = await simulation
    if (objection) return no(settlement, asker, objection.code, objection.words)
    // Not sooner: who cannot pay must not hold a part of the day's fees.
    const wasReserved = budget.holds(txId)
    if (!budget.reserve(txId, feeMicroAlgos)) return no(settlement, asker, BUDGET_EXHAUSTED, USED_UP)
    sent.set(txId, { by: asker?.id, settled: false })
    const submission = await node.submit(group())
    if (submission.said === 'accepted') return confirmed(txId, asker, untilMs)
    if (submission.said === 'unclear') {
      logger.warn({ cause: submission.cause, txId }, 'the node did not say what became of a payment')
      return pending('The node did not say what became of it')
    }
    // A proxy may have submitted it twice, so this no may be the answer to the second time.
    const fate = await fateOf(txId).catch(() => undefined)
    const found = fate && submitted(fate)
    if (found) return { ...found, elsewhere: false }
    if (fate?.is === 'unknown' && !wasReserved) budget.giveBack(txId)
    return { outcome: 'failed', code: SETTLEMENT_FAILED, words: submission.words }
  }

  async function confirmed(txId: string, asker: Asker | undefined, untilMs: number): Promise<Settled> {
    const fate = await awaitFate(node, clock, txId, untilMs)
    if (fate === undefined) return pending('It has not landed yet')
    // Its fee stays counted: other nodes have the group with the sponsor's signature, and may land it until its last round.
    if (fate.is === 'dropped') return { outcome: 'failed', code: CONFIRMATION_FAILED, words: fate.words }
    sent.set(txId, { by: asker?.id, settled: true })
    return { outcome: 'settled' }
  }

  /** Each no before a submission. It is final only for a payment that this process never sent and the node does not know. */
  async function no(asked: Known, asker: Asker | undefined, code: string, words: string): Promise<Settled> {
    const fate = await fateOf(asked.txId)
    const found = submitted(fate)
    if (found) return { ...found, elsewhere: isElsewhere(asked, asker) }
    const isFinal = fate.is === 'unknown' && !sent.has(asked.txId)
    return { outcome: isFinal ? 'refused' : 'failed', code, words }
  }

  /**
   * Whether another server had this payment submitted. Call it only before this call has submitted the payment. A wrong yes
   * would lose an answer that was paid for; a wrong no only delivers twice.
   */
  function isElsewhere({ txId, withoutSponsor }: Known, asker: Asker | undefined): boolean {
    if (asker === undefined) return false
    const by = sent.get(txId)?.by
    if (by !== undefined) return by !== asker.id
    // Another process of the sponsor: nobody else has had the sponsor's signature. It may have been asked for another seller's payment.
    const transfers = withoutSponsor?.filter(({ txn }) => txn.assetTransfer?.amount)
    return asker.inProcess && transfers?.length === 1
  }

  return {
    /**
     * Whether it has landed or may land.
     *
     * @param isDead it can land in no later round
     * @throws SvcError `node_unavailable`
     */
    async isSubmitted(txId: string, isDead: boolean): Promise<boolean> {
      if (underWay.has(txId)) return true
      if (isDead && gone.has(txId)) return false
      const fate = await askedFate(() => fateOf(txId), txId)
      const isSubmitted = submitted(fate) !== undefined
      if (isDead && !isSubmitted) gone.set(txId, true)
      return isSubmitted
    },
    /** @throws SvcError `node_unavailable`: nothing was submitted by this call */
    async settle(settlement: Settlement, asker?: Asker): Promise<Settled> {
      const { txId } = settlement
      if (underWay.has(txId)) {
        const by = underWay.get(txId)
        const isOther = asker !== undefined && by !== undefined && by !== asker.id
        return pending('It is being settled', isOther)
      }
      underWay.set(txId, asker?.id)
      try {
        return await attempt(settlement, asker)
      } finally {
        underWay.delete(txId)
      }
    },
    /** Of a payment that failed a check. @throws SvcError `node_unavailable` */
    async refuse(txId: string | undefined, code: string, words: string): Promise<Settled> {
      if (txId === undefined) return { outcome: 'refused', code, words }
      if (underWay.has(txId)) return pending('It is being settled')
      return no({ txId, withoutSponsor: undefined }, undefined, code, words)
    },
  }
}

/** What the node has against a group. A sponsor that is short of ALGO is no fault of the payment. */
export async function simulated(
  node: Pick<FacilitatorNode, 'simulate'>,
  { withoutSponsor, group, sponsored }: Pick<Settlement, 'withoutSponsor' | 'group' | 'sponsored'>,
): Promise<Objection | undefined> {
  const words = await (withoutSponsor ? node.simulate(withoutSponsor, 'unsignedToo') : node.simulate(group()))
  if (words === undefined) return undefined
  const isShort = sponsored !== undefined && words.includes(`account ${addressOf(sponsored.txn.sender)}`)
  return { code: isShort ? BUDGET_EXHAUSTED : SIMULATION_FAILED, words }
}

/** Starts a question early. If nobody reads its answer, its failure is ignored. */
export function begun<T>(question: Promise<T>): Promise<T> {
  question.catch(() => {})
  return question
}

type Known = Pick<Settlement, 'txId' | 'withoutSponsor'>

function submitted({ is }: Fate): Submitted | undefined {
  if (is === 'landed') return { outcome: 'landed' }
  return is === 'pooled' ? { outcome: 'pending', words: 'It was submitted before' } : undefined
}

function pending(words: string, elsewhere = false): Settled {
  return { outcome: 'pending', words, elsewhere }
}
