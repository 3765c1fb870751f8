/** Asks what a call would cost. */
import type { HttpRequest, RequestOptions } from './build-request.js'
import type { Settings } from './client-options.js'
import { challengeOf, type Estimate, estimateOf, isQuote, resourceIn } from './read-quote.js'
import { askBriefly, succeeded } from './send-with-retries.js'
import type { SubscriptionKeys } from './subscription-keys.js'

export async function estimated(
  request: HttpRequest,
  options: RequestOptions,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Estimate> {
  if (keys.covers(request.url)) return { usd: 0, covered: true }
  const asked = await askBriefly(settings, request, options)
  if (!isQuote(asked.reply)) {
    succeeded(asked)
    return { usd: 0 }
  }
  const sold = resourceIn(challengeOf(asked.reply))
  if (sold !== undefined && keys.covers(request.url, sold)) return { usd: 0, covered: true }
  return estimateOf(asked.request, asked.reply, settings)
}
