/**
 * The last calls of all processes, in a list that Redis keeps short. Writing is sent and forgotten: no call waits for it,
 * and what is lost is lost. Reading shows what this process knows and asks Redis for the next time.
 */
import type { Runs } from '../../ports/runs.js'
import type { EndedCall } from '../../ports/witness.js'
import type { Connection } from './connection.js'

/** After a day without any call the list is forgotten. */
const KEPT_MS = 86_400_000

const PUSH = /* lua */ `
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
redis.call('PEXPIRE', KEYS[1], ${KEPT_MS})
`

export function redisRuns(connection: Connection, prefix: string, capacity: number): Runs {
  const key = `${prefix}runs`
  const push = connection.script('svcRun', PUSH)
  /** As last read, and what has ended here since that reading began; newest first. */
  let shared: readonly EndedCall[] = []
  let own: readonly EndedCall[] = []
  let reading = false

  async function read(): Promise<void> {
    const before = new Set(own)
    const stored = await connection.send(redis => redis.lrange(key, 0, capacity - 1))
    shared = stored.map(run => JSON.parse(run) as EndedCall)
    own = own.filter(call => !before.has(call))
  }

  function refresh(): void {
    if (reading) return
    reading = true
    read()
      .catch(() => {})
      .finally(() => {
        reading = false
      })
  }

  if (capacity > 0) connection.onUp(refresh)
  return {
    ended({ payer: _, ...call }) {
      if (capacity < 1) return
      own = [call, ...own].slice(0, capacity)
      if (connection.isUp()) push([key], [JSON.stringify(call), capacity]).catch(() => {})
    },
    list() {
      if (capacity > 0) refresh()
      const known = new Set(own.map(({ id }) => id))
      return [...own, ...shared.filter(({ id }) => !known.has(id))].slice(0, capacity)
    },
  }
}
