/**
 * Whether an agent sells single calls where a window is asked for. A quote of the specification's own fields does not say what it
 * sells, so the manifest is asked, which costs nothing. Only `subscribe` asks, and only at such a quote.
 */
import { isForWindow } from '../../domain/usd-price-for-display.js'
import type { PaymentRequired } from '../../domain/x402.js'
import { type HttpRequest, requestOf } from './build-request.js'
import { manifestOf, manifestUrl } from './fetch-manifest.js'
import { resourceIn } from './read-quote.js'
import { ask, type DeliveryDeps, succeeded } from './send-with-retries.js'

const MANIFEST_TIMEOUT_MS = 5_000

export async function isSoldByTheCall(
  { url, signal }: HttpRequest,
  challenge: PaymentRequired,
  deps: DeliveryDeps,
): Promise<boolean> {
  // A seller that names the period of one entry says of the others that they buy none.
  if ((challenge.accepts as readonly unknown[]).some(isForWindow)) return true
  const at = manifestUrl(new URL(url.origin))
  const once = { ...deps, retry: { ...deps.retry, attempts: 1 } }
  const options = { method: 'GET', signal }
  try {
    const asked = await ask(once, requestOf(at, undefined, options), options, MANIFEST_TIMEOUT_MS)
    const { endpoints } = manifestOf(succeeded(asked).reply, at)
    const named = [resourceIn(challenge), url.origin + url.pathname]
    return endpoints.some(({ url: listed, pricing }) => named.includes(listed) && isByTheCall(pricing))
  } catch {
    // A seller without a manifest says nothing. An abort ends the purchase that follows.
    return false
  }
}

function isByTheCall(pricing: unknown): boolean {
  return pricing === 'fixed' || pricing === 'dynamic'
}
