/** Rounds that pass by the clock, as on the network, with or without payments. */
import { type Clock, systemClock } from '../ports/clock.js'

export type Rounds = ReturnType<typeof createRounds>

interface RoundsOptions {
  readonly roundMs: number
  readonly clock?: Clock
  readonly nowMs?: () => number
  /** The first round. By default it follows from the time of day, so that rounds continue after a restart. */
  readonly first?: bigint
}

export function createRounds({
  roundMs,
  clock = systemClock,
  nowMs = timeOfStart(clock),
  first,
}: RoundsOptions) {
  const startedAtMs = nowMs()
  const firstRound = first ?? BigInt(Math.floor(startedAtMs / roundMs))
  const waiting = new Set<() => void>()
  let advanced = 0
  let closed = false

  const current = () => firstRound + BigInt(advanced + Math.floor((nowMs() - startedAtMs) / roundMs))
  const wake = () => {
    for (const waiter of waiting) waiter()
  }

  return {
    /** The last round. A group that is submitted now lands in the next one. */
    current,
    /** The oldest round whose block this ledger has. */
    first: firstRound,
    advance(rounds: number) {
      advanced += rounds
      wake()
    },
    async past(round: bigint, waitMsMax: number) {
      const deadlineMs = nowMs() + waitMsMax
      while (!closed && current() <= round && nowMs() < deadlineMs) {
        const toNextMs = roundMs - ((nowMs() - startedAtMs) % roundMs)
        await new Promise<void>(resolve => {
          const done = () => {
            cancel()
            waiting.delete(done)
            resolve()
          }
          const cancel = clock.after(Math.min(toNextMs, deadlineMs - nowMs()), done)
          waiting.add(done)
        })
      }
    },
    close() {
      closed = true
      wake()
    },
  }
}

/** A clock that begins with the time of day and is never set back. */
function timeOfStart({ now, monotonic }: Clock): () => number {
  const originMs = now() - monotonic()
  return () => originMs + monotonic()
}
