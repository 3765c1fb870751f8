import type { Timeline } from '../../proof/simulation/kernel/timeline.js'
import type { Clock } from '../../src/ports/clock.js'

/** The clock of a timeline: it stands still until the test runs the timeline on. */
export function clockOf(timeline: Timeline): Clock {
  return {
    now: () => timeline.nowMs,
    monotonic: () => timeline.nowMs,
    after(ms, run) {
      const moment = timeline.after(ms, run)
      return () => {
        moment.run = undefined
      }
    },
  }
}
