/** What this client may spend: a price per call, an amount per 24 hours. Money is set aside before anything is signed. */
import { randomUUID } from 'node:crypto'
import { SvcError } from '../../domain/errors.js'
import { formatUsd } from '../../domain/money.js'
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
  /** @throws SvcError `price_above_max`, `daily_cap_reached` */
  reserve(accepted: PaymentRequirements): Promise<Reservation>
}

/** Ends once, one way or the other. */
export interface Reservation {
  /** Spent, or possibly so. */
  keep(): Promise<void>
  /** Not spent. `sent` is the signed payment, where it has left this process. */
  giveBack(sent?: SignedPayment): Promise<void>
}

export function purse(ledger: SpendLedger, caps: Caps, disowned: Disowned): Purse {
  const { maxPrice, maxPerDay } = caps
  return {
    get spent() {
      return ledger.spentBaseUnits
    },
    get remaining() {
      if (maxPerDay === undefined) return undefined
      const left = maxPerDay - ledger.spentBaseUnits
      return left > 0n ? left : 0n
    },
    async reserve(accepted) {
      const amount = BigInt(accepted.amount)
      if (maxPrice !== undefined && amount > maxPrice) {
        throw refusal(
          `costs ${formatUsd(amount)}, the limit is ${formatUsd(maxPrice)}`,
          'price_above_max',
          accepted,
        )
      }
      await disowned.look()
      const spend = { id: randomUUID(), amount }
      if (!(await ledger.reserve(spend, maxPerDay))) {
        throw refusal(
          `costs ${formatUsd(amount)}, which would exceed the ${formatUsd(maxPerDay ?? 0n)} for 24 hours`,
          'daily_cap_reached',
          accepted,
        )
      }
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
    async giveBack(sent) {
      if (sent && disowned.full) return keep()
      await tolerated(() => ledger.release(spend))
      if (sent) disowned.watch(spend, sent)
    },
  }
}

function refusal(why: string, code: string, accepted: PaymentRequirements): SvcError {
  return new SvcError(`The call ${why}; nothing was paid`, code, 402, accepted)
}
