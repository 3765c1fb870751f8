/** The income by day (UTC) and endpoint, each payment once. Its size depends on days and endpoints, not on calls. */
import type { EndedCall } from '../../ports/call-observer.js'

export interface DayOfEndpoint {
  readonly day: string
  readonly endpoint: string
  readonly calls: number
  readonly charged: number
  /** The calls in doubt whose payments may still land. */
  readonly inDoubt: number
  readonly takenBaseUnits: bigint
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const DAY_MS = 86_400_000

export function createSummary() {
  const days = new Map<number, Map<string, Mutable<DayOfEndpoint>>>()
  function rowOf({ startedMs, endpoint }: Pick<EndedCall, 'startedMs' | 'endpoint'>): Mutable<DayOfEndpoint> {
    const day = Math.floor(startedMs / DAY_MS)
    const endpoints = days.get(day) ?? new Map<string, Mutable<DayOfEndpoint>>()
    const row = endpoints.get(endpoint) ?? emptyRow(day, endpoint)
    days.set(day, endpoints.set(endpoint, row))
    return row
  }

  return {
    add(run: EndedCall, isBooking: boolean): void {
      const row = rowOf(run)
      row.calls++
      if (!isBooking) return
      row.charged++
      row.takenBaseUnits += BigInt(run.amount ?? 0)
    },
    /** So many calls that charged nothing. */
    count(calls: number, of: Pick<EndedCall, 'startedMs' | 'endpoint'>): void {
      rowOf(of).calls += calls
    },
    /** The payment of this run, which was added, is not decided. */
    doubt: (run: EndedCall) => void rowOf(run).inDoubt++,
    days: (): readonly DayOfEndpoint[] =>
      [...days.values()]
        .flatMap(endpoints => [...endpoints.values()])
        .sort((a, b) => compare(a.day, b.day) || compare(a.endpoint, b.endpoint)),
  }
}

function emptyRow(day: number, endpoint: string): Mutable<DayOfEndpoint> {
  const text = new Date(day * DAY_MS).toISOString().slice(0, 10)
  return { day: text, endpoint, calls: 0, charged: 0, inDoubt: 0, takenBaseUnits: 0n }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
