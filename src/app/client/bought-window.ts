/** Keeps the key of a window that a payment bought, as the quote had it. What the seller says in addition is no part of the sale. */

import { readPeriodMs } from '../../domain/subscription-period.js'
import { isForWindow } from '../../domain/usd-price-for-display.js'
import { isOfEarlierPayment } from './charge-evidence.js'
import type { Bought, SentOnce } from './purchase-steps.js'
import { resourceIn, type Wanted } from './read-quote.js'
import { fewerThanSold, soldIn } from './sold-key.js'
import type { SubscriptionKeys, WindowTerms } from './subscription-keys.js'

/**
 * The window ends when the quote said, from the moment when this purchase began, rather than at the seller's expiry: the clocks of
 * the two may differ, and the quote is what was agreed. A replay sold its window earlier, so there the seller's words count.
 */
export function holdBought(url: URL, sent: SentOnce, keys: SubscriptionKeys, wanted: Wanted): Bought {
  const { reply, torn } = sent.delivery
  const replayed = isOfEarlierPayment(reply, sent.charged)
  // What was not charged was not sold.
  const heads = sent.charged.charged === 'no' && !replayed ? [] : [reply, torn]
  // The head of a redirect that was followed is another host's.
  const sold = heads.flatMap(head => (head?.location === undefined && head && soldIn(head.headers)) || [])[0]
  if (!sold) return { warnings: [] }
  const terms = termsOf(sent, replayed, wanted)
  const subscription = keys.hold(url, sold, terms)
  const message = fewerThanSold(terms.calls, 1, sold.remaining)
  const warnings = message === undefined ? [] : [{ code: 'fewer_calls_than_sold', message } as const]
  return { subscription, warnings }
}

function termsOf({ selected, begun }: SentOnce, replayed: boolean, wanted: Wanted): WindowTerms {
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
