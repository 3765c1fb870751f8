/** What this client may spend: a price per call, an amount per 24 hours. Money is set aside before anything is signed. */
import { SdkError, type SvcError } from '../../domain/errors.js'
import { formatUsd } from '../../domain/money.js'
import { randomId } from '../../domain/random-id.js'
import type { PaymentRequirements } from '../../domain/x402.js'
import type { SignedPayment } from '../../ports/payment-signer.js'
import type { Spend, SpendLedger } from '../../ports/spend.js'
import type { Disowned } from './disowned.js'

export interface Caps {
  readonly maxPrice?: bigint
  readonly maxPerDay?: bigint
}

export interface Purse {
  readonly spent: bigint
  /** `undefined` without a cap. */
  readonly remaining: bigint | undefined
  /** Why this would not be paid, by the limits as this process knows them; nothing is set aside. */
  refusalOf(accepted: PaymentRequirements): SvcError | undefined
  /** @throws SvcError `price_above_max`, `daily_cap_reached` */
  reserve(accepted: PaymentRequirements): Promise<Reservation>
}

/** Ends once, one way or the other. */
export interface Reservation {
  /** Spent, or possibly so. */
  keep(): Promise<void>
  /** Not spent. `sent` is the signed payment, where it has left this process; `landed` hears if it lands nevertheless. */
  giveBack(sent?: SignedPayment, landed?: () => void): Promise<void>
}

export function purse(ledger: SpendLedger, caps: Caps, disowned: Disowned): Purse {
  const { maxPrice, maxPerDay } = caps

  function aboveMaxPrice(accepted: PaymentRequirements): SvcError | undefined {
    const amount = BigInt(accepted.amount)
    if (maxPrice === undefined || amount <= maxPrice) return undefined
    const why = `costs ${formatUsd(amount)}, the limit is ${formatUsd(maxPrice)}`
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
    refusalOf(accepted) {
      const fits = maxPerDay === undefined || ledger.spentBaseUnits + BigInt(accepted.amount) <= maxPerDay
      return aboveMaxPrice(accepted) ?? (fits ? undefined : beyondTheDay(accepted))
    },
    async reserve(accepted) {
      const refused = aboveMaxPrice(accepted)
      if (refused) throw refused
      await disowned.look()
      const spend = { id: randomId(), amount: BigInt(accepted.amount) }
      if (!(await ledger.reserve(spend, maxPerDay))) throw beyondTheDay(accepted)
      return reservation(ledger, disowned, spend)
    },
  }
}

/** A ledger that fails now leaves the reservation counted, which is safe; the answer that was paid for is not withheld. */
function reservation(ledger: SpendLedger, disowned: Disowned, spend: Spend): Reservation {
  const tolerated = async (move: () => unknown): Promise<void> => {
    try {
      await move()
    } catch {}
  }
  const keep = () => tolerated(() => ledger.commit(spend))
  return {
    keep,
    async giveBack(sent, landed) {
      if (sent && disowned.full) return keep()
      await tolerated(() => ledger.release(spend))
      if (sent) disowned.watch(spend, sent, landed)
    },
  }
}

function refusal(why: string, code: string, accepted: PaymentRequirements): SvcError {
  return new SdkError(`The call ${why}; nothing was paid`, code, 402, accepted)
}
