/** The client's exceptions. Each says what happened to the money, because readers ask that first. */
import { SdkError, type SvcError } from '../../domain/errors.js'
import { formatUsd } from '../../domain/money.js'
import { isText } from '../../domain/untrusted-text.js'
import { type PaymentRequired, recordAt } from '../../domain/x402.js'
import { type Charged, receiptOf } from './charge-evidence.js'
import { dataOf, errorBodyOf, errorTextOf, type HttpReply, shortened } from './http-reply.js'
import { agentAt, type BalanceOffer, challengeOf } from './read-quote.js'
import type { ActiveSubscription, CallPayment, Outcome } from './result-types.js'

export function noSigner(origin: string, requirements?: PaymentRequired): SvcError {
  const message = `${origin} has to be paid, and this client has no key: give it a mnemonic or a secretKey`
  return new SdkError(message, 'no_signer', requirements && 402, requirements)
}

export function networkError(origin: string, cause: string | undefined, payment?: Charged): SvcError {
  const message = payment
    ? `${origin} stopped answering after the payment was sent (${cause}); ${fate(payment)}`
    : `${origin} did not answer (${cause})`
  return new SdkError(message, 'network_error', undefined, { cause, ...payment })
}

export function callFailed(origin: string, reply: HttpReply, payment?: Charged): SvcError {
  const { status, location } = reply
  const reason = reasonOf(reply)
  const parts = [
    `${origin} answered ${status}`,
    reason && `: ${reason.replace(/\.$/, '')}`,
    payment && `; ${fate(payment)}`,
  ]
  return new SdkError(parts.filter(Boolean).join(''), 'call_failed', status, {
    status,
    body: errorBodyOf(reply),
    ...(reason !== undefined && { reason }),
    ...(location !== undefined && { location }),
    ...payment,
  })
}

export function aborted(origin: string, payment: Charged): SvcError {
  return new SdkError(`The call to ${origin} was aborted; ${fate(payment)}`, 'aborted', undefined, payment)
}

export function quotesNoWindow(origin: string, challenge: PaymentRequired): SvcError {
  const message = `The quote of ${origin} sells one call, not a subscription window; nothing was paid`
  return new SdkError(message, 'not_a_subscription', 402, challenge)
}

export function notASubscription(origin: string, { reply, payment, sentTxId }: Outcome): SvcError {
  const did = payment ? 'took a payment' : 'asked for no payment'
  const charged = payment && sentTxId === undefined && { charged: 'yes' }
  const detail = { ...payment, ...charged, data: dataOf(reply).data }
  const message = `${origin} ${did} and issued no subscription key`
  return new SdkError(message, 'not_a_subscription', reply.status, detail)
}

export function notABalance(origin: string, did: string, reply: HttpReply, payment?: CallPayment): SvcError {
  const detail = { ...payment, ...(payment && { charged: 'yes' }), data: dataOf(reply).data }
  return new SdkError(`${origin} ${did}`, 'not_a_balance', reply.status, detail)
}

/** Only the same key asks for the same call: a payment, or another balance, would pay for it twice. */
export function balanceInDoubt(
  { message, code, status, detail }: Pick<SvcError, 'message' | 'code'> & Partial<SvcError>,
  idempotencyKey: string,
): SvcError {
  const what = `${message}; the balance may have been charged: ask again with the same idempotency key, and do not pay instead`
  const known = typeof detail === 'object' ? detail : {}
  return new SdkError(what, code, status, { ...known, charged: 'maybe', idempotencyKey })
}

/** The error of a call that was in doubt, once its seller has said whether it took anything. */
export function knownAtLast({ message, code, status, detail }: SvcError, charged: 'yes' | 'no'): SvcError {
  const what = charged === 'yes' ? 'it was charged to the balance' : 'an earlier attempt took nothing'
  return new SdkError(`${message}; ${what}, says the seller`, code, status, { ...recordAt(detail), charged })
}

export function needsBalance({ agent, accepted, only }: BalanceOffer, challenge?: PaymentRequired): SvcError {
  const [price, least] = [BigInt(accepted.amount), only!].map(formatUsd)
  const what = `topUp('${agentAt(agent)}', …), from ${least}`
  const message = `Only a balance pays for this call, which costs ${price}: buy one with ${what}; nothing was paid`
  return new SdkError(message, 'balance_required', 402, challenge)
}

/** Its detail does not have the key, which anybody could use. */
export function subscriptionRefused(
  origin: string,
  { key: _, ...window }: ActiveSubscription,
  requirements: PaymentRequired | undefined,
  fewer?: string,
): SvcError {
  const why = fewer === undefined ? '' : `. ${fewer}`
  const message = `${origin} refuses the subscription key, and its window has not ended; nothing was paid${why}`
  return new SdkError(message, 'subscription_refused', 402, { ...window, requirements })
}

export function reasonOf(reply: HttpReply): string | undefined {
  const said = saidBy(reply)
  return said && shortened(said)
}

function saidBy(reply: HttpReply): string | undefined {
  if (reply.location !== undefined) return `redirects to ${reply.location}, which is not followed`
  if (reply.oversized) return 'the body is too large to be read'
  if (reply.status === 402) {
    const refused = 'the payment was refused'
    return [receiptOf(reply.headers)?.errorReason, challengeOf(reply)?.error as unknown, refused].find(isText)
  }
  return errorTextOf(reply)
}

function fate({ charged, txId, lastValid }: Charged): string {
  if (charged === 'no') return `not charged, says the seller (payment ${txId})`
  if (charged === 'yes') return `it was charged (payment ${txId})`
  return `it may have been charged: look payment ${txId} up before paying again (it can land until round ${lastValid})`
}

export function streamBroken(origin: string, outcome: Outcome, cause: string): SvcError {
  const isPaid = outcome.payment || outcome.sentTxId !== undefined
  const told = isPaid ? '. A seller on @svc/sdk is told. Another call may pay again' : ''
  return afterAnswer(outcome, 'stream_broken', `The stream of ${origin} broke (${cause})`, told, { cause })
}

export function streamAborted(origin: string, outcome: Outcome): SvcError {
  return afterAnswer(outcome, 'aborted', `The stream of ${origin} was aborted`)
}

export function noEventStream(origin: string, outcome: Outcome, type: string): SvcError {
  const message = `${origin} answered ${type || 'without a content type'}, and no server-sent events`
  return afterAnswer(outcome, 'not_an_event_stream', message)
}

export function eventTooLarge(origin: string, outcome: Outcome, charactersMax: number): SvcError {
  const message = `${origin} sent an event of more than ${charactersMax} characters`
  return afterAnswer(outcome, 'event_too_large', message)
}

/** A success is charged, unless it repeats an answer that another payment paid for. */
function afterAnswer(
  { reply, payment, sentTxId, idempotencyKey }: Outcome,
  code: string,
  what: string,
  end = '',
  known: object = {},
): SvcError {
  const { txId = 'unknown', usd } = payment ?? {}
  const kept = idempotencyKey !== undefined && { idempotencyKey }
  const [paid, detail] =
    sentTxId !== undefined
      ? [`; it was paid earlier (payment ${txId})`, { payment, sentTxId }]
      : payment
        ? [`; it was charged $${usd} (payment ${txId})`, { txId, charged: 'yes', payment, ...kept }]
        : ['', {}]
  const status = code === 'aborted' ? undefined : reply.status
  return new SdkError(what + paid + end, code, status, { ...known, ...detail })
}
