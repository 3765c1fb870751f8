/** How long a payment may matter: for garbage collection, never for a decision about money. */
import type { ReadPayment } from '../../ports/payment-reader.js'
import type { Call, ReplayedAnswer } from './call-record.js'
import type { ChargeDeps } from './charge-deps.js'

/** Generous limits for garbage collection: slow rounds, and an hour for clocks and operators. */
const ROUND_SLOW_MS = 4_000
const SLACK_MS = 3_600_000
/** The widest window that Algorand allows, for payments whose rounds are not known. */
const ROUNDS_MAX = 1_000

/** Uses all rounds that the payment was signed for, not the rounds that are left: this needs no clock. */
export function landsWithinMs(read: ReadPayment | undefined): number {
  const rounds = read ? Number(read.lastValid - read.firstValid) : ROUNDS_MAX
  return Math.min(rounds, ROUNDS_MAX) * ROUND_SLOW_MS
}

/** How long the record of a payment is kept. */
export function paymentLifeMs(read: ReadPayment | undefined): number {
  return landsWithinMs(read) + SLACK_MS
}

/** The time for which an answer in doubt is kept where answers without a key are not. */
const IN_DOUBT_KEPT_MS = 120_000

/**
 * How long the answer of a call is kept, once its outcome is known: for its key, else for its payer. An answer that sold a window has the
 * window's key in it: under the seller's own seal it is kept until the window ends.
 */
export function retentionMs(
  { rules, clock }: Pick<ChargeDeps, 'rules' | 'clock'>,
  { key, window: sold }: Pick<Call, 'key' | 'window'>,
  window: ReplayedAnswer['window'] = sold,
): number {
  const keptMs = key === undefined ? rules.keepAnswersMs || IN_DOUBT_KEPT_MS : rules.retentionMs
  const isSealed = rules.sealSecrets.length > 0 && window !== undefined
  return isSealed ? Math.max(keptMs, window.expiresAtMs - clock.now()) : keptMs
}
