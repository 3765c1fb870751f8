/** What the effects work with: the ports, the seller's terms, and the timeouts. Nothing here belongs to one call. */
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Network } from '../../domain/network.js'
import type { Chain } from '../../ports/chain.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import type { Clock } from '../../ports/clock.js'
import type { CreditStore, CreditTerms } from '../../ports/credit.js'
import type { Facilitator } from '../../ports/facilitator.js'
import type { InputCheck } from '../../ports/input-validator.js'
import type { Logger } from '../../ports/logger.js'
import type { PaymentReader } from '../../ports/payment-reader.js'
import type { Random } from '../../ports/random.js'
import type { RateLimit } from '../../ports/rate-limit.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import type { Leases } from './leases.js'
import type { PendingCloses } from './pending-closes.js'
import type { Terms } from './terms.js'

export interface ChargeDeps {
  readonly network: Network
  readonly payTo: string
  /** Decimal id of USDC on our network. */
  readonly assetId: string
  readonly endpoints: ReadonlyMap<string, EndpointEntry>
  readonly facilitator: Facilitator
  readonly chain: Chain
  readonly store: ChargeStore
  readonly subscriptions: SubscriptionStore
  readonly rateLimit: RateLimit
  readonly credit: CreditStore
  readonly leases: Leases
  readonly pendingCloses: PendingCloses
  readonly reader: PaymentReader
  readonly clock: Clock
  readonly random: Random
  readonly stop: Stop
  readonly logger: Logger
  readonly rules: Rules
}

/** A checked endpoint with all that is computed once about it. */
export interface EndpointEntry {
  readonly def: EndpointDef
  readonly terms: Terms
  readonly check: InputCheck | undefined
  /** Length of the window that a payment buys; `undefined` where it buys one call. */
  readonly periodMs: number | undefined
  readonly rate: Rate | undefined
}

export interface Rate {
  readonly perMinute: number
  readonly per: 'payer' | 'ip'
  /** Sets the counts of an endpoint with a limit of its own apart from the others'. */
  readonly bucket: string
}

/** Told when calls begin and end, so that a server can drain. */
export interface InFlight {
  enter(): void
  leave(): void
}

/** Whether the process still takes calls, and whether it still lets them charge. */
export interface Stop {
  draining(): boolean
  /** Once true, no call may pass recording any more. */
  cutting(): boolean
  onCut(listener: () => void): () => void
}

export interface Rules {
  /** Let calls through that cannot be counted. */
  readonly uncountedAdmitted: boolean
  /** Whether callers' keys count, and what becomes of one whose answer was not handed over. */
  readonly idempotency: { readonly onLostResponse: 'release' | 'replay' } | undefined
  /** How long an answer is kept that may be asked for again. */
  readonly retentionMs: number
  /** The largest answer that is kept. */
  readonly answerBytesMax: number
  /** How many runs a payer may have that are not settled; `undefined` for any number. */
  readonly credit: CreditTerms | undefined
  /** Refuse payments in which no signed transaction can be read, instead of trusting the facilitator alone. */
  readonly requireReadable: boolean
  /** Look every settlement up on chain before delivering. */
  readonly confirmOnChain: boolean
  readonly timeouts: Timeouts
}

/** How long the steps of a call may take, in milliseconds. */
export interface Timeouts {
  /** Working out a price. @default 5000 */
  readonly priceMs: number
  /** A facilitator's word on a payment. @default 10000 */
  readonly verifyMs: number
  /** One attempt to settle. @default 20000 */
  readonly settleMs: number
  /** Settling and reconciling together: how long a caller waits for certainty. @default 45000 */
  readonly certaintyMs: number
  /** Pause before the same payment is settled again; doubled each time. @default 500 */
  readonly reconcilePauseMs: number
  /** How long a call without credit waits for some. @default 5000 */
  readonly creditMs: number
  /**
   * How long a call that stopped keeps its key and its payment before another call may take them over. Calls at work
   * renew it three times in that time. @default 15000
   */
  readonly leaseMs: number
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  priceMs: 5_000,
  verifyMs: 10_000,
  settleMs: 20_000,
  certaintyMs: 45_000,
  reconcilePauseMs: 500,
  creditMs: 5_000,
  leaseMs: 15_000,
}
