/**
 * Payments that a seller had in hands and said it did not take. The signed bytes can still be submitted, by whoever
 * holds them, until their last valid round: until then they are looked up, and one that landed is counted again.
 */
import type { Algod } from '../../adapters/algorand/algod.js'
import type { SignedPayment } from '../../ports/payment-signer.js'
import type { Spend, SpendLedger } from '../../ports/spend.js'

export interface Disowned {
  /** No more can be watched; whatever comes on top must stay counted. */
  readonly full: boolean
  /** `landed` is called where it landed after all, once. */
  watch(spend: Spend, payment: SignedPayment, landed?: () => void): void
  /** Looks every watched payment up. A node that does not answer changes nothing. */
  look(): Promise<void>
}

type Node = Pick<Algod, 'lastRound' | 'confirmedRound'>

interface Watched {
  readonly spend: Spend
  readonly lastValid: bigint
  readonly landed?: () => void
}

const WATCHED_MAX = 256
const LOOK_EVERY_MS = 5_000

export function disownedPayments(ledger: SpendLedger, node: Node): Disowned {
  const watched = new Map<string, Watched>()
  let timer: ReturnType<typeof setInterval> | undefined
  let looking: Promise<void> | undefined

  async function lookAt(txId: string, round: bigint): Promise<void> {
    const { spend, lastValid, landed } = watched.get(txId)!
    const hasLanded = (await node.confirmedRound(txId)) !== undefined
    if (!hasLanded && round <= lastValid) return
    if (hasLanded) await ledger.commit(spend)
    watched.delete(txId)
    if (hasLanded) landed?.()
  }

  async function lookAtAll(): Promise<void> {
    // The round is read first: a payment that is not found after its last round was passed will never be.
    const round = await node.lastRound().catch(() => undefined)
    if (round !== undefined) await Promise.allSettled([...watched.keys()].map(txId => lookAt(txId, round)))
    if (watched.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  async function look(): Promise<void> {
    if (watched.size === 0) return
    looking ??= lookAtAll().finally(() => {
      looking = undefined
    })
    await looking
  }

  return {
    get full() {
      return watched.size >= WATCHED_MAX
    },
    watch(spend, { txId, lastValid }, landed) {
      watched.set(txId, { spend, lastValid, landed })
      timer ??= setInterval(() => void look(), LOOK_EVERY_MS)
      // A browser's timer is a number, and keeps nothing alive.
      timer.unref?.()
    },
    look,
  }
}
