/**
 * Pays at a quote that an earlier call paid, without asking. The limits are checked as for a new quote.
 *
 * A 402 may mean that the terms have changed, and the seller has a signed payment by then, which it can submit until its
 * last round. So a second payment is signed only under the same lease and with the same last round: the chain takes at most
 * one of the two, and what the call can cost is the larger amount, which `maxPrice` bounds. The ledger counts both until
 * the chain proves that one is dead; a second payment that the seller says it took stays counted. Without a lease the call would have to fail here, or wait for minutes.
 *
 * No second payment is signed in three cases: the terms are the same (the payment itself was refused); an answer was lost (the
 * seller may have acted on the first payment); a window is quoted (calls at once would each buy one).
 */

import { SvcError } from '../../domain/errors.js'
import { isForWindow } from '../../domain/usd-price-for-display.js'
import type { PaymentRequired } from '../../domain/x402.js'
import type { HttpRequest } from './build-request.js'
import type { Charged } from './charge-evidence.js'
import { aborted, quoteChanged } from './client-errors.js'
import type { KeptQuote, KeptQuotes } from './kept-quotes.js'
import { outcomeOf, type Purchase } from './purchase.js'
import type { PurchaseDeps, ReadyPayment, SentOnce } from './purchase-steps.js'
import { challengeOf, isQuote, payableEntry } from './read-quote.js'
import { isSuccess } from './read-response.js'
import type { Warning } from './result-types.js'
import { keyFor, readyPayment, sendPayment } from './send-payment.js'

const LEASE_BYTES = 32

export async function purchaseAtKeptQuote(
  asked: HttpRequest,
  { method, challenge }: KeptQuote,
  deps: PurchaseDeps & { readonly quotes: KeptQuotes },
): Promise<Purchase> {
  const request = { ...asked, method }
  const key = keyFor(request, deps)
  const bytes = deps.random.bytes(LEASE_BYTES)
  const ready = await readyPayment(request, challenge, deps, { bytes })
  const first = await sendPayment(request, key, ready, deps)
  const { reply } = first.delivery
  if (reply?.status === 402) deps.quotes.distrust(asked)
  else if (!reply || !isSuccess(reply)) deps.quotes.forget(asked)
  const changed = changedQuote(first, deps)
  if (!changed) return outcomeOf(request, first, deps)

  const lease = { bytes, lastValid: first.signed.lastValid }
  const again = await readyAgain(request, changed, first, deps, lease)
  deps.receipts.rivals(first.signed.txId, again.signed.txId)
  const second = await sendPayment(request, key, again, deps).catch(() => {
    const charged = { ...first.charged, txId: again.signed.txId, charged: 'maybe' } as const
    throw aborted(request.url.origin, eitherOf(charged, first))
  })
  const bought = outcomeOf(request, await chargedOnce(first, second, deps), deps)
  return { ...bought, warnings: [...bought.warnings, changedAfter(first)] }
}

function changedAfter({ signed }: SentOnce): Warning {
  const message = `The quote that was kept did not hold: the call was paid at a new one. The chain takes one of two payments; the first was ${signed.txId}`
  return { code: 'quote_changed', message }
}

/** The other terms that a refusal asks for; `undefined` for any other answer. */
function changedQuote(
  { delivery: { reply }, charged, selected }: SentOnce,
  { network }: PurchaseDeps,
): PaymentRequired | undefined {
  // After a lost attempt it is `maybe`.
  if (!reply || !isQuote(reply) || charged.charged !== 'no') return undefined
  const challenge = challengeOf(reply)
  const entry = challenge && payableEntry(challenge, network)
  return JSON.stringify(entry) === JSON.stringify(selected.accepted) ? undefined : challenge
}

/** @throws SvcError `quote_changed`, `aborted`: the second payment was not sent, and the first is with the seller */
async function readyAgain(
  request: HttpRequest,
  changed: PaymentRequired,
  { charged }: SentOnce,
  deps: PurchaseDeps,
  lease: { readonly bytes: Uint8Array; readonly lastValid: bigint },
): Promise<ReadyPayment> {
  const { origin } = request.url
  if (isForWindow(payableEntry(changed, deps.network))) throw quoteChanged(origin, 'window', charged)
  try {
    return await readyPayment(request, changed, deps, lease)
  } catch (error) {
    const code = error instanceof SvcError ? error.code : String(error)
    throw code === 'aborted' ? aborted(origin, charged) : quoteChanged(origin, code, charged)
  }
}

/** A seller may have submitted the first payment meanwhile, whatever it says of the second. */
async function chargedOnce(first: SentOnce, second: SentOnce, deps: PurchaseDeps): Promise<SentOnce> {
  const { delivery, charged } = second
  const { txId } = first.signed
  if (!(await deps.landed(txId)))
    return charged.charged === 'yes' ? second : { ...second, charged: eitherOf(charged, first) }
  deps.receipts.landed(txId)
  await first.reservation.settle('spent')
  return { ...first, delivery, charged: { ...first.charged, charged: 'yes' } }
}

function eitherOf(charged: Charged, { signed }: SentOnce): Charged {
  return { ...charged, earlierTxId: signed.txId }
}
