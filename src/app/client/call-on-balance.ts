/**
 * A call on a balance that is held. The seller takes at most what its quote said. Where the end of the call is not known, only the same
 * call is made again: with the same key, on the same balance. Nothing else pays for it.
 */
import { BALANCE_KEY_HEADER, MAX_CHARGE_HEADER } from '../../domain/balance-terms.js'
import { SdkError, SvcError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import { formatUsd, parseBaseUnits } from '../../domain/money.js'
import { decodeAnswerHeader, type PaymentRequired } from '../../domain/x402.js'
import { randomId } from '../../ports/random.js'
import type { CallOptions, HttpRequest } from './build-request.js'
import { buyBalance } from './buy-balance.js'
import { isReplay } from './charge-evidence.js'
import { balanceInDoubt, callFailed } from './client-errors.js'
import type { Settings } from './client-options.js'
import type { HeldBalance } from './held-balances.js'
import { type HttpReply, isSuccess } from './http-exchange.js'
import type { Asking } from './purchase.js'
import { type BalanceOffer, challengeOf, isQuote } from './read-quote.js'
import type { BalanceReceipt, Outcome, Warning } from './result-types.js'
import type { UnpaidReply } from './send-with-retries.js'

export interface OnBalance {
  /** The answer of the call; `undefined` where no balance pays for it. */
  answer(challenge?: PaymentRequired): Promise<Outcome | undefined>
  readonly warnings: readonly Warning[]
}

const REREAD_MS = 5_000
const DOUBTS_MAX = 1_000

/** Made once a call: it knows what the call has tried, and tops up once at most. */
export function onBalance(
  request: HttpRequest,
  options: CallOptions,
  settings: Settings,
  { ask: send, accept, slot = {} }: Asking,
): OnBalance {
  const { balances, limits, topUp } = settings
  const { signal, finishPaid } = request
  const { origin } = request.url
  const given = request.headers[IDEMPOTENCY_KEY_HEADER] ?? slot.idempotencyKey
  const idempotencyKey = given ?? randomId(settings.random)
  const doubted = balances.doubts.get(idempotencyKey)
  const tried = new Set<string>()
  const repriced = new Set<string>()
  const warnings: Warning[] = []
  let hasToppedUp = false

  /** With a given key, the seller may have the answer of an earlier call, also on a balance that is used up. */
  const usable = (agent: string, most: bigint) =>
    balances.of(agent).filter(({ key, left, broken }) => {
      if (doubted !== undefined) return key === doubted && !tried.has(key)
      const mayPay = given !== undefined || (BigInt(left) >= most && !balances.isShort(key))
      return !tried.has(key) && !broken && mayPay
    })

  async function pick(agent: string, most: bigint): Promise<HeldBalance | undefined> {
    if (usable(agent, most).length === 0) await balances.read(REREAD_MS)
    const all = balances.of(agent)
    if (!topUp || hasToppedUp || doubted !== undefined || all.length === 0 || topUp.amount < most)
      return usable(agent, most)[0]
    const isEnough = () => {
      const left = usable(agent, most).reduce((sum, each) => sum + BigInt(each.left), 0n)
      return left >= topUp.below && left > 0n
    }
    // A seller that sold a balance and never served a call on it sells no second one by itself.
    const isUnproven = all.some(
      ({ key, served, broken }) => broken || (!served && (tried.has(key) || balances.isShort(key))),
    )
    if (!isEnough() && !isUnproven) {
      hasToppedUp = true
      await buyBalance(new URL(agent), topUp.amount, { signal, finishPaid }, settings, isEnough).catch(
        (error: unknown) => {
          if (!(error instanceof SvcError)) throw error
          warnings.push({ code: 'top_up_failed', message: error.message })
        },
      )
    }
    return usable(agent, most)[0]
  }

  async function sendOn(key: string, most: bigint): Promise<UnpaidReply> {
    if (signal?.aborted) throw new SdkError(`The call to ${origin} was aborted; nothing was taken`, 'aborted')
    const headers = {
      ...request.headers,
      [IDEMPOTENCY_KEY_HEADER]: idempotencyKey,
      [BALANCE_KEY_HEADER]: key,
      [MAX_CHARGE_HEADER]: String(most),
    }
    const ending = finishPaid ? undefined : signal
    try {
      const asked = await send(settings, { ...request, headers, signal: ending }, options, settings.timeoutMs)
      if ((asked.everLost || doubted !== undefined) && !isSuccess(asked.reply))
        throw callFailed(origin, asked.reply)
      balances.doubts.delete(idempotencyKey)
      slot.idempotencyKey = undefined
      return asked
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      balances.doubts.set(idempotencyKey, key)
      if (balances.doubts.size > DOUBTS_MAX) balances.doubts.delete(balances.doubts.keys().next().value!)
      slot.idempotencyKey = idempotencyKey
      throw balanceInDoubt(error, idempotencyKey)
    }
  }

  function served(agent: string, key: string, most: bigint, asked: UnpaidReply): Outcome {
    const accepted = accept(asked)
    const { balance, taken } = toldIn(asked.reply)
    const isBroken = taken > most && !(given !== undefined && isReplay(asked.reply))
    if (isSuccess(asked.reply))
      balances.heard(agent, key, {
        served: true,
        ...(balance.left !== undefined && { left: balance.left }),
        ...(isBroken && { broken: true }),
      })
    const over = `${origin} says that it took ${formatUsd(taken)} from the balance, and the call allowed ${formatUsd(most)}`
    if (isBroken) warnings.push({ code: 'charged_above_max', message: over })
    if (balance.receipt && balance.receipt.charged !== balance.charged)
      warnings.push({ code: 'balance_mismatch', message: `The receipt of ${origin} names another charge` })
    return { ...accepted, balance, idempotencyKey, warnings }
  }

  async function answer(challenge?: PaymentRequired): Promise<Outcome | undefined> {
    let offer: BalanceOffer | undefined = challenge
      ? balances.quoted(request.url, challenge)
      : balances.offerAt(request.url)
    while (offer) {
      const { agent, amount, only } = offer
      const limit = [limits.maxPrice, request.maxPrice].reduce((a, b) =>
        a === undefined || (b ?? a) < a ? b : a,
      )
      // What an endpoint that takes nothing else would cost is not quoted.
      const most = only && limit !== undefined && limit < amount ? limit : amount
      if (limit !== undefined && most > limit) return undefined
      const held = await pick(agent, most)
      if (!held && doubted !== undefined)
        throw balanceInDoubt(
          new SdkError(`The balance of an earlier call is gone`, 'balance_gone'),
          idempotencyKey,
        )
      if (!held) return undefined
      const asked = await sendOn(held.key, most)
      if (!isQuote(asked.reply)) return served(agent, held.key, most, asked)
      offer = balances.quoted(request.url, challengeOf(asked.reply))
      if (offer && !offer.only && offer.amount > most && !repriced.has(held.key)) {
        repriced.add(held.key)
      } else {
        tried.add(held.key)
        balances.short(held.key)
      }
    }
    return undefined
  }

  return { answer, warnings }
}

const ID = /^[\w-]{1,128}$/

/** What the seller says of a call on a balance. What cannot be read is left out. */
function toldIn({ headers }: HttpReply) {
  const units = (name: string) => parseBaseUnits(headers.get(name))
  const [charged, reserved, left] = ['x-svc-charged', 'x-svc-reserved', 'x-svc-balance'].map(units)
  const taken = [charged ?? 0n, reserved ?? 0n].reduce((a, b) => (a > b ? a : b))
  const receipt = receiptIn(headers.get('x-svc-receipt'))
  return {
    taken,
    balance: {
      ...(charged !== undefined && { charged: String(charged) }),
      ...(left !== undefined && { left: String(left) }),
      ...(receipt && { receipt }),
    },
  }
}

function receiptIn(header: string | null): BalanceReceipt | undefined {
  const { balance, call, ...units } = (header !== null && decodeAnswerHeader(header)) || {}
  const [charged, left] = [units.charged, units.left].map(value => parseBaseUnits(String(value)))
  if (![balance, call].every(id => typeof id === 'string' && ID.test(id))) return undefined
  if (charged === undefined || left === undefined) return undefined
  return { balance: String(balance), call: String(call), charged: String(charged), left: String(left) }
}
