/** No call waits for a write, and a lost write is not repeated. A read returns what is known here, and asks for the next. */
import { sharedQuestions } from '../../domain/load-once.js'
import type { EndedCall, Runs } from '../../ports/call-observer.js'
import { type Cancel, systemClock } from '../../ports/clock.js'
import type { Connection } from './connection.js'

/** The list expires after a day without a call. */
const KEPT_MS = 86_400_000
/** Runs are written together: one by one, every quote was a command, and their key was the busiest of a cluster. */
const TOLD_EVERY_MS = 100

const PUSH = /* lua */ `
for at = 2, #ARGV do redis.call('LPUSH', KEYS[1], ARGV[at]) end
redis.call('LTRIM', KEYS[1], 0, ARGV[1] - 1)
redis.call('PEXPIRE', KEYS[1], ${KEPT_MS})
`

export function redisRuns(connection: Connection, prefix: string, capacity: number): Runs {
  const key = `${prefix}runs`
  const push = connection.script('svcRun', PUSH)
  /** As last read, newest first. */
  let shared: readonly EndedCall[] = []
  /** The calls that ended here since that read began, and those that are not sent to Redis yet; oldest first. */
  let own: EndedCall[] = []
  let untold: EndedCall[] = []
  let telling: Cancel | undefined
  const reading = sharedQuestions<void>()

  async function read(): Promise<void> {
    const waiting = new Set(untold)
    const told = new Set(own.filter(call => !waiting.has(call)))
    const stored = await connection.send(redis => redis.lrange(key, 0, capacity - 1))
    shared = stored.map(run => JSON.parse(run) as EndedCall)
    own = own.filter(call => !told.has(call))
  }

  function refresh(): void {
    reading(read).catch(() => {})
  }

  function tell(): void {
    telling = undefined
    if (untold.length === 0 || !connection.isUp()) return
    const runs = untold.slice(-capacity).map(run => JSON.stringify(run))
    untold = []
    push([key], [capacity, ...runs]).catch(() => {})
  }

  if (capacity > 0) for (const each of [refresh, tell]) connection.onUp(each)
  return {
    ended({ payer: _, error: __, logs: ___, ...call }) {
      if (capacity < 1) return
      own = newest(own, call)
      untold = newest(untold, call)
      if (telling === undefined) telling = systemClock.after(TOLD_EVERY_MS, tell)
    },
    list() {
      if (capacity > 0) refresh()
      const known = new Set(own.map(({ id }) => id))
      const others = shared.filter(({ id }) => !known.has(id))
      return [...own.slice(-capacity).reverse(), ...others].slice(0, capacity)
    },
  }

  function newest(calls: EndedCall[], call: EndedCall): EndedCall[] {
    calls.push(call)
    return calls.length > 2 * capacity ? calls.slice(-capacity) : calls
  }
}
