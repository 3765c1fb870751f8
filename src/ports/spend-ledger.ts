import type { Network } from '../domain/network.js'

/**
 * What a payer has spent in the last 24 hours, counted before it is spent.
 *
 * `reserve` decides and counts in one move: of two calls that fit under the cap only one at a time, one is refused. That
 * forbids reading the sum and writing it back.
 *
 * A reservation is in one of two states. *Reserved*: no payment has left the process, and `release` ends it. *Open*: a
 * payment was attached, because it is about to be handed over; from then on only `settle` ends it. The ledger holds what
 * the chain has to be asked, so that any later process can settle the reservations of one that has ended. A reservation
 * that is never ended counts for 24 hours; an open one for an hour longer, because its payment may land until then.
 *
 * Each move is atomic, and idempotent for its reservation: several processes may settle the same one. Processes with one
 * budget share one implementation; a ledger that rejects is down, and nothing is paid.
 */
export interface SpendLedger {
  /** Counts the spend, unless the sum would then exceed `capBaseUnits`; whether it was counted. */
  reserve(spend: Spend, capBaseUnits: bigint | undefined): boolean | Promise<boolean>

  /**
   * Names the payment that is about to be handed over. False where the reservation is gone, or has another payment
   * already: then the payment must not leave the process.
   */
  attach(id: string, payment: SpendPayment): boolean | Promise<boolean>

  /** No payment was handed over: the reservation no longer counts. Does nothing to an open one. */
  release(id: string): void | Promise<void>

  /** Open reservations of the network that are due before `round`, first due first, at most `max`. One is due at its `lastValid`. */
  due(network: Network, round: bigint, max: number): readonly OpenSpend[] | Promise<readonly OpenSpend[]>

  /** The chain did not say what became of an open reservation: it is due at `round`, behind those that were not asked about. */
  postpone(id: string, round: bigint): void | Promise<void>

  /**
   * Ends an open reservation. `spent`: the payment landed, or the seller delivered for it; it counts for 24 hours more.
   * `dead`: the chain proves that it cannot land; it no longer counts. Does nothing to one that is not open.
   */
  settle(id: string, end: SpendEnd): void | Promise<void>

  /** The sum that counts now, as far as this process knows without asking anybody; for display. */
  readonly spentBaseUnits: bigint
}

/** One payment, as a ledger counts it. */
export interface Spend {
  /** Unique per reservation. */
  readonly id: string
  /** Base units of USDC. */
  readonly amount: bigint
}

/** What a chain has to be asked to learn what became of a payment. */
export interface SpendPayment {
  /** Rounds of one network say nothing about another's. */
  readonly network: Network
  /** Its transaction id. */
  readonly txId: string
  /** The first round it can land in. */
  readonly firstValid: bigint
  /** The last one. */
  readonly lastValid: bigint
}

/** A reservation whose payment was handed over. */
export interface OpenSpend extends Spend {
  /** What was handed over. */
  readonly payment: SpendPayment
}

/** How an open reservation ends. */
export type SpendEnd = 'spent' | 'dead'

/**
 * How long a payment can land after it was signed: Algorand's 1,000 rounds are 47 minutes. An open reservation counts for
 * this long and 24 hours more, so that a payment that lands at the last moment counts for the 24 hours after that.
 */
export const PAYMENT_LIFE_MAX_MS = 3_600_000
