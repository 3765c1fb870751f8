import type { RecordedPayment } from '../domain/charge-store/moves.js'
import type { NetworkKey } from '../domain/network.js'

/**
 * Counts what a payer has spent in the last 24 hours, before the payer spends it.
 *
 * `reserve` decides and counts in one move: if only one of two calls fits under the cap, one is refused. This forbids
 * reading the sum and then writing it back.
 *
 * A reservation is in one of two states. *Reserved*: no payment has left the process, and `release` ends the
 * reservation. *Open*: a payment was attached, because it is about to be sent; from then on only `settle` ends it.
 * The ledger holds the facts that a chain look-up needs, so that any later process can settle the reservations of a
 * process that has ended. A reservation that is never ended counts for 24 hours. An open one counts for an hour
 * longer, because its payment may land until then.
 *
 * Each move is atomic, and idempotent for its reservation: several processes may settle the same one. Processes with
 * one budget share one implementation. A ledger that rejects is down, and nothing is paid.
 *
 * The networks of a budget are counted together: play money takes room from real money, and never gives any.
 */
export interface SpendLedger {
  /** Counts the spend, unless the sum would then exceed `capBaseUnits`. Returns whether it was counted. */
  reserve(spend: Spend, capBaseUnits: bigint | undefined): boolean | Promise<boolean>

  /**
   * Attaches the payment that is about to be sent. Returns false where the reservation is gone, or has another
   * payment already: then the payment must not leave the process.
   */
  attach(id: string, payment: SpendPayment): boolean | Promise<boolean>

  /** Ends a reservation whose payment was not sent: it no longer counts. Does nothing to an open one. */
  release(id: string): void | Promise<void>

  /**
   * Open reservations of the network that are due before `round`, first due first, at most `max`. A reservation is
   * first due at its payment's `lastValid`.
   */
  due(network: NetworkKey, round: bigint, max: number): readonly OpenSpend[] | Promise<readonly OpenSpend[]>

  /**
   * Called when the chain did not report an open reservation's payment: the reservation is due again at `round`,
   * after those that were not looked up yet.
   */
  postpone(id: string, round: bigint): void | Promise<void>

  /**
   * Ends an open reservation, so that it is not due any more. `spent`: the chain has the payment; it counts for 24 hours
   * more. `claimed`: its seller says so, and may submit it as late as its last round; it counts for as long as if it stayed
   * open. `dead`: the chain proves that it cannot land; it no longer counts. Does nothing to one that is not open.
   */
  settle(id: string, end: SpendEnd): void | Promise<void>

  /**
   * The balances that were bought with this budget, as one text, `''` at first. With `change`, the text is replaced in one move if it
   * still is `before`. Returns what it is then. It holds the keys of the balances, and is never forgotten. Without this move, each client keeps
   * its balances to itself, and loses them when its process ends.
   */
  balances?(change?: BalancesChange): string | Promise<string>

  /** The sum that counts now, as far as this process knows without a request; for display. */
  readonly spentBaseUnits: bigint
}

/** A change of the balances of a budget. */
export interface BalancesChange {
  readonly before: string
  readonly after: string
}

/** One payment, as a ledger counts it. */
export interface Spend {
  /** Unique per reservation. */
  readonly id: string
  /** Base units of USDC. */
  readonly amount: bigint
}

/** The facts that the chain needs to report a payment's outcome. */
export interface SpendPayment extends RecordedPayment {
  /** The network whose rounds these are. */
  readonly network: NetworkKey
}

/** A reservation whose payment was sent. */
export interface OpenSpend extends Spend {
  /** The payment that was sent. */
  readonly payment: SpendPayment
}

/** How an open reservation ends. */
export type SpendEnd = 'spent' | 'claimed' | 'dead'

/**
 * How long a payment can land after it was signed: Algorand's 1,000 rounds are 47 minutes. An open reservation counts for
 * this long and 24 hours more, so that a payment that lands at the last moment counts for the 24 hours after that.
 */
export const PAYMENT_LIFE_MAX_MS = 3_600_000
