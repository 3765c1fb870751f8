/** A history as pairs of what was sent and what was got, in the order in which they were sent. */
import type { Got, Line, Sent } from './history.js'

/** What of an exchange both sides said, and where the two lines stand in the history. */
export interface Exchange {
  readonly sent: Sent
  readonly sentAt: number
  readonly got?: Got
  readonly gotAt: number
}

/** Runs of handlers whose answers arrived. */
export function runsOf(exchanges: readonly Exchange[]): ReadonlySet<string> {
  return new Set(exchanges.flatMap(({ got }) => (got?.status === 200 && got.run ? [got.run] : [])))
}

export function exchangesOf(lines: readonly Line[]): Exchange[] {
  const ends = new Map(lines.flatMap((line, at) => (line.what === 'got' ? [[line.exchange, at]] : [])))
  return lines.flatMap((line, sentAt) => {
    if (line.what !== 'sent') return []
    const gotAt = ends.get(line.exchange)
    if (gotAt === undefined) return [{ sent: line, sentAt, gotAt: Number.POSITIVE_INFINITY }]
    return [{ sent: line, sentAt, got: lines[gotAt] as Got, gotAt }]
  })
}

export function grouped<T, K>(all: readonly T[], keyOf: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const one of all) {
    const key = keyOf(one)
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  return groups
}

const FORGETTING = ['fail over', 'forget', 'split', 'another primary']

/**
 * Whether Redis may have forgotten the first of two unlike answers before the second: it failed over or was split meanwhile. Counts and
 * answers in windows move no money and wait for no replica, as docs/storage.md says.
 */
export function forgettingIn(lines: readonly Line[]): (exchanges: readonly Exchange[]) => boolean {
  const spans = lines.flatMap((line, at) => {
    if (line.what !== 'deed' || line.isOver || !FORGETTING.includes(line.name)) return []
    const over = lines.findIndex((one, later) => later > at && one.what === 'deed' && one.name === line.name)
    return [{ from: at, to: over === -1 ? lines.length : over }]
  })
  return exchanges => {
    const answered = exchanges
      .filter(({ got }) => got?.status === 200 && got.run)
      .sort((one, other) => one.gotAt - other.gotAt)
    return answered.every((one, at) => {
      const before = answered[at - 1]
      if (!before || before.got!.run === one.got!.run) return true
      return spans.some(({ from, to }) => from < one.gotAt && to > before.sentAt)
    })
  }
}
