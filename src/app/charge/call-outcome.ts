/** Turns the record of a finished call into its outcome. A transport then renders the outcome. */
import { answerCode } from '../../domain/answer-codes.js'
import { reportsCharge } from '../../domain/income-bookings.js'
import { type ChargeDrawing, type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { Walked } from '../../domain/state-machine/run-machine.js'
import { cutText } from '../../domain/untrusted-text.js'
import type { Receipt } from '../../domain/x402.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { BalanceTold, Challenge, ChargeOutcome, Problem } from '../../ports/charge.js'
import { type Call, type ReplayedAnswer, spanIdOf } from './call-at-work.js'
import type { ChargeDeps } from './charge-deps.js'
import { balanceId, windowId } from './names-in-stores.js'

export function outcomeOf(
  deps: ChargeDeps,
  call: Call,
  { final, path }: Walked<ChargeDrawing>,
): ChargeOutcome {
  const { traceId } = call
  const { replayed } = call.earlier
  const { kind, charged, status } = OUTCOMES[final]
  const { retryAfterMs } = call.end
  const usualMs = status === 503 ? UNAVAILABLE_RETRY_MS : undefined
  const answer = final === 'replayed' ? replayed!.answer : call.handled.answer
  return {
    final,
    path,
    traceId,
    spanId: spanIdOf(call),
    // If the handler answered its failure with a body, send that body.
    ...((kind === 'answer' || final === 'failed') && answer
      ? { answer }
      : { problem: problemOf(call, final) }),
    challenge: kind === 'payment' ? challengeOf(call) : undefined,
    receipt: receiptOf(deps, call, final),
    subscription:
      final === 'settled' ? call.window.sold : charged === 'earlier' ? replayed!.window : undefined,
    callsLeft: callsLeftOf(call, final),
    balance: balanceOf(call, final),
    // Every 503 says when to retry, whichever event led to it.
    retryAfterMs: retryAfterMs === undefined ? usualMs : Math.max(0, retryAfterMs),
  }
}

/** Of the window that the answer is about: the one that was sold, or the one whose key the caller sent. */
function callsLeftOf({ window, earlier: { replayed } }: Call, final: ChargeFinal): number | undefined {
  if (final === 'settled') return window.sold?.callsLeft
  if (OUTCOMES[final].charged === 'earlier') return replayed!.window?.callsLeft ?? replayed!.callsLeft
  return window.callsLeft
}

function balanceOf({ balance, earlier, handled }: Call, final: ChargeFinal): BalanceTold | undefined {
  if (balance === undefined) return undefined
  const { id, held, left } = balance
  if (OUTCOMES[final].charged === 'earlier') return { id, charged: earlier.replayed!.charged }
  // What a stream costs is known when it has ended.
  if (final !== 'counted') return { id, reserved: held, left }
  const isOver = handled.streamEnd === undefined
  return isOver ? { id, charged: balance.charged, left } : { id, reserved: balance.reserved, left }
}

/**
 * The outcome of a call that ended without its own charge and found that another call holds its key or its payment:
 * the process was suspended, or the store was. The other call may charge the same payment, so the answer says nothing
 * about a charge and quotes no price.
 */
export function takenOver(deps: ChargeDeps, call: Call, walked: Walked<ChargeDrawing>): ChargeOutcome {
  Object.assign(call.end, { problem: undefined, refusal: undefined, retryAfterMs: TAKEN_OVER_RETRY_MS })
  return outcomeOf(deps, call, { ...walked, final: 'superseded' })
}

const TAKEN_OVER_RETRY_MS = 2_000

export function endedCall(
  deps: ChargeDeps,
  call: Call,
  outcome: ChargeOutcome,
  { final, path, timingsMs }: Walked<ChargeDrawing>,
): EndedCall {
  const { traceId, answer, problem, receipt } = outcome
  const { status, code } = OUTCOMES[outcome.final]
  const { charged } = OUTCOMES[final]
  const isReported = reportsCharge({ charged, path })
  return {
    id: call.id,
    traceId,
    parentSpan: call.parentSpan,
    endpoint: call.endpoint.def.name,
    final,
    path,
    timingsMs,
    status: (answer ?? problem!).status ?? status,
    code: problem?.code ?? code,
    charged,
    startedMs: call.startedMs,
    ms: Math.round(deps.clock.monotonic() - call.startedMonotonicMs),
    txId: receipt?.txId || call.payment.txId,
    payer: receipt?.payer ?? call.payment.payer,
    ...unitsOf(deps, call, outcome, isReported),
    window: call.window.used?.id ?? (isReported ? boughtWindow(call, outcome) : undefined),
    ...(isReported && {
      amount: receipt?.amount,
      asset: receipt?.asset,
      ...(outcome.subscription && { windowEndsMs: outcome.subscription.expiresAtMs }),
    }),
    mismatch: call.end.mismatch,
    ...(deps.rules.keepsMessages && messagesOf(call, outcome)),
  }
}

function boughtWindow({ endpoint }: Call, { subscription }: ChargeOutcome): string | undefined {
  if (subscription === undefined || subscription.units !== undefined) return undefined
  return windowId(endpoint.owner, subscription.key)
}

/** What the call sold or took of a balance. */
function unitsOf(
  deps: ChargeDeps,
  { balance }: Call,
  { final, subscription }: ChargeOutcome,
  isReported: boolean,
): Pick<EndedCall, 'units'> | undefined {
  if (subscription?.units !== undefined && isReported)
    return { units: { balance: balanceId(deps.owner, subscription.key), sold: subscription.units } }
  if (balance?.charged === undefined) return undefined
  const { id, charged, left, isInDoubt } = balance
  if (final === 'uncounted' || isInDoubt) return { units: { balance: id, inDoubt: charged } }
  return final === 'counted' ? { units: { balance: id, used: charged, left } } : undefined
}

/** A quote is no failure, and its message is always the same. */
function messagesOf({ handled: { thrown, logs } }: Call, { final, problem }: ChargeOutcome) {
  const error = final === 'quoted' ? undefined : (thrown ?? problem?.message)
  return { error: error && cutText(error, ERROR_LENGTH_MAX), ...(logs.length > 0 && { logs: [...logs] }) }
}

/** Some errors quote the whole body that they are about. */
const ERROR_LENGTH_MAX = 4_000

/** In these states the caller may have paid, and needs the transaction id to find out. */
const NAMES_TX: ReadonlySet<ChargeFinal> = new Set([
  'paymentSpent',
  'paymentInUse',
  'superseded',
  'answerNotKept',
  'inDoubt',
  'undecided',
])

const UNAVAILABLE_RETRY_MS = 5_000

function problemOf(call: Call, final: ChargeFinal): Problem {
  const { problem } = call.end
  const { logs } = call.handled
  const txId = final === 'answerNotKept' ? call.earlier.replayed!.txId : call.payment.txId
  // It may say "not charged" about a payment whose outcome is unknown, while another call that holds it may charge it.
  const refusal = OUTCOMES[final].status === 402 ? call.end.refusal : undefined
  return {
    ...problem,
    message: problem?.message ?? refusal ?? MESSAGES[final],
    fields: {
      ...problem?.fields,
      ...(NAMES_TX.has(final) && txId !== undefined && { txId }),
      ...(logs.length > 0 && { logs }),
    },
  }
}

function challengeOf({ endpoint, request, terms, end }: Call): Challenge | undefined {
  const { requirements } = terms
  if (requirements === undefined) return undefined
  const why = end.refusal ?? MESSAGES.unsettled
  return endpoint.terms.challenge(request.baseUrl, requirements, why, request.target!.path)
}

function receiptOf(deps: ChargeDeps, call: Call, final: ChargeFinal): Receipt | undefined {
  const { requirements } = call.terms
  const { payer, txId } = call.payment
  const { replayed } = call.earlier
  const { refusal = MESSAGES.unsettled } = call.end
  if (final === 'unsettled') return receipt(deps, { payer, ...requirements! }, refusal)
  const { charged } = OUTCOMES[final]
  if (charged === 'yes') return receipt(deps, { payer, txId, ...requirements! })
  // A call that a window covered has no payment of its own.
  if (charged === 'earlier' && replayed!.amount !== '0') return receipt(deps, replayed!)
  return undefined
}

type Settled = Pick<ReplayedAnswer, 'amount' | 'asset'> & Partial<ReplayedAnswer>

/** Has the official receipt's fields and those of this specification, and the network's id as the payer spelt it. */
function receipt(
  deps: ChargeDeps,
  { amount, asset, network = deps.owner.network.caip2, txId = '', payer }: Settled,
  errorReason?: string,
): Receipt {
  const success = errorReason === undefined
  return { success, errorReason, transaction: txId, network, payer, txId, amount, asset }
}

/** What a caller who gets no answer is told at each end: what happened, whether it was charged, and what to do next. */
export const MESSAGES = Object.fromEntries(
  Object.entries(OUTCOMES).map(([final, { code }]) => [final, answerCode(code).words]),
) as Readonly<Record<ChargeFinal, string>>
