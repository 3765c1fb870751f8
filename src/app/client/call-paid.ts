/** One call, paid where it asks to be paid. `call` and `stream` differ only in what they do with the answer's body. */
import type { PaymentRequired } from '../../domain/x402.js'
import type { PaymentSigner } from '../../ports/payment-signer.js'
import { unlessAborted } from '../../ports/timeouts-and-aborts.js'
import type { CallOptions, HttpRequest } from './build-request.js'
import { noSigner, quotesNoWindow } from './client-errors.js'
import type { Settings } from './client-options.js'
import { isSmall, type KeptQuote } from './kept-quotes.js'
import { type Purchase, type PurchaseDeps, purchase } from './purchase.js'
import { purchaseAtKeptQuote } from './purchase-at-kept-quote.js'
import { challengeOf, isQuote, quotesWindow } from './read-quote.js'
import type { Outcome, Warning } from './result-types.js'
import { ask, deliver, succeeded } from './send-with-retries.js'
import { type ActiveSubscription, type SubscriptionKeys, soldIn, withKey } from './subscription-keys.js'

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
    if (key !== undefined) keys.answered(request.url, key, asked.reply)
    if (!isQuote(asked.reply)) return succeeded(asked)
    const other = keys.purchaseOf(request.url)
    if (other) await ended(other, request)
    // Another call may have bought a window since this one asked.
    const newest = keys.keyFor(request)
    if (other || (newest !== undefined && newest !== key)) continue
    const challenge = challengeOf(asked.reply)
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
  if (challenge && !quotesWindow(challenge)) throw quotesNoWindow(request.url.origin, challenge)
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
  const sold = soldIn(outcome.reply.headers)
  return { outcome, subscription: sold && keys.hold(request.url, sold) }
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
  const bought = await purchase(request, challenge, depsOf(settings, signer))
  holdSold(request, bought, keys)
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

function holdSold({ url }: HttpRequest, { reply }: Purchase, keys: SubscriptionKeys): void {
  const sold = soldIn(reply.headers)
  if (sold) keys.hold(url, sold)
}
