/** What a seller says in addition to its quote is no part of the sale. */
import { readPeriodMs } from '../../domain/period.js'
import { isForWindow } from '../../domain/price-for-display.js'
import type { Clock } from '../../ports/clock.js'
import { type Charged, isOfEarlierPayment } from './charge-evidence.js'
import { resourceIn, type SelectedRequirements, type Wanted } from './read-quote.js'
import type { Delivery } from './send-with-retries.js'

export const SUBSCRIPTION_HEADER = 'x-svc-subscription'
const SUBSCRIPTION_EXPIRES_HEADER = 'x-svc-subscription-expires'
const SUBSCRIPTION_REMAINING_HEADER = 'x-svc-subscription-remaining'

export interface SoldKey {
  readonly key: string
  readonly expiresAt?: Date | string | number
  readonly remaining?: number
}

export interface Moment {
  readonly nowMs: number
  readonly monotonicMs: number
}

export function momentOf(clock: Pick<Clock, 'now' | 'monotonic'>): Moment {
  return { nowMs: clock.now(), monotonicMs: clock.monotonic() }
}

/** What the quote said of the window that was bought. Without it, the key came from elsewhere. */
export interface WindowTerms {
  /** The quote's `resource.url`, which names what is sold. */
  readonly resource?: string
  /** From when and for how long the window is open; without it, the window ends when the seller says. */
  readonly lasting?: { readonly begun: Moment; readonly lastsMs: number }
  /** How many calls the quote gave the window; `null` where it gave a period alone. Without this, the seller's own count holds. */
  readonly calls?: number | null
  /** Neither quote nor caller said that a window is sold. The key is sent, and nothing is concluded from it. */
  readonly isGuess?: boolean
}

export interface Sale {
  readonly selected: SelectedRequirements
  readonly begun: Moment
  readonly delivery: Delivery
  readonly charged: Charged
}

/** The key of a window in the answer to a payment, with the terms of its sale; `undefined` where none was sold. */
export function windowSold(
  sale: Sale,
  wanted: Wanted,
): { readonly sold: SoldKey; readonly terms: WindowTerms } | undefined {
  const { reply, torn } = sale.delivery
  const replayed = isOfEarlierPayment(reply, sale.charged)
  // What was not charged was not sold.
  const heads = sale.charged.charged === 'no' && !replayed ? [] : [reply, torn]
  // The head of a redirect that was followed is another host's.
  const sold = heads.flatMap(head => (head?.location === undefined && head && soldIn(head.headers)) || [])[0]
  return sold && { sold, terms: termsOf(sale, replayed, wanted) }
}

/**
 * The window ends when the quote said, from the moment when this purchase began, rather than at the seller's expiry: the clocks of
 * the two may differ, and the quote is what was agreed. A replay sold its window earlier, so there the seller's words count.
 */
function termsOf({ selected, begun }: Sale, replayed: boolean, wanted: Wanted): WindowTerms {
  const { accepted, challenge } = selected
  const { subscriptionPeriod: period, subscriptionCalls: calls } = accepted.extra ?? {}
  const resource = resourceIn(challenge)
  if (!isForWindow(accepted)) return { resource, isGuess: wanted === 'call' }
  if (replayed) return { resource }
  const lastsMs = readPeriodMs(period)
  return {
    resource,
    ...(lastsMs !== undefined && { lasting: { begun, lastsMs } }),
    ...((calls === undefined || isCount(calls)) && { calls: calls ?? null }),
  }
}

function isCount(calls: unknown): calls is number {
  return Number.isSafeInteger(calls) && (calls as number) > 0
}

const KEY = /^[\x21-\x7e]{1,4096}$/

export function isKey(key: unknown): key is string {
  return typeof key === 'string' && KEY.test(key)
}

export function soldIn(headers: Headers): SoldKey | undefined {
  const key = headers.get(SUBSCRIPTION_HEADER)
  if (!isKey(key)) return undefined
  const endMs = Date.parse(headers.get(SUBSCRIPTION_EXPIRES_HEADER) ?? '')
  const remaining = remainingIn(headers)
  return {
    key,
    ...(!Number.isNaN(endMs) && { expiresAt: endMs }),
    ...(remaining !== undefined && { remaining }),
  }
}

export function remainingIn(headers: Headers): number | undefined {
  const remaining = headers.get(SUBSCRIPTION_REMAINING_HEADER)
  return remaining !== null && /^\d{1,10}$/.test(remaining) ? Number(remaining) : undefined
}

/** The calls that are left by the quote and by the seller: whichever is more, for only the quote was agreed. */
export function leftOf(
  calls: number | null | undefined,
  used: number,
  said: number | undefined,
): number | undefined {
  if (calls === undefined) return said
  return calls === null ? undefined : Math.max(calls - used, said ?? 0, 0)
}

export function fewerThanSold(
  calls: number | null | undefined,
  used: number,
  said: number | undefined,
): string | undefined {
  if (calls === undefined || said === undefined || (calls !== null && said >= calls - used)) return undefined
  const sold =
    calls === null ? 'was sold without a count' : `was sold with ${calls}, of which ${used} are used`
  return `The seller says that the window has ${said} calls left; it ${sold}. No other is bought before its end`
}

/** The resource of a quote, below the folder of the address that was asked: it speaks for no other origin, nor another agent of one host. */
export function soldAs({ origin, pathname }: URL, resource: string): string {
  const folder = origin + pathname.replace(/[^/]*$/, '')
  const named = URL.canParse(resource) ? endpointOf(new URL(resource)) : resource
  return named.startsWith(folder) ? named : `${folder} ${named}`
}

export function endpointOf({ origin, pathname }: URL): string {
  return origin + pathname
}
