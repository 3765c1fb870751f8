/**
 * Which calls have a line of their own in a journal: those that charged or may have charged. The others are counted. A line for
 * each would cost its sender nothing, and in a journal with a bound it would push out the lines about money.
 */
import { LRUCache } from 'lru-cache'
import { reportsCharge } from '../../domain/income-bookings.js'
import type { EndedCall } from '../../ports/call-observer.js'

/** So many calls ended so since the count began. */
export interface CountedCalls {
  /** Absent, like `final`, where there were more kinds than a line has. */
  readonly endpoint?: string
  readonly final?: string
  readonly calls: number
}

/** Strangers can call every endpoint in every wrong way: a line has at most so many kinds, about 1 kB. */
const KINDS_MAX = 20
/** Payments of which the last step is remembered. */
const RECENT_MAX = 10_000

export interface LineChoice {
  /**
   * Whether this call has a line of its own: it got as far as recording, or it learnt of an earlier charge or could not. What a
   * caller asks again for nothing, and with the same result, has one line.
   */
  hasOwn(call: EndedCall): boolean
}

export function lineChoice(): LineChoice {
  const lastSteps = new LRUCache<string, string>({ max: RECENT_MAX })
  return {
    hasOwn(call) {
      const { txId, path, charged } = call
      if (call.units !== undefined) return true
      const isOfCharge = reportsCharge(call) || path.some(step => step.startsWith('recording.'))
      if (!isOfCharge && (charged === 'no' || txId === undefined)) return false
      if (txId === undefined) return true
      const [last = '', before] = [path.at(-1), lastSteps.get(txId)]
      lastSteps.set(txId, last)
      return isOfCharge || last !== before
    },
  }
}

export interface CallCounts {
  add(call: EndedCall): void
  /** What was counted since the last time; empty where nothing was. */
  take(): { readonly counted: readonly CountedCalls[]; readonly fromMs: number }
}

export function callCounts(): CallCounts {
  let kinds = new Map<string, CountedCalls>()
  let fromMs = 0
  return {
    add({ endpoint, final, startedMs }) {
      if (kinds.size === 0) fromMs = startedMs
      const name = `${endpoint} ${final}`
      const isOther = kinds.size >= KINDS_MAX && !kinds.has(name)
      const { calls } = kinds.get(isOther ? '' : name) ?? { calls: 0 }
      kinds.set(isOther ? '' : name, { ...(!isOther && { endpoint, final }), calls: calls + 1 })
    },
    take() {
      const counted = [...kinds.values()]
      kinds = new Map()
      return { counted, fromMs }
    },
  }
}
