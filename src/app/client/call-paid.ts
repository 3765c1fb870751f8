/** One call, paid where it asks to be paid. `call` and `stream` differ only in what they do with the answer's body. */
import { readPeriodMs } from '../../domain/subscription-period.js'
import type { PaymentRequired } from '../../domain/x402.js'
import type { PaymentSigner } from '../../ports/payment-signer.js'
import { unlessAborted } from '../../ports/timeouts-and-aborts.js'
import type { CallOptions, HttpRequest } from './build-request.js'
import { noSigner, quotesNoWindow, subscriptionRefused } from './client-errors.js'
import type { Settings } from './client-options.js'
import { isSmall, type KeptQuote } from './kept-quotes.js'
import { type Purchase, type PurchaseDeps, purchase } from './purchase.js'
import { purchaseAtKeptQuote } from './purchase-at-kept-quote.js'
import { challengeOf, isForWindow, isQuote, payableEntry, quotesWindow } from './read-quote.js'
import type { Outcome, Warning } from './result-types.js'
import { ask, deliver, succeeded } from './send-with-retries.js'
import {
  type ActiveSubscription,
  type Moment,
  momentOf,
  type SubscriptionKeys,
  soldIn,
  withKey,
} from './subscription-keys.js'

export async function callPaid(
  request: HttpRequest,
  options: CallOptions,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Outcome> {
  for (;;) {
    const key = keys.keyFor(request)
    if (!settings.signer && key === undefined) throw noSigner(request.url.origin)
    const isCached = key === undefined && options.quote === 'cached'
    const kept = isCached ? settings.quotes.of(request) : undefined
    if (kept) return buyAtKeptQuote(request, kept, settings, keys)
    const held = key === undefined ? request : withKey(request, key, settings.random)
    const asked = await ask(settings, held, options, settings.timeoutMs)
    const fate = key === undefined ? undefined : keys.answered(request.url, key, asked.reply)
    if (!isQuote(asked.reply)) return succeeded(asked)
    const other = keys.purchaseOf(request.url)
    if (other) await ended(other, request)
    // Another call may have bought a window since this one asked.
    const newest = keys.keyFor(request)
    if (other || (newest !== undefined && newest !== key)) continue
    const challenge = challengeOf(asked.reply)
    const window = keys.of(request.url)
    if (fate === 'refused' && window) throw subscriptionRefused(request.url.origin, window, challenge)
    const isWindow = key !== undefined || quotesWindow(challenge)
    const { method } = asked.request
    const buying = buy({ ...request, method }, challenge, settings, keys)
    const bought = await (isWindow ? keys.purchasing(request.url, buying) : buying)
    if (isCached && !isWindow && challenge && isSmall(asked.reply))
      settings.quotes.keep(request, { method, challenge }, bought.accepted)
    if (key === undefined) return bought
    const message = `${request.url.origin} no longer accepts the subscription key`
    const refused: Warning = { code: 'key_refused', message }
    return { ...bought, warnings: [...bought.warnings, refused] }
  }
}

/** Buys a window, unless another call is buying one: then it is a call with that one's key. */
export async function buyWindow(
  request: HttpRequest,
  options: CallOptions,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<{ outcome: Outcome; subscription: ActiveSubscription | undefined }> {
  const before = keys.of(request.url)?.key
  const asked = await ask(settings, request, options, settings.timeoutMs)
  if (!isQuote(asked.reply)) return { outcome: succeeded(asked), subscription: undefined }
  const challenge = challengeOf(asked.reply)
  const entry = challenge && payableEntry(challenge, settings.network)
  if (entry && !isForWindow(entry)) throw quotesNoWindow(request.url.origin, challenge)
  const other = keys.purchaseOf(request.url)
  if (other) await ended(other, request)
  // Another call may have bought a window since this one asked.
  const newest = keys.of(request.url)?.key
  if (other || (newest !== undefined && newest !== before)) {
    const outcome = await callPaid(request, options, settings, keys)
    return { outcome, subscription: keys.of(request.url) }
  }
  const { method } = asked.request
  const buying = buy({ ...request, method }, challenge, settings, keys)
  const outcome = await keys.purchasing(request.url, buying)
  const isSold = soldIn(outcome.reply.headers) !== undefined
  return { outcome, subscription: isSold ? keys.of(request.url) : undefined }
}

/** Without this wait, 8 calls at once in a window with one call left bought 7 windows, and lost 6 of their keys. */
function ended(other: Promise<unknown>, { url, signal }: HttpRequest): Promise<unknown> {
  return unlessAborted(other, signal, `The call to ${url.origin} was aborted; nothing was paid`)
}

/** Pays the quote that was answered, and keeps the key of a window that it buys. */
async function buy(
  request: HttpRequest,
  challenge: PaymentRequired | undefined,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Purchase> {
  const { signer } = settings
  if (!signer) throw noSigner(request.url.origin, challenge)
  const begun = momentOf(settings.clock)
  const bought = await purchase(request, challenge, depsOf(settings, signer))
  holdSold(request, bought, keys, begun)
  return bought
}

async function buyAtKeptQuote(
  request: HttpRequest,
  kept: KeptQuote,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Purchase> {
  const bought = await purchaseAtKeptQuote(request, kept, {
    ...depsOf(settings, settings.signer!),
    quotes: settings.quotes,
  })
  holdSold(request, bought, keys)
  return bought
}

function depsOf(settings: Settings, signer: PaymentSigner): PurchaseDeps {
  return {
    ...settings,
    signer,
    deliver: (sent, payment) => deliver(settings, sent, settings.timeoutMs, payment),
  }
}

/**
 * The window ends when the quote said, from the moment when this purchase began, rather than at the seller's expiry: the clocks of
 * the two may differ, and the quote is what was agreed. A replay sold its window earlier, so there the seller's expiry counts.
 */
function holdSold(
  { url }: HttpRequest,
  { reply, accepted, replayed }: Purchase,
  keys: SubscriptionKeys,
  begun?: Moment,
): void {
  const sold = soldIn(reply.headers)
  if (!sold) return
  const lastsMs = replayed ? undefined : readPeriodMs(accepted.extra?.subscriptionPeriod)
  keys.hold(url, sold, begun && lastsMs !== undefined ? { begun, lastsMs } : undefined)
}
