/** What a server takes from its machine and from the network. A simulation has to replace all of it. */

import { exchangeTo } from '#platform'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { MakeExchange } from '../../ports/exchange.js'
import type { PaymentReader } from '../../ports/payment-reader.js'
import { type Random, systemRandom } from '../../ports/random.js'
import { whenUsed } from '../../ports/when-used.js'

export interface PlatformServices {
  readonly clock: Clock
  readonly random: Random
  /** How facilitators, nodes and indexers are reached. */
  readonly exchange: MakeExchange
  /** Loads what reads payments. */
  readonly paymentReader: () => Promise<PaymentReader>
}

export function platformServices({
  clock,
}: {
  readonly clock?: Partial<Clock> | undefined
}): PlatformServices {
  return {
    clock: bound({ ...systemClock, ...clock }),
    random: systemRandom,
    exchange: exchangeTo,
    paymentReader: whenUsed(async () => {
      const { algorandPaymentReader } = await import('../../adapters/algorand/read-payment.js')
      return algorandPaymentReader()
    }),
  }
}

/** Binds the functions: they are passed on separately, and a seller's functions may need their own clock as `this`. */
function bound(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (ms, callback) => clock.after(ms, callback),
  }
}
