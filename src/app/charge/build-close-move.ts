/** What the closing of a call asks of the charge store. */
import type { CloseMove } from '../../ports/charge-store.js'
import { sleep } from '../../ports/clock.js'
import { chargeOf } from './balances.js'
import type { Call, ReplayedAnswer } from './call-at-work.js'
import type { ChargeDeps } from './charge-deps.js'
import { replayedAnswer } from './effects/record.js'
import { untilShutdown } from './effects/settle.js'
import { RETRY_MAX_MS, RETRY_MIN_MS } from './resend-lost-moves.js'
import { paymentLifeMs, retentionMs, seal } from './seal-answers.js'

/** A call that settled has stored its answer. A call that a window covered stores it in its close, and so does an ended stream. */
export function isUnrecorded({ terms, handled }: Call): boolean {
  return terms.requirements === undefined || handled.streamEnd !== undefined
}

export function closeMove(deps: ChargeDeps, call: Call, how: CloseMove['how']): CloseMove {
  const { hold, seals, answerName: ownName } = call.holds.owned!
  // The key is given up, and not the answer: its payer may ask for it.
  const answerName = how === 'forfeit' && deps.rules.keepAnswersMs > 0 ? ownName : undefined
  const charge = call.balance && how === 'complete' ? chargeOf(call) : undefined
  const isKeptNow = (how === 'complete' || answerName !== undefined) && isUnrecorded(call)
  const answer = isKeptNow
    ? seal(replayedAnswer(deps, call), seals[0]!, hold.claim.name, deps.random)
    : undefined
  const retentionMs = keptMs(deps, call, call.window.sold, answerName)
  return { how, charge, retentionMs, answerName, answer, ...hold }
}

/** What nobody has had is kept for as long as the payment's record. */
export function keptMs(deps: ChargeDeps, call: Call, window: ReplayedAnswer['window'], answerName?: string) {
  const { read } = call.payment
  const key = answerName === undefined ? call.holds.key : undefined
  const ms = retentionMs(deps, key, window)
  const isUndelivered =
    read !== undefined && (answerName !== undefined || (key === undefined && call.request.caller.gone()))
  return isUndelivered ? Math.max(ms, paymentLifeMs(read)) : ms
}

/** Asks the store until it answers. @throws its last error, where the server stops or the time is over */
export async function untilAnswered<T>(
  { clock, stop }: ChargeDeps,
  ask: () => Promise<T>,
  onFailed: (cause: unknown) => void,
  untilMs = Number.POSITIVE_INFINITY,
): Promise<T> {
  for (let pauseMs = RETRY_MIN_MS; ; pauseMs = Math.min(2 * pauseMs, RETRY_MAX_MS)) {
    try {
      return await ask()
    } catch (cause) {
      onFailed(cause)
      if (stop.cutting() || clock.monotonic() + pauseMs >= untilMs) throw cause
    }
    await untilShutdown(stop, sleep(clock, pauseMs), undefined)
  }
}
