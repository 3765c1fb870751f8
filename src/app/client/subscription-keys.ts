/**
 * Subscription keys, each for the one endpoint that sold it. They live in memory; no inspection of the client shows them.
 *
 * A key is sent until its seller refuses it, also after its end by the clock of this machine: that clock may be wrong, and asking
 * is free.
 */
import { SdkError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import type { Clock } from '../../ports/clock.js'
import type { Random } from '../../ports/random.js'
import { randomId } from '../../ports/random-id.js'
import type { HttpRequest } from './build-request.js'
import { isReplay } from './charge-evidence.js'
import { isQuote } from './read-quote.js'
import type { HttpReply } from './send-request.js'

export const SUBSCRIPTION_HEADER = 'x-svc-subscription'
export const SUBSCRIPTION_EXPIRES_HEADER = 'x-svc-subscription-expires'
export const SUBSCRIPTION_REMAINING_HEADER = 'x-svc-subscription-remaining'

/** A window that was bought, and the key that opens it. */
export interface ActiveSubscription {
  /** The endpoint, without query. */
  readonly url: string
  /** Sent instead of a payment. Every holder of the key can use the window. */
  readonly key: string
  /** Milliseconds since the epoch; absent where the seller did not say. */
  readonly expiresAt?: number
  /** How many calls it still has, as the last answer said; absent where the seller counts none, or has not said. */
  readonly remaining?: number
}

/** A key, with what is known of its window. */
export interface SoldKey {
  readonly key: string
  readonly expiresAt?: Date | string | number
  readonly remaining?: number
}

type Clocks = Pick<Clock, 'now' | 'monotonic'>

/** One moment, by both clocks. */
export interface Moment {
  readonly nowMs: number
  readonly monotonicMs: number
}

export function momentOf(clock: Clocks): Moment {
  return { nowMs: clock.now(), monotonicMs: clock.monotonic() }
}

export interface SubscriptionKeys {
  /** `lasting` says from when and for how long the window is open; without it, the window ends when the seller says. */
  hold(
    url: URL,
    sold: SoldKey,
    lasting?: { readonly begun: Moment; readonly lastsMs: number },
  ): ActiveSubscription
  /** The window of this endpoint, also where it has ended or its calls are used up. */
  of(url: URL): ActiveSubscription | undefined
  /** Whether a call of this endpoint costs nothing, as far as is known. */
  covers(url: URL): boolean
  /** The key to send with this request, if any. */
  keyFor(request: Pick<HttpRequest, 'url' | 'headers'>): string | undefined
  /**
   * Learns from the answer to a request with this key how many calls are left, and drops the key where the seller asked to be
   * paid because its window has ended. A seller that asks before that has refused the key, and the key is kept: if it
   * were dropped, the next call would buy a second window.
   */
  answered(
    url: URL,
    key: string,
    reply: Pick<HttpReply, 'status' | 'headers' | 'location'>,
  ): 'refused' | undefined
  drop(url: URL): void
  /** Notes that a window of this endpoint is being bought, until the purchase ends. */
  purchasing<T>(url: URL, purchase: Promise<T>): Promise<T>
  /** Fulfilled when the purchase of a window that is under way has ended, well or not. */
  purchaseOf(url: URL): Promise<unknown> | undefined
  list(): ActiveSubscription[]
}

/** The key in an answer's headers; `undefined` where there is none, or none that a header can carry. */
export function soldIn(headers: Headers): SoldKey | undefined {
  const key = headers.get(SUBSCRIPTION_HEADER)
  if (key === null || !KEY.test(key)) return undefined
  const endMs = Date.parse(headers.get(SUBSCRIPTION_EXPIRES_HEADER) ?? '')
  const remaining = remainingIn(headers)
  return {
    key,
    ...(!Number.isNaN(endMs) && { expiresAt: endMs }),
    ...(remaining !== undefined && { remaining }),
  }
}

function remainingIn(headers: Headers): number | undefined {
  const remaining = headers.get(SUBSCRIPTION_REMAINING_HEADER)
  return remaining !== null && /^\d{1,10}$/.test(remaining) ? Number(remaining) : undefined
}

const KEY = /^[\x21-\x7e]{1,4096}$/

interface Held {
  readonly subscription: ActiveSubscription
  /**
   * The window is open only while both clocks say so. A time of day that was a year ahead at the purchase would keep it open for a
   * year, and the monotonic clock may stand still while the machine sleeps.
   */
  readonly end: Partial<Moment>
}

export function subscriptionKeys(clock: Clocks): SubscriptionKeys {
  const held = new Map<string, Held>()
  const purchases = new Map<string, Promise<unknown>>()
  const of = (url: URL) => held.get(endpointOf(url))?.subscription
  const isOpen = ({ subscription, end: { nowMs = Infinity, monotonicMs = Infinity } }: Held) =>
    subscription.remaining !== 0 && clock.now() < nowMs && clock.monotonic() < monotonicMs

  return {
    hold(url, { key, expiresAt, remaining }, lasting) {
      if (typeof key !== 'string' || !KEY.test(key)) {
        throw new SdkError('A subscription key is printable ASCII without spaces', 'invalid_subscription')
      }
      const saidMs = expiresAt === undefined ? undefined : new Date(expiresAt).getTime()
      if (Number.isNaN(saidMs)) throw new SdkError('expiresAt is no point in time', 'invalid_subscription')
      const subscription = {
        url: endpointOf(url),
        key,
        ...(saidMs !== undefined && { expiresAt: saidMs }),
        ...(remaining !== undefined && { remaining }),
      }
      held.set(subscription.url, { subscription, end: lasting ? endOf(lasting) : { nowMs: saidMs } })
      return subscription
    },
    of,
    covers(url) {
      const window = held.get(endpointOf(url))
      return window !== undefined && isOpen(window)
    },
    keyFor({ url, headers }) {
      const subscription = of(url)
      // With the caller's own key, the seller may still have the answer of an earlier call, so the key is sent.
      const opens = subscription?.remaining !== 0 || headers[IDEMPOTENCY_KEY_HEADER] !== undefined
      return opens ? subscription?.key : undefined
    },
    answered(url, key, reply) {
      const window = held.get(endpointOf(url))
      // A newer key may have been bought while this one was on its way.
      if (window?.subscription.key !== key) return undefined
      const { subscription } = window
      const said = remainingIn(reply.headers)
      // The key of a used-up window is kept: a call that is still running may fail, and then its call is left again.
      if (isQuote(reply) && said !== 0) {
        if (window.end.nowMs !== undefined && isOpen(window)) return 'refused'
        held.delete(subscription.url)
        return undefined
      }
      if (said === undefined) return undefined
      // A replay says what was left when its call was answered first.
      const remaining = isReplay(reply) ? Math.min(said, subscription.remaining ?? said) : said
      held.set(subscription.url, { ...window, subscription: { ...subscription, remaining } })
      return undefined
    },
    drop: url => void held.delete(endpointOf(url)),
    purchasing(url, purchase) {
      const endpoint = endpointOf(url)
      const end = () => void purchases.delete(endpoint)
      purchases.set(endpoint, purchase.then(end, end))
      return purchase
    },
    purchaseOf: url => purchases.get(endpointOf(url)),
    list: () => [...held.values()].filter(isOpen).map(({ subscription }) => subscription),
  }
}

function endOf({ begun, lastsMs }: { readonly begun: Moment; readonly lastsMs: number }): Moment {
  return { nowMs: begun.nowMs + lastsMs, monotonicMs: begun.monotonicMs + lastsMs }
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
