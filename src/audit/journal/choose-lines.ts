/** Calls that charged nothing are counted: a line for each would cost its sender nothing, and push out the lines about money. */
import { LRUCache } from 'lru-cache'
import { reportsCharge } from '../../domain/income-bookings.js'
import type { EndedCall } from '../../ports/call-observer.js'

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

/** It got as far as recording, or learnt of an earlier charge. What is asked again for nothing, with one result, has one line. */
export function lineChoice(): (call: EndedCall) => boolean {
  const lastSteps = new LRUCache<string, string>({ max: RECENT_MAX })
  return call => {
    const { txId, path, charged } = call
    if (call.units !== undefined) return true
    const isOfCharge = reportsCharge(call) || path.some(step => step.startsWith('recording.'))
    if (!isOfCharge && (charged === 'no' || txId === undefined)) return false
    if (txId === undefined) return true
    const [last = '', before] = [path.at(-1), lastSteps.get(txId)]
    lastSteps.set(txId, last)
    return isOfCharge || last !== before
  }
}

export function callCounts() {
  let kinds = new Map<string, CountedCalls>()
  let fromMs = 0
  return {
    add({ endpoint, final, startedMs }: EndedCall): void {
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
