/** What a call would cost, and whether it would be paid. */
import { SvcError } from '../../domain/errors.js'
import { usdNumber } from '../../domain/price-of.js'
import type { PaymentRequirements } from '../../domain/x402.js'
import type { HttpReply } from './http-exchange.js'
import { selectRequirements } from './select-requirements.js'
import type { Settings } from './settings.js'

/** What a call would cost, and whether it would be paid. */
export interface Estimate {
  /**
   * What would be paid, in USD: 0 where nothing would be; `null` where the quote offers no way for this client to pay.
   */
  readonly usd: number | null
  /** The entry of the quote that would be paid. */
  readonly accepted?: PaymentRequirements
  /** A held subscription key covers the call: nobody was asked. */
  readonly covered?: true
  /** What `call` would throw instead of paying, by the limits as they stand; absent where it would pay. */
  readonly refusal?: SvcError
}

export const COVERED: Estimate = Object.freeze({ usd: 0, covered: true })
export const FREE: Estimate = Object.freeze({ usd: 0 })

export async function estimateOf(url: URL, quoted: HttpReply, settings: Settings): Promise<Estimate> {
  try {
    const { accepted } = selectRequirements(url, quoted, settings)
    const refusal = await settings.limits.refusalOf(accepted)
    return { usd: usdNumber(BigInt(accepted.amount)), accepted, ...(refusal && { refusal }) }
  } catch (error) {
    if (error instanceof SvcError) return { usd: null, refusal: error }
    throw error
  }
}
