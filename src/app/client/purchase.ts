/**
 * Pays one quote, once. It counts and signs the same entry that it checked, and sends the same payment at each attempt. No answer
 * makes it sign a second payment. What comes of it is an answer with what it bought, or the error that says what became of the money.
 */
import { SdkError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER, withIdentifier } from '../../domain/idempotency-key.js'
import { encodeHeader, PAYMENT_SIGNATURE_HEADER, type PaymentRequired } from '../../domain/x402.js'
import { unlessAborted } from '../../ports/clock.js'
import type { PaymentSigner, SignedPayment } from '../../ports/payment-signer.js'
import { randomId } from '../../ports/random.js'
import { fewerThanSold, momentOf, type Sale, windowSold } from './bought-subscription.js'
import type { HttpRequest } from './build-request.js'
import {
  type Charged,
  chargedBy,
  earlierPayment,
  isOfEarlierPayment,
  isSettlementOf,
  paymentOf,
  receiptWarnings,
} from './charge-evidence.js'
import { unfitRequest } from './check-before-signing.js'
import { aborted, callFailed, networkError } from './client-errors.js'
import type { Settings } from './client-options.js'
import { isSuccess } from './http-reply.js'
import { provenDelivery } from './prove-payer.js'
import { keepsKeys, type SelectedRequirements, selectRequirements, type Wanted } from './read-quote.js'
import type { ActiveSubscription, Outcome, Warning } from './result-types.js'
import type { ask, Delivery, SentPayment, UnpaidReply } from './send-with-retries.js'
import type { Reservation } from './spending-limits.js'

export interface PurchaseDeps extends Settings {
  readonly signer: PaymentSigner
  /** @default 'call' */
  readonly wanted?: Wanted
  deliver(request: HttpRequest, payment: SentPayment): Promise<Delivery>
  readonly slot?: PaymentSlot
}

/** Holds the signed payment of a call. A call whose slot is filled sends the same payment again. */
export interface PaymentSlot {
  payment?: ReadyPayment | undefined
  /** Stores the payment before it is sent. If this rejects, nothing is sent. */
  readonly keep?: (payment: ReadyPayment) => Promise<void>
  /** The key of a call on a balance whose end is unknown. A call whose slot has this key repeats that call. */
  idempotencyKey?: string | undefined
}

/** How a call asks, and what it accepts as the answer where that is no quote. */
export interface Asking {
  readonly ask: typeof ask
  readonly accept: (asked: UnpaidReply) => UnpaidReply
  readonly slot?: PaymentSlot
}

export interface ReadyPayment extends Pick<Sale, 'selected' | 'begun'> {
  readonly key: string
  readonly signed: SignedPayment
  readonly reservation: Reservation
  readonly landsUntilMs: number
}

interface SentOnce extends ReadyPayment, Sale {
  /** The answer had been lost, and the seller gave it to the proven payer of this payment. */
  readonly isProven: boolean
}

export async function purchase(
  request: HttpRequest,
  challenge: PaymentRequired | undefined,
  deps: PurchaseDeps,
): Promise<Outcome> {
  const { slot = {} } = deps
  const isResent = slot.payment !== undefined
  if (!slot.payment) {
    const ready = await readyPayment(request, challenge, deps)
    await slot.keep?.(ready)
    slot.payment = ready
  }
  return outcomeOf(request, await sendPayment(request, slot.payment, isResent, deps), deps)
}

/** Whatever it throws, nothing was sent. */
async function readyPayment(
  request: HttpRequest,
  challenge: PaymentRequired | undefined,
  deps: PurchaseDeps,
): Promise<ReadyPayment> {
  const selected = selectRequirements(request.url, challenge, deps)
  const unfit = unfitRequest(request, selected.challenge)
  if (unfit) throw unfit
  const reservation = await deps.limits.reserve(selected.accepted, request)
  const begun = momentOf(deps.clock)
  const signed = await signOrRelease(request, selected, deps, reservation)
  await reservation.attach(signed)
  // A ledger may be slow. The reservation has a payment now, and counts until the chain proves that it cannot land.
  if (request.signal?.aborted) throw new SdkError(abortedUnpaid(request), 'aborted')
  const key = request.headers[IDEMPOTENCY_KEY_HEADER] ?? randomId(deps.random)
  const rounds = Number(signed.lastValid - signed.firstValid) - ROUNDS_TO_SETTLE
  const landsUntilMs = begun.monotonicMs + rounds * ROUND_MS_MIN
  return { key, selected, signed, reservation, begun, landsUntilMs }
}

async function signOrRelease(
  request: HttpRequest,
  { challenge, accepted }: SelectedRequirements,
  { signer }: PurchaseDeps,
  reservation: Reservation,
): Promise<SignedPayment> {
  try {
    // A node may be slow, and a wallet may ask a person.
    const signing = signer.sign(challenge, accepted)
    return await unlessAborted(signing, request.signal, abortedUnpaid(request))
  } catch (error) {
    await reservation.release()
    throw error
  }
}

export function abortedUnpaid({ url }: HttpRequest): string {
  return `The call to ${url.origin} was aborted; nothing was paid`
}

/** A round takes 2.8 s. Sellers count 2.5 s, and so does the client; the signed parameters may be a round old. */
const ROUND_MS_MIN = 2_500
const ROUNDS_TO_SETTLE = 4

async function sendPayment(
  request: HttpRequest,
  ready: ReadyPayment,
  isResent: boolean,
  deps: PurchaseDeps,
): Promise<SentOnce> {
  const { key, signed, landsUntilMs } = ready
  const { accepted, challenge } = ready.selected
  const { txId } = signed
  const lastValid = Number(signed.lastValid)
  const sent = {
    txId,
    amount: accepted.amount,
    lastValid,
    ...(keepsKeys(challenge) && { idempotencyKey: key }),
  }
  const headers = {
    ...request.headers,
    [IDEMPOTENCY_KEY_HEADER]: key,
    [PAYMENT_SIGNATURE_HEADER]: encodeHeader(withIdentifier(signed.payload, key)),
  }
  const { method, url } = request
  deps.receipts.sent({ txId, method, url, accepted, lastValid })
  const paid = { ...request, headers, signal: request.finishPaid ? undefined : request.signal }
  const delivered = await deps.deliver(paid, { txId, landsUntilMs }).catch(() => {
    // Only the caller's own signal ends a delivery without an outcome. The payment may have been sent by then.
    throw aborted(url.origin, { ...sent, charged: 'maybe' })
  })
  // The end of an earlier call with this payment was in doubt, and a refusal now does not say that it was not charged then.
  const first = { ...delivered, everLost: delivered.everLost || isResent }
  const proven = await provenDelivery(paid, first, ready, deps)
  const delivery = proven ?? first
  const said = await chargedAfter(request, delivery, ready, deps)
  const charged = { ...sent, charged: proven ? ('yes' as const) : said }
  const status = delivery.reply?.status
  deps.receipts.update(txId, { charged: charged.charged, ...(status !== undefined && { status }) })
  return { ...ready, delivery, isProven: proven !== undefined, charged }
}

/** Only the chain ends its reservation. A receipt spares the look-up at the end of its validity, and shortens nothing. */
async function chargedAfter(
  request: HttpRequest,
  delivery: Delivery,
  { signed, reservation }: ReadyPayment,
  deps: PurchaseDeps,
): Promise<Charged['charged']> {
  const { reply, torn } = delivery
  if ([reply, torn].some(head => head && isSettlementOf(head, signed))) {
    await reservation.settle('claimed')
    return 'yes'
  }
  const charged = chargedBy(delivery, signed, IDEMPOTENCY_KEY_HEADER in request.headers)
  if (charged === 'yes' || !(await deps.landed(signed.txId))) return charged
  await reservation.settle('spent')
  return 'yes'
}

function outcomeOf(request: HttpRequest, sent: SentOnce, deps: PurchaseDeps): Outcome {
  const { selected, signed, delivery, isProven } = sent
  const { accepted, challenge } = selected
  const { reply, attempts, cause } = delivery
  const { origin } = request.url
  // Before the body is judged: whatever the answer is, its head may have the key of a window that was paid for.
  const { sold, terms } = windowSold(sent, deps.wanted ?? 'call') ?? {}
  const subscription = sold && deps.keys.hold(request.url, sold, terms)
  const charged = { ...sent.charged, ...(subscription && { subscription: withoutKey(subscription) }) }
  if (!reply) throw networkError(origin, cause, charged)
  if (!isSuccess(reply) || reply.oversized) throw callFailed(origin, reply, charged)
  const bought = { reply, attempts, ...(subscription && { subscription }) }
  const fewer = fewerThanSold(terms?.calls, 1, sold?.remaining)
  const warnings = [...selected.warnings, ...fewerCalls(fewer)]
  if (isOfEarlierPayment(reply, charged))
    return { ...bought, payment: earlierPayment(reply), replayed: true, sentTxId: signed.txId, warnings }
  const isUnkept = IDEMPOTENCY_KEY_HEADER in request.headers && !keepsKeys(challenge)
  const found = receiptWarnings(reply, accepted, signed, deps.signer.address, deps.network)
  return {
    ...bought,
    payment: paymentOf(signed.txId, accepted),
    replayed: isProven,
    idempotencyKey: charged.idempotencyKey,
    warnings: [...warnings, ...(isUnkept ? [UNKEPT_KEY] : []), ...found],
  }
}

function withoutKey({ key: _, ...window }: ActiveSubscription): Omit<ActiveSubscription, 'key'> {
  return window
}

export function fewerCalls(message: string | undefined): Warning[] {
  return message === undefined ? [] : [{ code: 'fewer_calls_than_sold', message }]
}

const UNKEPT_KEY: Warning = {
  code: 'idempotency_not_offered',
  message: 'The quote offers no idempotency: this key may be charged again',
}
