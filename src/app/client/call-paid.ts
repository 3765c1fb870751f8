/** One call, paid where it asks to be paid. `call` and `stream` differ only in what they do with the answer's body. */
import { isForWindow } from '../../domain/usd-price-for-display.js'
import type { PaymentRequired } from '../../domain/x402.js'
import { unlessAborted } from '../../ports/timeouts-and-aborts.js'
import { holdBought } from './bought-window.js'
import type { CallOptions, HttpRequest } from './build-request.js'
import { noSigner, quotesNoWindow, subscriptionRefused } from './client-errors.js'
import type { Settings } from './client-options.js'
import { type Purchase, purchase } from './purchase.js'
import { challengeOf, isQuote, payableEntry, resourceIn, type Wanted } from './read-quote.js'
import type { Outcome, Warning } from './result-types.js'
import { ask, deliver, succeeded, type UnpaidReply } from './send-with-retries.js'
import { isSoldByTheCall } from './sold-by-the-call.js'
import type { ActiveSubscription } from './sold-key.js'
import { type SubscriptionKeys, type Verdict, withKey } from './subscription-keys.js'

export async function callPaid(
  request: HttpRequest,
  options: CallOptions,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Outcome> {
  const tried = new Set<string>()
  let refused: ActiveSubscription | undefined
  let key = keys.keyFor(request)
  for (;;) {
    if (!settings.signer && key === undefined) throw noSigner(request.url.origin)
    const { asked, verdict } = await askWith(key, request, options, settings, keys)
    if (!isQuote(asked.reply)) return { ...succeeded(asked), warnings: warningsOf(verdict) }
    const challenge = challengeOf(asked.reply)
    const resource = resourceIn(challenge)
    refused = verdict.refused ?? refused
    if (key !== undefined) tried.add(key)
    const other = keys.purchaseOf(request.url, resource)
    if (other) await ended(other, request)
    // Another call may have bought a window since this one asked, and the quote may be for another window than the key.
    const newest = keys.keyFor(request, resource)
    if (other || (newest !== undefined && !tried.has(newest))) {
      key = newest
      continue
    }
    if (refused) throw subscriptionRefused(request.url.origin, refused, challenge, verdict.fewer)
    const isWindow = key !== undefined || isForWindow(challenge && payableEntry(challenge, settings.network))
    const { method } = asked.request
    const buying = buy({ ...request, method }, challenge, settings, keys)
    const bought = await (isWindow ? keys.purchasing(request.url, resource, buying) : buying)
    if (key === undefined || verdict.isElsewhere) return bought
    const message = `${request.url.origin} no longer accepts the subscription key`
    const isRefused: Warning = { code: 'key_refused', message }
    return { ...bought, warnings: [...bought.warnings, isRefused] }
  }
}

async function askWith(
  key: string | undefined,
  request: HttpRequest,
  options: CallOptions,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<{ asked: UnpaidReply; verdict: Verdict }> {
  if (key === undefined)
    return { asked: await ask(settings, request, options, settings.timeoutMs), verdict: {} }
  keys.sent(request.url, key)
  const asked = await ask(settings, withKey(request, key, settings.random), options, settings.timeoutMs)
  return { asked, verdict: keys.answered(request.url, key, asked) }
}

function warningsOf({ fewer }: Verdict): Warning[] {
  return fewer === undefined ? [] : [{ code: 'fewer_calls_than_sold', message: fewer }]
}

/** Buys a window, unless another call is buying one: then it is a call with that one's key. */
export async function buyWindow(
  request: HttpRequest,
  options: CallOptions,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Outcome> {
  const before = keys.known()
  const asked = await ask(settings, request, options, settings.timeoutMs)
  if (!isQuote(asked.reply)) return succeeded(asked)
  const challenge = challengeOf(asked.reply)
  const entry = challenge && payableEntry(challenge, settings.network, 'window')
  if (entry && !isForWindow(entry) && (await isSoldByTheCall(request, challenge, settings)))
    throw quotesNoWindow(request.url.origin, challenge)
  const resource = resourceIn(challenge)
  const other = keys.purchaseOf(request.url, resource)
  if (other) await ended(other, request)
  // Another call may have bought a window since this one asked.
  const newest = () => keys.of(request.url, resource).findLast(({ key }) => !before.has(key))
  if (other || newest()) {
    const outcome = await callPaid(request, options, settings, keys)
    return { ...outcome, subscription: newest() ?? outcome.subscription }
  }
  const { method } = asked.request
  const buying = buy({ ...request, method }, challenge, settings, keys, 'window')
  return keys.purchasing(request.url, resource, buying)
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
  wanted: Wanted = 'call',
): Promise<Purchase> {
  const { signer } = settings
  if (!signer) throw noSigner(request.url.origin, challenge)
  return purchase(request, challenge, {
    ...settings,
    signer,
    wanted,
    deliver: (sent, payment) => deliver(settings, sent, settings.timeoutMs, payment),
    hold: ({ url }, sent) => holdBought(url, sent, keys, wanted),
  })
}
