/** The seller's own fields of a quote, which stand among the protocol's in `accepts[].extra`. */
import { shown } from './errors.js'
import type { Subscription } from './subscription-terms.js'
import { isRecord } from './x402.js'

/**
 * Fields that a seller adds to `accepts[].extra` of a quote. A facilitator gets them too, when it verifies and when it
 * settles: an index that counts payments by such a field reads it at settlement, and never afterwards.
 *
 * @example
 * const extra = { tag: 'x402-global-challenge', weight: 2, beta: true }
 */
export type QuoteExtra = Readonly<Record<string, string | number | boolean>>

/** What a quote says of the window that it sells, so that a payer knows what the price buys. */
export interface WindowFields {
  /** As the endpoint has it: `30d`. */
  readonly subscriptionPeriod: string
  /** How many calls the window has; absent where it has no count. */
  readonly subscriptionCalls?: number
}

export function windowFields(sold: Subscription | undefined): WindowFields | undefined {
  if (sold === undefined) return undefined
  const { period, calls } = sold
  return { subscriptionPeriod: period, ...(calls !== undefined && { subscriptionCalls: calls }) }
}

/** Names that have a meaning for payers, of x402 and its schemes and of {@link WindowFields}. */
const RESERVED: ReadonlySet<string> = new Set([
  'feePayer',
  'decimals',
  'name',
  'version',
  'paymentFlow',
  'assetTransferMethod',
  'subscriptionPeriod',
  'subscriptionCalls',
])

/** A checked copy; `undefined` where no field is set. */
export function quoteExtra(given: unknown, refuse: (why: string) => never): QuoteExtra | undefined {
  if (given === undefined) return undefined
  if (!isRecord(given))
    return refuse(`extra is an object of texts, numbers and booleans, not ${shown(given)}`)
  const extra = { ...given }
  for (const [name, value] of Object.entries(extra)) {
    if (name === '') refuse('extra has a field without a name')
    if (RESERVED.has(name)) refuse(`extra.${name} has a meaning for payers; choose another name`)
    if (!isPlain(value)) refuse(`extra.${name} is text, a finite number or a boolean, not ${shown(value)}`)
  }
  return Object.keys(extra).length === 0 ? undefined : (Object.freeze(extra) as QuoteExtra)
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}
