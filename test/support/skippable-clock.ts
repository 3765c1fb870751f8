import { type Clock, systemClock } from '../../src/ports/clock.js'

/**
 * The system's clock, on which a test can let time pass at once.
 *
 * @param heldFromMs timers of so long run in time that the test lets pass, and in no other: limits that a busy machine shall not reach
 */
export function skippableClock(heldFromMs = Number.POSITIVE_INFINITY) {
  const timers = new Set<{ readonly atMs: number; run(): void }>()
  let skippedMs = 0
  const clock: Clock = {
    now: () => systemClock.now() + skippedMs,
    monotonic: () => systemClock.monotonic() + skippedMs,
    after(ms, callback) {
      const stop = () => {
        cancel()
        timers.delete(timer)
      }
      const timer = {
        atMs: clock.monotonic() + ms,
        run() {
          stop()
          callback()
        },
      }
      const cancel = ms < heldFromMs ? systemClock.after(ms, timer.run) : () => {}
      timers.add(timer)
      return stop
    },
  }
  return {
    clock,
    /** Runs the timers that are due by then, in their order. */
    pass(ms: number): void {
      skippedMs += ms
      const due = [...timers].filter(({ atMs }) => atMs <= clock.monotonic())
      for (const timer of due.sort((a, b) => a.atMs - b.atMs)) timer.run()
    },
  }
}
