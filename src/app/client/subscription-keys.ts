/**
 * Subscription keys, each for what its quote said was sold: a resource of one origin. The URL that was asked says less, because all
 * skills of an A2A agent share one. They live in memory; no inspection of the client shows them.
 *
 * A key is sent until its seller refuses it, also after its end by the clock of this machine: that clock may be wrong, and asking
 * is free. What was quoted counts: fewer calls than that are the seller's word, and no reason to buy again.
 */
import { SdkError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import type { Clock } from '../../ports/clock.js'
import { type Random, randomId } from '../../ports/random.js'
import {
  endpointOf,
  fewerThanSold,
  isKey,
  leftOf,
  type Moment,
  remainingIn,
  type SoldKey,
  SUBSCRIPTION_HEADER,
  soldAs,
  type WindowTerms,
} from './bought-subscription.js'
import type { HttpRequest } from './build-request.js'
import { isReplay } from './charge-evidence.js'
import { isSuccess } from './http-reply.js'
import { challengeOf, isQuote, resourceIn } from './read-quote.js'
import type { ActiveSubscription } from './result-types.js'
import type { UnpaidReply } from './send-with-retries.js'

export type SubscriptionKeys = ReturnType<typeof subscriptionKeys>

export interface Verdict {
  /** The window that the seller refuses, and that has not ended. */
  readonly refused?: ActiveSubscription
  /** The quote is for another resource than the key. */
  readonly isElsewhere?: boolean
  readonly fewer?: string
}

interface Held {
  readonly subscription: ActiveSubscription
  /** The URL that was asked, where the key was bought. */
  readonly asked: string
  readonly terms: WindowTerms | undefined
  /**
   * The window is open only while both clocks say so. A time of day that was a year ahead at the purchase would keep it open for a
   * year, and the monotonic clock may stand still while the machine sleeps.
   */
  readonly end: Partial<Moment>
  /** The calls of this client that the seller may have counted, the purchase included. */
  readonly used: number
  readonly isRefused: boolean
}

export function subscriptionKeys(clock: Pick<Clock, 'now' | 'monotonic'>) {
  /** The windows of what was sold, in the order in which they were bought. */
  const held = new Map<string, Held[]>()
  /** What was sold last at the URLs that were asked. */
  const soldAt = new Map<string, string>()
  const purchases = new Map<string, Promise<unknown>>()

  const all = () => [...held.values()].flat()
  const nameAt = (url: URL, resource?: string) =>
    resource === undefined ? (soldAt.get(endpointOf(url)) ?? endpointOf(url)) : soldAs(url, resource)
  const isOpen = ({ subscription, end: { nowMs = Infinity, monotonicMs = Infinity } }: Held) =>
    subscription.remaining !== 0 && clock.now() < nowMs && clock.monotonic() < monotonicMs
  /** Of keys that may open nothing, one is kept: each would be tried before a call pays. */
  const isKept = (each: Held) => isOpen(each) && !each.isRefused && !each.terms?.isGuess
  /** The oldest that is open, so that its calls are used first; else the newest. */
  const current = (name: string) => {
    const windows = held.get(name) ?? []
    return windows.find(each => isOpen(each) && !each.isRefused) ?? windows.at(-1)
  }
  const change = (name: string, key: string, changed: (window: Held) => Held | undefined) => {
    const windows = held.get(name) ?? []
    const left = windows.flatMap(each => (each.subscription.key === key ? (changed(each) ?? []) : each))
    if (left.length > 0) held.set(name, left)
    else held.delete(name)
  }
  /** Another origin's key is another key, also where it is the same text. */
  const nameOf = ({ origin }: URL, key: string) =>
    [...held].find(([, windows]) =>
      windows.some(({ subscription, asked }) => subscription.key === key && asked.startsWith(`${origin}/`)),
    )?.[0] ?? ''

  return {
    /** Keeps a key that was bought. An open window is never overwritten. A key from elsewhere takes the place of all others. */
    hold(url: URL, { key, expiresAt, remaining }: SoldKey, terms?: WindowTerms): ActiveSubscription {
      if (!isKey(key))
        throw new SdkError('A subscription key is printable ASCII without spaces', 'invalid_subscription')
      const saidMs = expiresAt === undefined ? undefined : new Date(expiresAt).getTime()
      if (Number.isNaN(saidMs)) throw new SdkError('expiresAt is no point in time', 'invalid_subscription')
      const asked = endpointOf(url)
      const name = terms?.resource === undefined ? asked : soldAs(url, terms.resource)
      soldAt.set(asked, name)
      const others = terms ? (held.get(name) ?? []).filter(isKept) : []
      const known = others.find(({ subscription }) => subscription.key === key)
      if (known) return known.subscription
      const left = leftOf(terms?.calls, 1, remaining)
      const subscription = {
        url: name.includes(' ') ? asked : name,
        key,
        ...(saidMs !== undefined && { expiresAt: saidMs }),
        ...(left !== undefined && { remaining: left }),
      }
      const { lasting, isGuess } = terms ?? {}
      const end = lasting ? endOf(lasting) : isGuess ? {} : { nowMs: saidMs }
      held.set(name, [...others, { subscription, asked, terms, end, used: 1, isRefused: false }])
      return subscription
    },
    /** The windows of what is sold at this URL, in the order in which they were bought, also where they have ended or are used up. */
    of: (url: URL, resource?: string) =>
      (held.get(nameAt(url, resource)) ?? []).map(({ subscription }) => subscription),
    /** Whether a call costs nothing, as far as is known. Without the quote's resource: whatever is sold at this URL. */
    covers(url: URL, resource?: string): boolean {
      const name = nameAt(url, resource)
      const window = current(name)
      // Where the quote named another address than the one that was asked, other things may be sold here, too.
      const isCertain = resource !== undefined || name === endpointOf(url)
      return (
        isCertain && window !== undefined && !window.terms?.isGuess && !window.isRefused && isOpen(window)
      )
    },
    keyFor({ url, headers }: Pick<HttpRequest, 'url' | 'headers'>, resource?: string): string | undefined {
      const subscription = current(nameAt(url, resource))?.subscription
      // With the caller's own key, the seller may still have the answer of an earlier call, so the key is sent.
      const opens = subscription?.remaining !== 0 || headers[IDEMPOTENCY_KEY_HEADER] !== undefined
      return opens ? subscription?.key : undefined
    },
    /** Counts a call that is about to be sent with this key. `answered` is told how it ended. */
    sent(url: URL, key: string): void {
      change(nameOf(url, key), key, window => ({ ...window, used: window.used + 1 }))
    },
    /**
     * Learns from the answer to a request with this key how many calls are left, and drops the key where the seller asked to be
     * paid because its window has ended. A seller that asks before that has refused the key, and the key is kept: if it
     * were dropped, the next call would buy a second window. A quote for another resource says nothing about the key.
     */
    answered(url: URL, key: string, { reply, attempts, everLost }: Omit<UnpaidReply, 'request'>): Verdict {
      const name = nameOf(url, key)
      const window = held.get(name)?.find(({ subscription }) => subscription.key === key)
      // A newer key may have been bought while this one was on its way.
      if (!window) return {}
      const resource = isQuote(reply) ? resourceIn(challengeOf(reply)) : undefined
      const isElsewhere = resource !== undefined && name !== endpointOf(url) && name !== soldAs(url, resource)
      const isUsed = everLost || (isSuccess(reply) && !isReplay(reply))
      const used = window.used + (everLost ? attempts - 1 : 0) - (isUsed ? 0 : 1)
      const said = remainingIn(reply.headers)
      const left = isElsewhere || said === undefined ? undefined : leftOf(window.terms?.calls, used, said)
      const wasLeft = window.subscription.remaining
      // A replay says what was left when its call was answered first.
      const remaining =
        left === undefined ? wasLeft : isReplay(reply) ? Math.min(left, wasLeft ?? left) : left
      const subscription = { ...window.subscription, ...(remaining !== undefined && { remaining }) }
      // The key of a used-up window is kept: a call that is still running may fail, and then its call is left again.
      const isAsked = isQuote(reply) && !isElsewhere && left !== 0
      const isRefused = isAsked && window.end.nowMs !== undefined && isOpen({ ...window, subscription })
      const isOver = isAsked && !isRefused
      const staysRefused = isRefused || (window.isRefused && !isSuccess(reply))
      const known = isOver ? undefined : { ...window, subscription, used, isRefused: staysRefused }
      change(name, key, () => known)
      const fewer = isElsewhere ? undefined : fewerThanSold(window.terms?.calls, used, said)
      return { ...(isRefused && { refused: subscription }), isElsewhere, fewer }
    },
    drop(url: URL): void {
      const endpoint = endpointOf(url)
      for (const [name, windows] of held) {
        const others = windows.filter(({ asked }) => asked !== endpoint && name !== endpoint)
        if (others.length > 0) held.set(name, others)
        else held.delete(name)
      }
    },
    known: (): ReadonlySet<string> => new Set(all().map(({ subscription }) => subscription.key)),
    purchasing<T>(url: URL, resource: string | undefined, purchase: Promise<T>): Promise<T> {
      const name = nameAt(url, resource)
      const end = () => void purchases.delete(name)
      purchases.set(name, purchase.then(end, end))
      return purchase
    },
    /** Fulfilled when the purchase of a window that is under way has ended, well or not. */
    purchaseOf: (url: URL, resource: string | undefined) => purchases.get(nameAt(url, resource)),
    list: () =>
      all()
        .filter(isOpen)
        .map(({ subscription }) => subscription),
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
  // As a call that is paid: it may be counted.
  const signal = request.finishPaid && !request.signal?.aborted ? undefined : request.signal
  return { ...request, headers, signal }
}
