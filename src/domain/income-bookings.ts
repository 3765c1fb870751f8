/** Decides which run books a payment as income: one payment is one booking, whichever runs report it. */
import type { Charged } from './machines/charge.machine.js'

export interface BookableRun {
  readonly charged: Charged
  /** Each step as `state.event`. */
  readonly path: readonly string[]
  readonly txId?: string
}

/** The steps by which a run learns that an earlier call's payment landed, and ends that call's record in the store. */
const LEARNS: ReadonlySet<string> = new Set(['recovering.found', 'recovering.notKept'])

/**
 * Whether a run reports a charge: it settled the payment, or it is the first to learn that an earlier call's payment
 * landed. A later replay reports nothing new.
 */
export function reportsCharge({ charged, path }: BookableRun): boolean {
  return charged === 'yes' || (charged === 'earlier' && LEARNS.has(path.at(-1) ?? ''))
}

/** Both reports of one payment arrive within the minute that settling may take. */
const RECENT_MAX = 10_000

/**
 * The bookings of one process: whether a run books its payment, because it reports a charge that no run before it has reported. A call
 * that settles slowly and the call that recovers its payment may both report the payment, so this remembers the transaction ids of the
 * latest bookings: at least `max`, at most twice as many.
 */
export function recentBookings(max = RECENT_MAX): (run: BookableRun) => boolean {
  let recent = new Set<string>()
  let older = new Set<string>()
  return run => {
    if (!reportsCharge(run)) return false
    // There is no id to compare: only its own call reports a payment that cannot be read.
    if (run.txId === undefined) return true
    if (recent.has(run.txId) || older.has(run.txId)) return false
    if (recent.size >= max) {
      older = recent
      recent = new Set()
    }
    recent.add(run.txId)
    return true
  }
}
