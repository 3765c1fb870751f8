/** Subscription keys, each for the one endpoint that sold it. They live in memory; no inspection of the client shows them. */
import { SdkError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import type { Random } from '../../ports/random.js'
import { randomId } from '../../ports/random-id.js'
import type { HttpRequest } from './build-request.js'

export const SUBSCRIPTION_HEADER = 'x-svc-subscription'
export const SUBSCRIPTION_EXPIRES_HEADER = 'x-svc-subscription-expires'

/** A window that was bought, and the key that opens it. */
export interface ActiveSubscription {
  /** The endpoint, without query. */
  readonly url: string
  /** Sent instead of a payment. Every holder of the key can use the window. */
  readonly key: string
  /** Milliseconds since the epoch; absent where the seller did not say. */
  readonly expiresAt?: number
}

export interface SubscriptionKeys {
  hold(url: URL, key: string, expiresAt?: Date | string | number): ActiveSubscription
  keyFor(url: URL): string | undefined
  drop(url: URL, key: string): void
  list(): ActiveSubscription[]
}

/** The key in an answer's headers; `undefined` where there is none, or none that a header can carry. */
export function soldIn(headers: Headers): { readonly key: string; readonly expiresAt?: number } | undefined {
  const key = headers.get(SUBSCRIPTION_HEADER)
  if (key === null || !KEY.test(key)) return undefined
  const endMs = Date.parse(headers.get(SUBSCRIPTION_EXPIRES_HEADER) ?? '')
  return { key, ...(!Number.isNaN(endMs) && { expiresAt: endMs }) }
}

const KEY = /^[\x21-\x7e]{1,4096}$/

export function subscriptionKeys(now: () => number): SubscriptionKeys {
  const held = new Map<string, ActiveSubscription>()

  function current(url: string): ActiveSubscription | undefined {
    const subscription = held.get(url)
    if (!subscription || subscription.expiresAt === undefined || now() < subscription.expiresAt)
      return subscription
    held.delete(url)
    return undefined
  }

  return {
    hold(url, key, expiresAt) {
      if (typeof key !== 'string' || !KEY.test(key)) {
        throw new SdkError('A subscription key is printable ASCII without spaces', 'invalid_subscription')
      }
      const endMs = expiresAt === undefined ? undefined : new Date(expiresAt).getTime()
      if (Number.isNaN(endMs)) throw new SdkError('expiresAt is no point in time', 'invalid_subscription')
      const subscription = { url: endpointOf(url), key, ...(endMs !== undefined && { expiresAt: endMs }) }
      held.set(subscription.url, subscription)
      return subscription
    },
    keyFor: url => current(endpointOf(url))?.key,
    drop(url, key) {
      // A newer key may have been bought while the old one was on its way.
      if (held.get(endpointOf(url))?.key === key) held.delete(endpointOf(url))
    },
    list: () => [...held.keys()].flatMap(url => current(url) ?? []),
  }
}

export function withKey(request: HttpRequest, key: string, random: Random): HttpRequest {
  // Calls in a window need an idempotency key too: a repeated attempt must not run the work twice.
  const headers = {
    [IDEMPOTENCY_KEY_HEADER]: randomId(random),
    ...request.headers,
    [SUBSCRIPTION_HEADER]: key,
  }
  return { ...request, headers }
}

function endpointOf({ origin, pathname }: URL): string {
  return origin + pathname
}
