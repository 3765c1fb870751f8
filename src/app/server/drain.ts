/** Ends a server by the shutdown machine: stop accepting calls, wait for running calls, cut those that outlast the deadline. */
import { type ShutdownDrawing, shutdownTable } from '../../domain/machines/shutdown.machine.js'
import { type Effects, run } from '../../domain/state-machine/run-machine.js'
import { type Clock, sleep } from '../../ports/clock.js'
import type { InFlight, Stop } from '../charge/charge-deps.js'

/** The result of a server's shutdown. */
export interface ShutdownReport {
  /** The signal's name, or the argument of `shutdown`. */
  readonly reason: string
  /** `drained`: every call in flight was answered. `timedOut`: some were cut. */
  readonly outcome: 'drained' | 'timedOut'
  /** Calls that were cut; none of them was charged unless its payment had already been submitted. */
  readonly abandoned: number
  /** From the request to stop until the last call ended, in milliseconds. */
  readonly ms: number
}

export type Drain = ReturnType<typeof createDrain>

/** The time that a cut call has to notice the cut, release what it holds and answer. */
const CUT_GRACE_MS = 2_000

export function createDrain(deadlineMs: number, clock: Clock) {
  const stopped = latch<string>()
  const secondSignal = latch<void>()
  const cut = latch<void>()
  let draining = false
  let count = 0
  let abandoned = 0
  const onEmpty: (() => void)[] = []
  /** Resolves when no call is at work. */
  const empty = () =>
    new Promise<'empty'>(resolve => {
      if (count === 0) resolve('empty')
      else onEmpty.push(() => resolve('empty'))
    })
  const effects: Effects<ShutdownDrawing, undefined> = {
    async awaitStop() {
      await stopped.promise
      return 'stop' as const
    },
    drain: () =>
      Promise.race([
        empty(),
        secondSignal.promise.then(() => 'secondSignal' as const),
        sleep(clock, deadlineMs).then(() => 'deadline' as const),
      ]),
    cut() {
      abandoned = count
      cut.open()
      return Promise.race([empty(), sleep(clock, CUT_GRACE_MS).then(() => 'graceOver' as const)])
    },
  }
  const ended = run(shutdownTable, effects, undefined, () => {}, clock.monotonic)

  /** Begins to drain. A second call cuts the running calls. Both return the same report. */
  async function shutdown(reason: string): Promise<ShutdownReport> {
    const startedMs = clock.monotonic()
    if (stopped.isOpen()) secondSignal.open()
    stopped.open(reason)
    // Set before any await: no call that arrives after this line is admitted.
    draining = true
    const { final } = await ended
    return {
      reason: await stopped.promise,
      outcome: final,
      abandoned,
      ms: Math.round(clock.monotonic() - startedMs),
    }
  }

  return {
    stop: { draining: () => draining, cutting: cut.isOpen, onCut: cut.onOpen } satisfies Stop,
    inFlight: {
      enter() {
        count++
      },
      leave() {
        if (--count > 0) return
        for (const tell of onEmpty.splice(0)) tell()
      },
    } satisfies InFlight,
    count: () => count,
    empty,
    shutdown,
  }
}

interface Seat {
  at: number
  readonly listener: () => void
}

/**
 * Opens once and stays open. Its listeners are in an unordered array. A Set that every call enters and leaves keeps
 * the content of its outgrown tables alive until the next full collection: 2 MB of each 16 MB that calls in a window
 * left behind.
 */
function latch<T>() {
  const seats: Seat[] = []
  let open: (value: T) => void = () => {}
  let opened = false
  const promise = new Promise<T>(resolve => {
    open = resolve
  })
  return {
    promise,
    isOpen: () => opened,
    open(value: T) {
      opened = true
      open(value)
      for (const { listener } of seats.splice(0)) listener()
    },
    onOpen(listener: () => void) {
      const seat = { at: seats.length, listener }
      seats.push(seat)
      return () => {
        if (seats[seat.at] !== seat) return
        const last = seats.pop()!
        if (last === seat) return
        seats[seat.at] = last
        last.at = seat.at
      }
    },
  }
}
