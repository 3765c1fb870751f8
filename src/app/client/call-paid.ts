/** One call, paid where it asks to be paid. `call` and `stream` differ only in what they do with the answer's body. */
import { unlessAborted } from '../../ports/timeouts-and-aborts.js'
import type { CallOptions, HttpRequest } from './build-request.js'
import { noSigner } from './client-errors.js'
import type { Settings } from './client-options.js'
import { type Purchase, purchase } from './purchase.js'
import { challengeOf, isQuote, quotesWindow } from './read-quote.js'
import type { Outcome, Warning } from './result-types.js'
import { ask, deliver, succeeded, type UnpaidReply } from './send-with-retries.js'
import { type SubscriptionKeys, soldIn, withKey } from './subscription-keys.js'

export async function callPaid(
  request: HttpRequest,
  options: CallOptions,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Outcome> {
  for (;;) {
    const key = keys.keyFor(request)
    if (!settings.signer && key === undefined) throw noSigner(request.url.origin)
    const held = key === undefined ? request : withKey(request, key, settings.random)
    const asked = await ask(settings, held, options, settings.timeoutMs)
    if (key !== undefined) keys.answered(request.url, key, asked.reply)
    if (!isQuote(asked.reply)) return succeeded(asked)
    const other = keys.purchaseOf(request.url)
    if (other) {
      // Without this, 8 calls at once in a window with one call left bought 7 windows, and lost 6 of their keys.
      const message = `The call to ${request.url.origin} was aborted; nothing was paid`
      await unlessAborted(other, request.signal, message)
      continue
    }
    const isWindow = key !== undefined || quotesWindow(asked.reply)
    const buying = buy(request, asked, settings, keys)
    const bought = await (isWindow ? keys.purchasing(request.url, buying) : buying)
    if (key === undefined) return bought
    const message = `${request.url.origin} no longer accepts the subscription key`
    const refused: Warning = { code: 'key_refused', message }
    return { ...bought, warnings: [...bought.warnings, refused] }
  }
}

/** Pays the quote that was answered, and keeps the key of a window that it buys. */
export async function buy(
  request: HttpRequest,
  asked: UnpaidReply,
  settings: Settings,
  keys: SubscriptionKeys,
): Promise<Purchase> {
  const { signer, timeoutMs } = settings
  if (!signer) throw noSigner(request.url.origin, challengeOf(asked.reply))
  const paid = { ...request, method: asked.request.method }
  const bought = await purchase(paid, asked.reply, {
    ...settings,
    signer,
    deliver: (sent, payment) => deliver(settings, sent, timeoutMs, payment),
  })
  const sold = soldIn(bought.reply.headers)
  if (sold) keys.hold(request.url, sold)
  return bought
}
