/** The limits on spending: a price per call, an amount per 24 hours. Money is reserved before anything is signed. */
import { SdkError, type SvcError } from '../../domain/errors.js'
import { formatUsd } from '../../domain/money.js'
import type { NetworkKey } from '../../domain/network.js'
import type { PaymentRequirements } from '../../domain/x402.js'
import type { SignedPayment } from '../../ports/payment-signer.js'
import type { Random } from '../../ports/random.js'
import { randomId } from '../../ports/random-id.js'
import type { SpendLedger } from '../../ports/spend-ledger.js'
import { unlessAborted } from '../../ports/timeouts-and-aborts.js'
import type { LateSettlements } from './late-settlements.js'

export interface Caps {
  readonly maxPrice?: bigint
  readonly maxPerDay?: bigint
}

export interface SpendingLimits {
  readonly spent: bigint
  /** `undefined` without a cap. */
  readonly remaining: bigint | undefined
  /**
   * Why the limits, as this process knows them, would refuse this payment. Reserves nothing.
   *
   * @throws SvcError `aborted`
   */
  refusalOf(accepted: PaymentRequirements, call?: LimitedCall): Promise<SvcError | undefined>
  /** @throws SvcError `price_above_max`, `daily_cap_reached`, `aborted` */
  reserve(accepted: PaymentRequirements, call?: LimitedCall): Promise<Reservation>
}

export interface LimitedCall {
  readonly signal?: AbortSignal
  /** Applies in addition to the client's own `maxPrice`. Base units. */
  readonly maxPrice?: bigint
}

export interface Reservation {
  /**
   * Call it before the payment leaves this process. From here on the amount stays counted until the chain proves that the
   * payment cannot land: a seller has the signed bytes, whatever it answers.
   *
   * @throws SvcError `reservation_lost`: the payment must not leave
   */
  attach(signed: SignedPayment): Promise<void>
  /** The payment was charged. It is not looked up any more. */
  spent(): Promise<void>
  /** No payment has left this process. */
  release(): Promise<void>
}

export interface SpendingLimitsOptions {
  readonly ledger: SpendLedger
  readonly network: NetworkKey
  readonly caps: Caps
  readonly late: LateSettlements
  readonly random: Random
}

export function spendingLimits({
  ledger,
  network,
  caps,
  late,
  random,
}: SpendingLimitsOptions): SpendingLimits {
  const { maxPerDay } = caps
  const fits = (amount: string) =>
    maxPerDay === undefined || ledger.spentBaseUnits + BigInt(amount) <= maxPerDay

  const settled = (signal: AbortSignal | undefined) =>
    unlessAborted(late.settle(), signal, 'The call was aborted; nothing was paid')

  function aboveMaxPrice(accepted: PaymentRequirements, ofCall?: bigint): SvcError | undefined {
    const amount = BigInt(accepted.amount)
    const broken = [caps.maxPrice, ofCall].find(maxPrice => maxPrice !== undefined && amount > maxPrice)
    if (broken === undefined) return undefined
    const why = `costs ${formatUsd(amount)}, the limit is ${formatUsd(broken)}`
    return refusal(why, 'price_above_max', accepted)
  }

  function beyondTheDay(accepted: PaymentRequirements): SvcError {
    const why = `costs ${formatUsd(BigInt(accepted.amount))}, which would exceed the ${formatUsd(maxPerDay ?? 0n)} for 24 hours`
    return refusal(why, 'daily_cap_reached', accepted)
  }

  return {
    get spent() {
      return ledger.spentBaseUnits
    },
    get remaining() {
      if (maxPerDay === undefined) return undefined
      const left = maxPerDay - ledger.spentBaseUnits
      return left > 0n ? left : 0n
    },
    async refusalOf(accepted, { signal, maxPrice } = {}) {
      const refused = aboveMaxPrice(accepted, maxPrice)
      if (refused || fits(accepted.amount)) return refused
      await settled(signal)
      return fits(accepted.amount) ? undefined : beyondTheDay(accepted)
    },
    async reserve(accepted, { signal, maxPrice } = {}) {
      const refused = aboveMaxPrice(accepted, maxPrice)
      if (refused) throw refused
      const spend = { id: randomId(random), amount: BigInt(accepted.amount) }
      const reserved = async () => {
        try {
          return await ledger.reserve(spend, maxPerDay)
        } catch (error) {
          // The ledger may have counted it all the same. Not awaited: the ledger is most likely down.
          void tolerated(() => ledger.release(spend.id))
          throw error
        }
      }
      if (!(await reserved())) {
        await settled(signal)
        if (!(await reserved())) throw beyondTheDay(accepted)
      }
      return reservation(ledger, network, spend.id)
    },
  }
}

function reservation(ledger: SpendLedger, network: NetworkKey, id: string): Reservation {
  const release = () => tolerated(() => ledger.release(id))
  return {
    async attach({ txId, firstValid, lastValid }) {
      try {
        if (await ledger.attach(id, { network, txId, firstValid, lastValid })) return
      } catch (error) {
        await release()
        throw error
      }
      throw new SdkError('The ledger no longer holds the reservation; nothing was paid', 'reservation_lost')
    },
    spent: () => tolerated(() => ledger.settle(id, 'spent')),
    release,
  }
}

/** Where the ledger fails, the reservation stays counted, which is safe. An answer that was paid for is not withheld. */
async function tolerated(move: () => unknown): Promise<void> {
  try {
    await move()
  } catch {}
}

function refusal(why: string, code: string, accepted: PaymentRequirements): SvcError {
  return new SdkError(`The call ${why}; nothing was paid`, code, 402, accepted)
}
