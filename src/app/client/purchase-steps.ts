/** What a purchase takes from its surroundings, and what each of its steps hands to the next. */
import type { NetworkFacts } from '../../domain/network.js'
import type { Clock } from '../../ports/clock.js'
import type { PaymentSigner, SignedPayment } from '../../ports/payment-signer.js'
import type { Random } from '../../ports/random.js'
import type { HttpRequest } from './build-request.js'
import type { Charged } from './charge-evidence.js'
import type { SelectedRequirements, Wanted } from './read-quote.js'
import type { ReceiptBook } from './receipts.js'
import type { Warning } from './result-types.js'
import type { Delivery, SentPayment } from './send-with-retries.js'
import type { ActiveSubscription } from './sold-key.js'
import type { Reservation, SpendingLimits } from './spending-limits.js'
import type { Moment } from './subscription-keys.js'

export interface PurchaseDeps {
  readonly network: NetworkFacts
  readonly signer: PaymentSigner
  readonly limits: SpendingLimits
  readonly receipts: ReceiptBook
  readonly strictResource: boolean
  readonly clock: Clock
  readonly random: Random
  /** How long a signer may take to prove who paid. */
  readonly timeoutMs: number
  /** @default 'call' */
  readonly wanted?: Wanted
  deliver(request: HttpRequest, payment: SentPayment): Promise<Delivery>
  /** Whether the node knows a transaction as landed. False proves nothing. */
  landed(txId: string): Promise<boolean>
  /** Keeps the key of a window that was bought. */
  hold?(request: HttpRequest, sent: SentOnce): Bought
}

/** What a payment bought beside the answer, by the answer's head. */
export interface Bought {
  readonly subscription?: ActiveSubscription
  readonly warnings: readonly Warning[]
}

/** A payment that is counted and signed, and that has not left this process. */
export interface ReadyPayment {
  readonly selected: SelectedRequirements
  readonly signed: SignedPayment
  readonly reservation: Reservation
  readonly landsUntilMs: number
  readonly begun: Moment
}

export interface SentOnce extends ReadyPayment {
  readonly delivery: Delivery
  /** The answer had been lost, and the seller gave it to the proven payer of this payment. */
  readonly isProven: boolean
  readonly charged: Charged
}
