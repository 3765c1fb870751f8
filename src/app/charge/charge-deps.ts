/** What the effects use: the ports, the seller's terms, and the timeouts. Nothing here belongs to one call. */
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Answer } from '../../domain/handler.js'
import type { NetworkFacts } from '../../domain/network.js'
import type { Method } from '../../domain/path-pattern.js'
import type { Chain } from '../../ports/chain.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import type { Clock } from '../../ports/clock.js'
import type { Counters, CounterTerms } from '../../ports/counters.js'
import type { Facilitator } from '../../ports/facilitator.js'
import type { InputCheck } from '../../ports/input-validator.js'
import type { Logger } from '../../ports/logger.js'
import type { PaymentReader } from '../../ports/payment-reader.js'
import type { Random } from '../../ports/random.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import type { Leases } from './leases.js'
import type { PaymentsInDoubt } from './look-up-payments-in-doubt.js'
import type { Terms } from './payment-challenge.js'
import type { PendingCloses, PendingWindowMoves } from './resend-lost-moves.js'

export interface ChargeDeps {
  /** Who sells, and whose records these are. */
  readonly owner: Owner
  readonly endpoints: ReadonlyMap<string, EndpointEntry>
  readonly facilitator: Facilitator
  readonly chain: Chain
  readonly store: ChargeStore
  readonly subscriptions: SubscriptionStore
  readonly rateLimit: Counters
  readonly credit: Counters
  readonly upkeep: Upkeep
  /** The reader of payments, which is loaded for the first of them. A call whose reader cannot be loaded goes no further. */
  readonly reader: () => Promise<PaymentReader>
  readonly clock: Clock
  readonly random: Random
  readonly stop: Stop
  readonly logger: Logger
  readonly rules: Rules
}

/** One agent of one seller on one network, and the names by which stores keep what is theirs. */
export interface Owner {
  readonly network: NetworkFacts
  readonly payTo: string
  /** Names all agents of the seller. */
  readonly seller: string
  /** Names this one. */
  readonly agent: string
}

/** What goes on in the background, while calls work and after they ended. */
export interface Upkeep {
  readonly leases: Leases
  readonly inDoubt: PaymentsInDoubt
  readonly pendingCloses: PendingCloses
  readonly pendingWindowMoves: PendingWindowMoves
}

/** A checked endpoint, with all values that are computed once for it. */
export interface EndpointEntry {
  readonly def: EndpointDef
  /** Part of the name of each record that it owns. */
  readonly owner: string
  /** Its first name, which its windows bear. */
  readonly soldAs: string
  readonly terms: Terms
  readonly check: InputCheck | undefined
  /** As it is quoted by each of its methods: a quote says how it is called. */
  readonly byMethod?: ReadonlyMap<Method, EndpointEntry>
  /** Inputs that its schema may accept, for a probe whose price is a function. */
  readonly examples: () => Iterable<unknown>
  /** Warns of an answer that its schema does not describe; `undefined` in production. It never throws. */
  readonly checkAnswer?: ((answer: Answer) => void) | undefined
  /** Whether a balance of the agent may pay for its calls. */
  readonly takesBalance: boolean
  /** Length of the window or the balance that a payment buys; `undefined` where it buys one call. */
  readonly periodMs: number | undefined
  readonly rate: Rate | undefined
}

export interface Rate {
  readonly terms: CounterTerms
  readonly per: 'payer' | 'ip'
  /** Whose counts they are: the agent's, or those of an endpoint that has a limit of its own. */
  readonly bucket: string
}

/** Learns when calls begin and end, so that a server can drain. */
export interface InFlight {
  enter(): void
  leave(): void
}

/** Whether the process still accepts calls, and whether it still lets them charge. */
export interface Stop {
  draining(): boolean
  /** Once true, no call may pass recording any more. */
  cutting(): boolean
  onCut(listener: () => void): () => void
}

export interface Rules {
  /** Admit calls that cannot be counted. */
  readonly uncountedAdmitted: boolean
  /** Whether idempotency keys count, what happens to a key whose answer was not delivered, and whether payments need one. */
  readonly idempotency:
    | { readonly onLostResponse: 'release' | 'replay'; readonly required?: boolean }
    | undefined
  /** How long an answer is kept for the key of its call. */
  readonly retentionMs: number
  /** How long an answer without a key is kept for its payer; 0 for not at all. */
  readonly keepAnswersMs: number
  /** Secrets of the seller under which kept answers are sealed besides: the first seals, all open. */
  readonly sealSecrets: readonly string[]
  /** The agent's own address, with which proofs are compared; `undefined`: the address under which the caller asks. */
  readonly publicUrl?: string | undefined
  /** The largest answer that is kept. */
  readonly answerBytesMax: number
  /** How many unsettled runs a payer may have; `undefined` for any number. */
  readonly credit: CounterTerms | undefined
  /** Refuse payments in which no signed transaction can be read, instead of relying on the facilitator alone. */
  readonly requireReadable: boolean
  /** Look every settlement up on chain before delivering. */
  readonly confirmOnChain: boolean
  /** Ended calls carry what their handlers threw and logged. */
  readonly keepsMessages: boolean
  readonly timeouts: Timeouts
}

/** How long the steps of a call may take, in milliseconds. */
export interface Timeouts {
  /** Checking an input, where a library's schema answers later. @default 5000 */
  readonly inputMs: number
  /** Computing a price. @default 5000 */
  readonly priceMs: number
  /** The facilitator's verification of a payment. @default 10000 */
  readonly verifyMs: number
  /** One attempt to settle. @default 20000 */
  readonly settleMs: number
  /** Settling and reconciling together: how long a caller waits until the payment's outcome is certain. @default 45000 */
  readonly certaintyMs: number
  /** Pause before the same payment is settled again. Each further pause is twice as long. @default 500 */
  readonly reconcilePauseMs: number
  /** How long a call waits for credit where its payer has none. @default 5000 */
  readonly creditMs: number
  /**
   * How long a call that stopped keeps its key and its payment before another call may take them over. A running call
   * renews them three times in that time.
   *
   * @default 15000
   */
  readonly leaseMs: number
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  inputMs: 5_000,
  priceMs: 5_000,
  verifyMs: 10_000,
  settleMs: 20_000,
  certaintyMs: 45_000,
  reconcilePauseMs: 500,
  creditMs: 5_000,
  leaseMs: 15_000,
}
