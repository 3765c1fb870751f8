/** The two halves of a purchase: a payment that is counted and signed, and then the request that carries it. */
import { SdkError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import { withIdentifier } from '../../domain/payment-identifier.js'
import { encodeHeader, PAYMENT_SIGNATURE_HEADER, type PaymentRequired } from '../../domain/x402.js'
import type { SignedPayment } from '../../ports/payment-signer.js'
import { randomId } from '../../ports/random.js'
import { unlessAborted } from '../../ports/timeouts-and-aborts.js'
import type { HttpRequest } from './build-request.js'
import { type Charged, chargedBy, isSettlementOf } from './charge-evidence.js'
import { aborted } from './client-errors.js'
import { unfitRequest } from './declared-input.js'
import { provenDelivery } from './payer-proof.js'
import type { PurchaseDeps, ReadyPayment, SentOnce } from './purchase-steps.js'
import { keepsKeys, type SelectedRequirements, selectRequirements } from './read-quote.js'
import type { Delivery } from './send-with-retries.js'
import type { Reservation } from './spending-limits.js'
import { momentOf } from './subscription-keys.js'

/** Whatever it throws, nothing was sent. */
export async function readyPayment(
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
  return { selected, signed, reservation, begun, landsUntilMs: begun.monotonicMs + landsForMs(signed) }
}

/** @throws SvcError `aborted` */
export async function sendPayment(
  request: HttpRequest,
  ready: ReadyPayment,
  deps: PurchaseDeps,
): Promise<SentOnce> {
  const { signed, landsUntilMs } = ready
  const key = request.headers[IDEMPOTENCY_KEY_HEADER] ?? randomId(deps.random)
  const { txId } = signed
  const lastValid = Number(signed.lastValid)
  const sent = {
    txId,
    amount: ready.selected.accepted.amount,
    lastValid,
    ...(keepsKeys(ready.selected.challenge) && { idempotencyKey: key }),
  }
  const headers = {
    ...request.headers,
    [IDEMPOTENCY_KEY_HEADER]: key,
    [PAYMENT_SIGNATURE_HEADER]: encodeHeader(withIdentifier(signed.payload, key)),
  }
  const { method, url } = request
  deps.receipts.sent({ txId, method, url, accepted: ready.selected.accepted, lastValid })
  const paid = { ...request, headers, signal: request.finishPaid ? undefined : request.signal }
  const first = await deps.deliver(paid, { txId, landsUntilMs }).catch(() => {
    // Only the caller's own signal ends a delivery without an outcome. The payment may have been sent by then.
    throw aborted(request.url.origin, { ...sent, charged: 'maybe' })
  })
  const proven = await provenDelivery(paid, first, ready, deps)
  const delivery = proven ?? first
  const said = await chargedAfter(request, delivery, ready, deps)
  const charged = { ...sent, charged: proven ? ('yes' as const) : said }
  const status = delivery.reply?.status
  deps.receipts.update(txId, { charged: charged.charged, ...(status !== undefined && { status }) })
  return { ...ready, delivery, isProven: proven !== undefined, charged }
}

export function hasCallersKey({ headers }: HttpRequest): boolean {
  return headers[IDEMPOTENCY_KEY_HEADER] !== undefined
}

function abortedUnpaid({ url }: HttpRequest): string {
  return `The call to ${url.origin} was aborted; nothing was paid`
}

async function signOrRelease(
  request: HttpRequest,
  { challenge, accepted }: SelectedRequirements,
  { signer }: Pick<PurchaseDeps, 'signer'>,
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

/**
 * Looks the payment up on the chain where the seller does not say that it was charged, to spare the caller that work. Only the
 * chain ends its reservation. A receipt spares the look-up at the end of its validity, and shortens nothing.
 */
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
  const charged = chargedBy(delivery, signed, hasCallersKey(request))
  if (charged === 'yes' || !(await deps.landed(signed.txId))) return charged
  await reservation.settle('spent')
  return 'yes'
}

/** A round takes 2.8 s. Sellers count 2.5 s, and so does the client; the signed parameters may be a round old. */
const ROUND_MS_MIN = 2_500
const ROUNDS_TO_SETTLE = 4

function landsForMs({ firstValid, lastValid }: SignedPayment): number {
  return (Number(lastValid - firstValid) - ROUNDS_TO_SETTLE) * ROUND_MS_MIN
}
