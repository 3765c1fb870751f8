/** Rules of the charge stores that the claim machine and the payment machine do not show. Memory and Redis use the same rules. */
import type { Drawing, EventOf, StateOf } from '../state-machine/transition-table.js'
import type { ClaimDrawing } from './claim.machine.js'
import type { PaymentDrawing, PaymentState } from './payment.machine.js'

type AnyEventOf<D extends Drawing> = { [S in StateOf<D>]: EventOf<D, S> }[StateOf<D>]

interface Closing {
  readonly claim: readonly AnyEventOf<ClaimDrawing>[]
  readonly payment: readonly AnyEventOf<PaymentDrawing>[]
}

/** What `open` returns about a payment to every call except its holder. */
export const VERDICT_FOR_OTHERS = {
  free: 'opened',
  held: 'inUse',
  lapsed: 'opened',
  settling: 'inUse',
  spent: 'spent',
} as const satisfies Record<PaymentState, string>

/** The record takes the first one that its state lists. A call that a window covered is `served`, and its payment is released. */
export const CLOSING_EVENTS = {
  complete: { claim: ['completed', 'served'], payment: ['completed', 'released'] },
  forfeit: { claim: ['forfeited'], payment: ['completed', 'released'] },
  release: { claim: ['released'], payment: ['released'] },
} as const satisfies Record<string, Closing>

/** Until then its holder may still record, if no other call has taken it. What is settling does not depend on its lease. */
export const LAPSED_KEPT_MS = 60_000

/** Of one payer or window. Newer answers drop the bytes of older ones; the claim stays, so its key is not charged again. */
export const KEPT_BYTES_MAX = 4_194_304
/** What a kept answer counts besides its bytes. */
export const KEPT_RECORD_BYTES = 1_024
