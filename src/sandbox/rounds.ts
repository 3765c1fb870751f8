/** Rounds that pass by the clock, as on the network, whether or not anything is paid. */
import { type Clock, systemClock } from '../ports/clock.js'

export interface Rounds {
  /** The last round produced. What is submitted now lands in the one after it. */
  current(): bigint
  /** The oldest round that this ledger has a block of. */
  readonly first: bigint
  /** Lets rounds pass at once. */
  advance(rounds: number): void
  /** Resolves once a round past this one has been produced, the wait is over, or the ledger closes. */
  past(round: bigint, waitMsMax: number): Promise<void>
  close(): void
}

export interface RoundsOptions {
  readonly roundMs: number
  readonly clock?: Clock
  readonly nowMs?: () => number
  /** By default from the time of day, so that rounds do not fall back when a sandbox is started again. */
  readonly first?: bigint
}

export function createRounds({
  roundMs,
  clock = systemClock,
  nowMs = timeOfStart(clock),
  first,
}: RoundsOptions): Rounds {
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
    current,
    first: firstRound,
    advance(rounds) {
      advanced += rounds
      wake()
    },
    async past(round, waitMsMax) {
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

/** The time of day now, and from here a clock that nobody sets back. */
function timeOfStart({ now, monotonic }: Clock): () => number {
  const originMs = now() - monotonic()
  return () => originMs + monotonic()
}
