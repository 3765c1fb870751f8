/**
 * A call on a balance that is held. The seller takes at most what its quote said. Where the end of the call is not known, only the same
 * call is made again: with the same key, on the same balance. Nothing else pays for it.
 */
import { SdkError, SvcError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import { formatUsd } from '../../domain/money.js'
import { BALANCE_KEY_HEADER, MAX_CHARGE_HEADER, type PaymentRequired } from '../../domain/x402.js'
import { randomId } from '../../ports/random.js'
import type { HttpRequest } from './build-request.js'
import { buyBalance, SENT_KEPT_MS } from './buy-balance.js'
import { balanceIn, isReplay } from './charge-evidence.js'
import { balanceInDoubt, callFailed, knownAtLast } from './client-errors.js'
import type { Settings } from './client-options.js'
import type { HeldBalance } from './held-balances.js'
import { errorCodeOf, exchangeOver, type HttpReply, isSuccess } from './http-reply.js'
import type { Asking } from './purchase.js'
import { type BalanceOffer, challengeOf, isQuote } from './read-quote.js'
import type { Outcome, StreamCost, Warning } from './result-types.js'
import { ONCE, pause, type UnpaidReply } from './send-with-retries.js'

const GONE = { message: 'The balance of an earlier call is gone', code: 'balance_gone' }
export const REREAD_MS = 5_000
/** A balance that other calls hold is asked again, after pauses that double, for a minute. */
const HELD_PAUSE_MS = 100
const HELD_PAUSE_MAX_MS = 3_200
const HELD_MAX_MS = 60_000
const COST_POLL_MS = 100
/** A call has its answer by then, and waits no longer. */
const COST_MS = 10_000

/** Made once a call: it knows what the call has tried, and tops up once at most. */
export function onBalance(
  request: HttpRequest,
  settings: Settings,
  { ask: send, accept, slot = {} }: Asking,
) {
  const { balances, clock, limits, topUp } = settings
  const { signal, finishPaid } = request
  const options = { signal, finishPaid }
  const { origin } = request.url
  const nothing = `The call to ${origin} was aborted; nothing was taken`
  const given = request.headers[IDEMPOTENCY_KEY_HEADER] ?? slot.idempotencyKey
  const idempotencyKey = given ?? randomId(settings.random)
  const doubt = balances.doubtOf(request.url, idempotencyKey)
  const begunMs = doubt?.begunMs ?? clock.now()
  /** While the end of an earlier attempt on this balance is not known, the call is made on no other. */
  let only = doubt?.key
  let refusal: HttpReply | undefined
  const tried = new Set<string>()
  /** Balances that would suffice without what other calls have reserved. */
  const held = new Set<string>()
  let heldMs = HELD_PAUSE_MS
  const heldUntilMs = clock.monotonic() + HELD_MAX_MS
  const warnings: Warning[] = []
  let hasToppedUp = false
  let isRepriced = false
  /** Of the stream that the call has opened. */
  let reader: Outcome['reader']
  let hasAskedAll = false

  /** With a given key, the seller may have the answer of an earlier call, also on a balance that is used up. */
  const usable = (agent: string, most: bigint) =>
    balances.of(agent).filter(({ key, left, broken }) => {
      if (only !== undefined) return key === only && !tried.has(key)
      const mayPay = given !== undefined || (BigInt(left) >= most && !balances.isShort(key))
      return !tried.has(key) && !broken && mayPay
    })

  /** An attempt that was lost may still arrive. */
  function unlessSent(ended: SvcError): never {
    if (only === undefined) throw ended
    balances.doubt(request.url, idempotencyKey, { key: only, begunMs })
    slot.idempotencyKey = idempotencyKey
    throw balanceInDoubt(ended, idempotencyKey)
  }

  async function pick(agent: string, most: bigint): Promise<HeldBalance | undefined> {
    if (usable(agent, most).length === 0) await balances.read(REREAD_MS)
    // While other calls hold a part of the balances that they may give back, nothing is bought and nothing is paid.
    while (usable(agent, most).length === 0 && held.size > 0) {
      const mayWait = clock.monotonic() < heldUntilMs && [...held].some(balances.mayBeFreed)
      if (mayWait) await pause(clock, heldMs, signal, nothing).catch(unlessSent)
      heldMs = Math.min(2 * heldMs, HELD_PAUSE_MAX_MS)
      for (const key of held) mayWait ? tried.delete(key) : balances.short(key)
      held.clear()
    }
    const all = balances.of(agent)
    if (!topUp || hasToppedUp || only !== undefined || all.length === 0 || topUp.amount < most)
      return usable(agent, most)[0]
    const isEnough = (isBusy = false) => {
      const left = usable(agent, most).reduce((sum, each) => sum + BigInt(each.left), 0n)
      return (isBusy || left >= topUp.below) && left > 0n
    }
    // A seller that sold a balance and never served a call on it sells no second one by itself.
    const isUnproven = all.some(
      ({ key, served, broken }) => broken || (!served && (tried.has(key) || balances.isShort(key))),
    )
    if (!isEnough() && !isUnproven) {
      // Of a stream, and by fetch, only the answer to the call itself is handed over unread.
      const whole = { ...settings, exchange: exchangeOver(settings.fetchImpl, clock) }
      try {
        const bought = await buyBalance(new URL(agent), topUp.amount, options, whole, isEnough)
        hasToppedUp = bought !== undefined
      } catch (error) {
        hasToppedUp = true
        // An abort is the end of the call, whose error tells of the payment that was sent for it.
        if (!(error instanceof SvcError) || signal?.aborted) throw error
        warnings.push({ code: 'top_up_failed', message: error.message })
      }
    }
    return usable(agent, most)[0]
  }

  const on = (key: string, most: bigint, ending: AbortSignal | undefined): HttpRequest => {
    const named = { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey, [BALANCE_KEY_HEADER]: key }
    const headers = { ...request.headers, ...named, [MAX_CHARGE_HEADER]: String(most) }
    return { ...request, headers, signal: ending }
  }

  async function sendOn(key: string, offer: BalanceOffer, most: bigint): Promise<UnpaidReply> {
    if (signal?.aborted) throw new SdkError(nothing, 'aborted')
    const call = balances.begin(key)
    let isCounted = false
    try {
      const asked = await send(settings, on(key, most, finishPaid ? undefined : signal))
      const { reply } = asked
      const { reserved, balance } = balanceIn(reply)
      if (asked.everLost) only = key
      isCounted = errorCodeOf(reply) === 'answer_not_kept' && balance.charged !== undefined
      const mayBeTaken = only !== undefined || reply.status < 400 || isCounted
      // While its seller keeps the key, a 402 means that nothing was taken under it.
      const isKept = Math.abs(clock.now() - begunMs) < SENT_KEPT_MS
      const isNew = isKept && isQuote(reply) && reserved !== undefined
      if (mayBeTaken && !isNew && (!isSuccess(reply) || reply.oversized)) throw callFailed(origin, reply)
      balances.doubt(request.url, idempotencyKey)
      slot.idempotencyKey = undefined
      const isOpen = reply.body !== undefined && balance.charged === undefined
      if (isOpen) call.reads(false)
      else call.over()
      reader = isOpen ? call : undefined
      return asked
    } catch (error) {
      call.over()
      if (!(error instanceof SvcError)) throw error
      balances.doubt(request.url, idempotencyKey, isCounted ? undefined : { key, offer, begunMs })
      slot.idempotencyKey = isCounted ? undefined : idempotencyKey
      throw isCounted ? knownAtLast(error, 'yes') : balanceInDoubt(error, idempotencyKey)
    }
  }

  function served(agent: string, key: string, most: bigint, asked: UnpaidReply): Outcome {
    const accepted = accept(asked)
    const { balance, taken } = balanceIn(asked.reply)
    const isBroken = taken > most && !(given !== undefined && isReplay(asked.reply))
    const { left } = balance
    if (isSuccess(asked.reply))
      balances.heard(agent, key, { served: true, ...(left && { left }), ...(isBroken && { broken: true }) })
    const over = `${origin} took ${formatUsd(taken)} from the balance; the call allowed ${formatUsd(most)}`
    if (isBroken) warnings.push({ code: 'charged_above_max', message: over })
    if (balance.receipt && balance.receipt.charged !== balance.charged)
      warnings.push({ code: 'balance_mismatch', message: `The receipt names another charge` })
    const isStream = isSuccess(asked.reply) && balance.charged === undefined
    return { ...accepted, balance, idempotencyKey, warnings, reader, ...(isStream && { cost }) }

    /** Asks for the kept answer of a stream. Under a limit of nothing no handler runs: a call that cost nothing is quoted. */
    async function cost(): Promise<StreamCost> {
      const endMs = clock.monotonic() + Math.min(settings.timeoutMs, COST_MS)
      for (;;) {
        const restMs = endMs - clock.monotonic()
        const { reply } = await send({ ...settings, retry: ONCE, timeoutMs: restMs }, on(key, 0n, undefined))
        await reply.body?.cancel()
        const { charged } = isQuote(reply) ? { charged: '0' } : balanceIn(reply).balance
        if (charged !== undefined) {
          const rest = BigInt(left ?? 0) - BigInt(charged)
          const told = left && { left: String(rest > 0n ? rest : 0n) }
          balances.heard(agent, key, BigInt(charged) > most ? { broken: true } : { ...told })
          return { charged, ...told }
        }
        const isCounting = errorCodeOf(reply) === 'idempotency_in_progress' && restMs > COST_POLL_MS
        if (!isCounting) throw callFailed(origin, reply)
        await pause(clock, COST_POLL_MS, undefined, '')
      }
    }
  }

  /** A key that was given may have its answer on any balance. Under a limit of nothing none runs the call again. */
  async function keptAnswer(offer: BalanceOffer, most: bigint): Promise<Outcome | undefined> {
    if (given === undefined || only !== undefined || hasAskedAll) return undefined
    hasAskedAll = true
    await balances.read(REREAD_MS)
    const all = balances.of(offer.agent)
    for (const { key } of all.length > 1 || all[0]?.broken ? all : []) {
      const asked = await sendOn(key, offer, 0n)
      if (!isQuote(asked.reply)) return served(offer.agent, key, most, asked)
    }
    return undefined
  }

  async function answer(challenge?: PaymentRequired): Promise<Outcome | undefined> {
    let offer = challenge ? balances.quoted(request.url, challenge) : balances.offerAt(request.url)
    // What was paid for by itself is asked for by a payment, and what a balance paid for on that balance, whatever is offered now.
    if (slot.payment || (doubt && !doubt.key)) return undefined
    offer = doubt?.offer ?? offer
    while (offer) {
      const { agent, accepted } = offer
      const most = BigInt(accepted.amount)
      if (limits.aboveMaxPrice(accepted, request)) return undefined
      if (given !== undefined && !doubt && (await balances.isAlone(agent, request.url, given)))
        return undefined
      const kept = await keptAnswer(offer, most)
      if (kept) return kept
      const found = await pick(agent, most)
      if (!found && only !== undefined)
        throw refusal ? knownAtLast(callFailed(origin, refusal), 'no') : balanceInDoubt(GONE, idempotencyKey)
      if (!found) return undefined
      const { key } = found
      const asked = await sendOn(key, offer, most)
      if (!isQuote(asked.reply)) return served(agent, key, most, asked)
      refusal = asked.reply
      offer = balances.quoted(request.url, challengeOf(refusal))
      if (offer && BigInt(offer.accepted.amount) > most && !isRepriced) {
        isRepriced = true
      } else {
        tried.add(key)
        const { balance, reserved = 0n } = balanceIn(refusal)
        const price = BigInt(offer?.accepted.amount ?? most)
        if (reserved > 0n && BigInt(balance.left ?? 0) + reserved >= price) {
          held.add(key)
        } else {
          balances.short(key, balance.left !== undefined)
          // An earlier attempt that still arrives there is refused, too: a balance becomes no larger.
          only = undefined
        }
      }
    }
    return undefined
  }

  return { answer, warnings }
}
