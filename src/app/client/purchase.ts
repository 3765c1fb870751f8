/**
 * Pays one quote, once. It signs the same entry that it checked, and sends the same payment at each attempt. No answer
 * makes it sign a second payment; only a payment at a kept quote may have one, see `purchase-at-kept-quote.ts`.
 */
import { SdkError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import type { NetworkFacts } from '../../domain/network.js'
import { withIdentifier } from '../../domain/payment-identifier.js'
import { usdNumber } from '../../domain/usd-price-for-display.js'
import {
  encodeHeader,
  PAYMENT_SIGNATURE_HEADER,
  type PaymentRequired,
  type PaymentRequirements,
} from '../../domain/x402.js'
import type { Clock } from '../../ports/clock.js'
import type { Lease, PaymentSigner, SignedPayment } from '../../ports/payment-signer.js'
import type { Random } from '../../ports/random.js'
import { randomId } from '../../ports/random-id.js'
import { unlessAborted } from '../../ports/timeouts-and-aborts.js'
import type { HttpRequest } from './build-request.js'
import { type Charged, chargedBy, contradictions, isReplay, receiptOf } from './charge-evidence.js'
import { aborted, callFailed, networkError } from './client-errors.js'
import { unfitRequest } from './declared-input.js'
import { keepsKeys, type SelectedRequirements, selectRequirements } from './read-quote.js'
import { isSuccess } from './read-response.js'
import type { ReceiptBook } from './receipts.js'
import type { CallPayment, Warning } from './result-types.js'
import type { HttpReply } from './send-request.js'
import type { Delivery, SentPayment } from './send-with-retries.js'
import type { Reservation, SpendingLimits } from './spending-limits.js'

export interface PurchaseDeps {
  readonly network: NetworkFacts
  readonly signer: PaymentSigner
  readonly limits: SpendingLimits
  readonly receipts: ReceiptBook
  readonly strictResource: boolean
  readonly clock: Clock
  readonly random: Random
  deliver(request: HttpRequest, payment: SentPayment): Promise<Delivery>
  /** Whether the node knows a transaction as landed. False proves nothing. */
  landed(txId: string): Promise<boolean>
}

export interface Purchase {
  readonly reply: HttpReply
  readonly attempts: number
  /** What was signed. */
  readonly accepted: PaymentRequirements
  readonly payment?: CallPayment
  readonly replayed: boolean
  readonly sentTxId?: string
  readonly idempotencyKey?: string
  readonly warnings: readonly Warning[]
}

export async function purchase(
  request: HttpRequest,
  challenge: PaymentRequired | undefined,
  deps: PurchaseDeps,
): Promise<Purchase> {
  const ready = await readyPayment(request, challenge, deps)
  return outcomeOf(request, await sendPayment(request, keyFor(request, deps), ready, deps), deps)
}

export function keyFor({ headers }: HttpRequest, { random }: Pick<PurchaseDeps, 'random'>): string {
  return headers[IDEMPOTENCY_KEY_HEADER] ?? randomId(random)
}

/** A payment that is counted and signed, and that has not left this process. */
export interface ReadyPayment {
  readonly selected: SelectedRequirements
  readonly signed: SignedPayment
  readonly reservation: Reservation
  readonly landsUntilMs: number
}

/** Whatever it throws, nothing was sent. */
export async function readyPayment(
  request: HttpRequest,
  challenge: PaymentRequired | undefined,
  deps: PurchaseDeps,
  lease?: Lease,
): Promise<ReadyPayment> {
  const selected = selectRequirements(request.url, challenge, deps)
  const unfit = unfitRequest(request, selected.challenge)
  if (unfit) throw unfit
  const reservation = await deps.limits.reserve(selected.accepted, request)
  const begunMs = deps.clock.monotonic()
  const signed = await signOrRelease(request, selected, deps.signer, reservation, lease)
  await reservation.attach(signed)
  // A ledger may be slow. The reservation has a payment now, and counts until the chain proves that it cannot land.
  if (request.signal?.aborted) throw new SdkError(abortedUnpaid(request), 'aborted')
  return { selected, signed, reservation, landsUntilMs: begunMs + landsForMs(signed) }
}

export interface SentOnce extends ReadyPayment {
  readonly delivery: Delivery
  readonly charged: Charged
}

/** @throws SvcError `aborted` */
export async function sendPayment(
  request: HttpRequest,
  key: string,
  ready: ReadyPayment,
  deps: PurchaseDeps,
): Promise<SentOnce> {
  const { signed, reservation, landsUntilMs } = ready
  const { txId } = signed
  const sent = {
    txId,
    lastValid: Number(signed.lastValid),
    ...(keepsKeys(ready.selected.challenge) && { idempotencyKey: key }),
  }
  const headers = {
    ...request.headers,
    [IDEMPOTENCY_KEY_HEADER]: key,
    [PAYMENT_SIGNATURE_HEADER]: encodeHeader(withIdentifier(signed.payload, key)),
  }
  deps.receipts.sent({ txId, method: request.method, url: request.url, accepted: ready.selected.accepted })
  const paid = { ...request, headers, signal: request.finishPaid ? undefined : request.signal }
  const delivery = await deps.deliver(paid, { txId, landsUntilMs }).catch(() => {
    // Only the caller's own signal ends a delivery without an outcome. The payment may have been sent by then.
    throw aborted(request.url.origin, { ...sent, charged: 'maybe' })
  })
  const charged = { ...sent, charged: await chargedAfter(request, delivery, signed, deps) }
  const status = delivery.reply?.status
  deps.receipts.update(txId, { charged: charged.charged, ...(status !== undefined && { status }) })
  if (charged.charged === 'yes') await reservation.spent()
  return { ...ready, delivery, charged }
}

/** @throws SvcError `network_error`, `call_failed` */
export function outcomeOf(
  request: HttpRequest,
  { selected, signed, delivery, charged }: SentOnce,
  deps: Pick<PurchaseDeps, 'signer' | 'network'>,
): Purchase {
  const { accepted, warnings } = selected
  const { reply, attempts, cause } = delivery
  const { origin } = request.url
  if (!reply) throw networkError(origin, cause, charged)
  if (!isSuccess(reply) || reply.oversized) throw callFailed(origin, reply, charged)
  const replayed = isReplay(reply) && charged.charged === 'no'
  const found = replayed ? [] : receiptWarnings(reply, accepted, signed, deps.signer.address, deps.network)
  const payment = replayed ? earlierPayment(reply) : paymentOf(signed.txId, accepted)
  const unkept = !replayed && keyIsUnkept(request, selected) ? [UNKEPT_KEY] : []
  const sent = replayed ? { sentTxId: signed.txId } : { idempotencyKey: charged.idempotencyKey }
  return {
    reply,
    attempts,
    accepted,
    payment,
    replayed,
    ...sent,
    warnings: [...warnings, ...unkept, ...found],
  }
}

function hasCallersKey({ headers }: HttpRequest): boolean {
  return headers[IDEMPOTENCY_KEY_HEADER] !== undefined
}

/** The caller named a key, and the quote does not say that the seller keeps keys. */
function keyIsUnkept(request: HttpRequest, { challenge }: SelectedRequirements): boolean {
  return hasCallersKey(request) && !keepsKeys(challenge)
}

const UNKEPT_KEY: Warning = {
  code: 'idempotency_not_offered',
  message:
    'The quote does not offer idempotency: another call with this Idempotency-Key may run and be charged again',
}

function abortedUnpaid({ url }: HttpRequest): string {
  return `The call to ${url.origin} was aborted; nothing was paid`
}

async function signOrRelease(
  request: HttpRequest,
  { challenge, accepted }: SelectedRequirements,
  signer: PaymentSigner,
  reservation: Reservation,
  lease: Lease | undefined,
): Promise<SignedPayment> {
  try {
    // A node may be slow, and a wallet may ask a person.
    const signing = signer.sign(challenge, accepted, lease)
    return await unlessAborted(signing, request.signal, abortedUnpaid(request))
  } catch (error) {
    await reservation.release()
    throw error
  }
}

/** Looks the payment up on the chain where the seller does not say that it was charged, to spare the caller that work. */
async function chargedAfter(
  request: HttpRequest,
  delivery: Delivery,
  signed: SignedPayment,
  deps: PurchaseDeps,
): Promise<Charged['charged']> {
  const charged = chargedBy(delivery, signed, hasCallersKey(request))
  const landed = charged !== 'yes' && (await deps.landed(signed.txId))
  return landed ? 'yes' : charged
}

/** A round takes 2.8 s. Sellers count 2.5 s, and so does the client; the signed parameters may be a round old. */
const ROUND_MS_MIN = 2_500
const ROUNDS_TO_SETTLE = 4

function landsForMs({ firstValid, lastValid }: SignedPayment): number {
  return (Number(lastValid - firstValid) - ROUNDS_TO_SETTLE) * ROUND_MS_MIN
}

function receiptWarnings(
  reply: HttpReply,
  accepted: PaymentRequirements,
  signed: SignedPayment,
  payer: string,
  network: NetworkFacts,
): Warning[] {
  const receipt = receiptOf(reply.headers)
  if (!receipt) return [{ code: 'receipt_missing', message: 'The answer came without a readable receipt' }]
  return contradictions(receipt, accepted, signed, payer, network).map(what => ({
    code: 'receipt_mismatch',
    message: `The receipt names ${what}`,
  }))
}

function paymentOf(
  txId: string | undefined,
  { amount, asset }: { amount: string; asset: string },
): CallPayment {
  return { txId, amount, usd: usdNumber(BigInt(amount)), asset }
}

function earlierPayment(reply: HttpReply): CallPayment | undefined {
  const { txId, amount, asset } = receiptOf(reply.headers) ?? {}
  if (amount === undefined || asset === undefined || !/^\d{1,20}$/.test(amount))
    return txId ? { txId } : undefined
  return paymentOf(txId, { amount, asset })
}
