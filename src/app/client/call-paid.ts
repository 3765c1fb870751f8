/** One call, paid where it asks to be paid. `call` and `stream` differ only in what they do with the answer's body. */
import { SvcError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import { usdNumber } from '../../domain/money.js'
import { isForWindow } from '../../domain/price-for-display.js'
import { memberAt, type PaymentRequired, type PaymentRequirements, recordAt } from '../../domain/x402.js'
import { unlessAborted } from '../../ports/clock.js'
import type { HttpRequest } from './build-request.js'
import { onBalance, REREAD_MS } from './call-on-balance.js'
import { unfitRequest } from './check-before-signing.js'
import {
  needsBalance,
  noSigner,
  notASubscription,
  quotesNoWindow,
  reasonOf,
  subscriptionRefused,
} from './client-errors.js'
import type { Settings } from './client-options.js'
import { isSoldByTheCall } from './fetch-manifest.js'
import type { HeldBalance } from './held-balances.js'
import { type Asking, abortedUnpaid, fewerCalls, purchase } from './purchase.js'
import {
  type BalanceOffer,
  balanceByCall,
  challengeOf,
  isQuote,
  payableEntry,
  resourceIn,
  selectRequirements,
  type Wanted,
} from './read-quote.js'
import type { ActiveSubscription, Outcome, QuoteResult } from './result-types.js'
import { ask, askBriefly, deliver, succeeded, type UnpaidReply } from './send-with-retries.js'
import { type Verdict, withKey } from './subscription-keys.js'

const SUCCESSES: Asking = { ask, accept: succeeded }

export async function callPaid(
  request: HttpRequest,
  settings: Settings,
  asking = SUCCESSES,
): Promise<Outcome> {
  const { keys } = settings
  const tried = new Set<string | undefined>([undefined])
  let refused: ActiveSubscription | undefined
  const doubt = settings.balances.doubtOf(request.url, request.headers[IDEMPOTENCY_KEY_HEADER])
  // The answer to a payment is asked for by a payment, and that of a window by its key, whatever other window is open now.
  const isResent = asking.slot?.payment !== undefined || doubt?.isLost === true
  let key = isResent ? undefined : (doubt?.window ?? keys.keyFor(request))
  const fromBalance = onBalance(request, settings, asking)
  const served = key === undefined ? await fromBalance.answer() : undefined
  if (served) return served
  for (;;) {
    const mayPay = settings.signer || key !== undefined || settings.balances.list().length > 0
    if (!mayPay && asking === SUCCESSES) throw noSigner(request.url.origin)
    const { asked, verdict } = await askWith(key, request, settings, asking)
    if (!isQuote(asked.reply)) return { ...asking.accept(asked), warnings: fewerCalls(verdict.fewer) }
    const challenge = challengeOf(asked.reply)
    const resource = resourceIn(challenge)
    refused = verdict.refused ?? refused
    tried.add(key)
    // Another call may be buying a window, or have bought one since this one asked. The quote may be for another window than the key.
    const other = () => keys.purchaseOf(request.url, resource)
    const hasNews = () => !isResent && (other() || !tried.has(keys.keyFor(request, resource)))
    const taken = key !== undefined || hasNews() ? undefined : await fromBalance.answer(challenge)
    if (taken) return taken
    // Asked after that wait: from here to the purchase nothing waits.
    if (hasNews()) {
      // Without this wait, 8 calls at once in a window with one call left bought 7 windows, and lost 6 of their keys.
      await unlessAborted(Promise.resolve(other()), request.signal, abortedUnpaid(request))
      key = keys.keyFor(request, resource)
      continue
    }
    const offer = settings.balances.offerAt(request.url)
    if (offer?.only)
      throw settings.limits.aboveMaxPrice(offer.accepted, request) ?? needsBalance(offer, challenge)
    if (refused) throw subscriptionRefused(request.url.origin, refused, challenge, verdict.fewer)
    const entry = challenge && payableEntry(challenge, settings.network)
    const unkept = asking === SUCCESSES && balanceByCall(request.url, entry)
    if (unkept) throw unkept
    const isWindow = key !== undefined || isForWindow(entry)
    const { method } = asked.request
    const buying = buy({ ...request, method }, challenge, settings, asking)
    const paid = await (isWindow ? keys.purchasing(request.url, resource, buying) : buying)
    const bought = { ...paid, warnings: [...fromBalance.warnings, ...paid.warnings] }
    if (key === undefined || verdict.isElsewhere) return bought
    const message = `${request.url.origin} no longer accepts the subscription key`
    return { ...bought, warnings: [...bought.warnings, { code: 'key_refused', message }] }
  }
}

async function askWith(
  key: string | undefined,
  request: HttpRequest,
  settings: Settings,
  { ask: send, accept }: Asking,
): Promise<{ asked: UnpaidReply; verdict: Verdict }> {
  if (key === undefined) return { asked: await send(settings, request), verdict: {} }
  settings.keys.sent(request.url, key)
  const covered = withKey(request, key, settings.random)
  const { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey = '' } = covered.headers
  try {
    const asked = await send(settings, covered)
    const verdict = settings.keys.answered(request.url, key, asked)
    if (asked.everLost && !isQuote(asked.reply)) accept(asked)
    settings.balances.doubt(request.url, idempotencyKey)
    return { asked, verdict }
  } catch (error) {
    settings.balances.doubt(request.url, idempotencyKey, { window: key })
    if (error instanceof SvcError)
      Object.assign(error, { detail: { ...recordAt(error.detail), idempotencyKey } })
    throw error
  }
}

/** Buys a window, unless another call is buying one: then it is a call with that one's key. */
export async function buyWindow(
  request: HttpRequest,
  settings: Settings,
): Promise<Outcome & { readonly subscription: ActiveSubscription }> {
  if (!settings.signer) throw noSigner(request.url.origin)
  const outcome = await boughtWindow(request, settings)
  if (!outcome.subscription) throw notASubscription(request.url.origin, outcome)
  return { ...outcome, subscription: outcome.subscription }
}

async function boughtWindow(request: HttpRequest, settings: Settings): Promise<Outcome> {
  const { keys } = settings
  const before = keys.known()
  const asked = await ask(settings, request)
  if (!isQuote(asked.reply)) return { ...succeeded(asked), warnings: [] }
  const challenge = challengeOf(asked.reply)
  const entry = challenge && payableEntry(challenge, settings.network, 'window')
  if (entry && !isForWindow(entry) && (await isSoldByTheCall(request, challenge, settings)))
    throw quotesNoWindow(request.url.origin, challenge)
  const resource = resourceIn(challenge)
  const other = keys.purchaseOf(request.url, resource)
  if (other) await unlessAborted(other, request.signal, abortedUnpaid(request))
  // Another call may have bought a window since this one asked.
  const newest = () => keys.of(request.url, resource).findLast(({ key }) => !before.has(key))
  if (other || newest()) {
    const outcome = await callPaid(request, settings)
    return { ...outcome, subscription: newest() ?? outcome.subscription }
  }
  const { method } = asked.request
  const buying = buy({ ...request, method }, challenge, settings, SUCCESSES, 'window')
  return keys.purchasing(request.url, resource, buying)
}

async function buy(
  request: HttpRequest,
  challenge: PaymentRequired | undefined,
  settings: Settings,
  { slot = {} }: Asking,
  wanted: Wanted = 'call',
): Promise<Outcome> {
  const { balances, signer } = settings
  if (!signer) throw noSigner(request.url.origin, challenge)
  const given = request.headers[IDEMPOTENCY_KEY_HEADER]
  const isNews = given !== undefined && (await balances.setAlone(request.url, given, true))
  const isSaid = given !== undefined
  let end = isSaid ? { isLost: false } : undefined
  try {
    return await purchase(request, challenge, {
      ...settings,
      signer,
      wanted,
      slot,
      deliver: (sent, payment) => deliver(settings, sent, payment),
    })
  } catch (error) {
    const isOver = error instanceof SvcError && memberAt(error.detail, 'charged') === 'no'
    end = isOver ? undefined : { isLost: true }
    throw error
  } finally {
    if (slot.payment) await balances.endAlone(request.url, slot.payment.key, isSaid, end)
    else if (isNews) await balances.setAlone(request.url, given, false).catch(() => {})
  }
}

export async function quoteCall(request: HttpRequest, settings: Settings): Promise<QuoteResult> {
  const { reply } = await askBriefly(settings, request)
  const { status } = reply
  if (status === 402) return { paymentRequired: true, status, requirements: challengeOf(reply) }
  const reason = status < 400 ? undefined : reasonOf(reply)
  return { paymentRequired: false, status, ...(reason !== undefined && { reason }) }
}

/** What a call would cost, and whether it would be paid. */
export interface Estimate {
  /**
   * What the call would cost, in USD: 0 where nothing would be paid; `null` where the quote offers no way for this client to pay.
   */
  readonly usd: number | null
  /** The entry of the quote that would be paid. */
  readonly accepted?: PaymentRequirements
  /** A held subscription key covers the call. Where the URL alone does not show it, the quote was asked for. */
  readonly covered?: true
  /** A balance pays, and `usd` is the most that the call takes from it. Where too little is left, `topUp` buys again first. */
  readonly onBalance?: true
  /** What `call` would throw instead of paying, by the quote and the limits as they stand; absent where it would pay. */
  readonly refusal?: SvcError
}

/** What `callPaid` would pay, and whether it would. Pays nothing; without a quote, the endpoint did its work for nothing. */
export async function estimateCall(request: HttpRequest, settings: Settings): Promise<Estimate> {
  const { keys } = settings
  if (keys.covers(request.url)) return { usd: 0, covered: true }
  const asked = await askBriefly(settings, request)
  if (!isQuote(asked.reply)) {
    succeeded(asked)
    return { usd: 0 }
  }
  const challenge = challengeOf(asked.reply)
  const sold = resourceIn(challenge)
  if (sold !== undefined && keys.covers(request.url, sold)) return { usd: 0, covered: true }
  return estimateOf(asked.request, challenge, settings)
}

export async function estimateOf(
  asked: HttpRequest,
  challenge: PaymentRequired | undefined,
  settings: Settings,
): Promise<Estimate> {
  const { balances, limits } = settings
  let offer: BalanceOffer | undefined
  let accepted: PaymentRequirements
  try {
    offer = balances.quoted(asked.url, challenge)
    accepted = offer?.accepted ?? selectRequirements(asked.url, challenge, settings).accepted
  } catch (error) {
    if (error instanceof SvcError) return { usd: null, refusal: error }
    throw error
  }
  const estimate = { usd: usdNumber(BigInt(accepted.amount)), accepted }
  if (offer) await balances.read(REREAD_MS)
  const pays = ({ left, broken }: HeldBalance) =>
    !broken && (settings.topUp !== undefined || BigInt(left) >= BigInt(accepted.amount))
  if (offer && !limits.aboveMaxPrice(accepted, asked) && balances.of(offer.agent).some(pays))
    return { ...estimate, onBalance: true }
  const refusal = offer?.only
    ? (limits.aboveMaxPrice(accepted, asked) ?? needsBalance(offer, challenge))
    : (balanceByCall(asked.url, accepted) ??
      unfitRequest(asked, challenge!) ??
      (await limits.refusalOf(accepted, asked)))
  return { ...estimate, ...(refusal && { refusal }) }
}
