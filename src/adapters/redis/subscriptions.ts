/**
 * Sold windows. Each is one key, which Redis deletes when the window ends: a string, or a hash where the window has a count of
 * calls. Promise: see the port.
 */
import type { SubscriptionRecord, SubscriptionStore, Taken } from '../../ports/subscriptions.js'
import type { Connection } from './connection.js'
import { GIVE_BACK, LOOK, SELL, TAKE, USE } from './lua/window-calls.js'
import { moveInTime, serverTime } from './server-time.js'

export function redisSubscriptions(
  connection: Connection,
  prefix: string,
  time = serverTime(connection),
  /** The connection of a sale, which must survive a failover before it is paid for. */
  replicated: Pick<Connection, 'script'> = connection,
) {
  const keyOf = (id: string) => `${prefix}window:${id}`
  const sell = replicated.script('svcWindowSell', SELL)
  const look = connection.script('svcWindowLook', LOOK)
  const take = connection.script('svcWindowTake', TAKE)
  const use = connection.script('svcWindowUse', USE)
  const giveBack = connection.script('svcWindowGiveBack', GIVE_BACK)

  async function counted(id: string): Promise<SubscriptionRecord | undefined> {
    const stored = (await look([keyOf(id)], [])) as readonly [Buffer, Buffer, number] | null
    if (stored === null) return undefined
    const [endpoint, expiresAtMs, callsLeft] = stored
    return { endpoint: String(endpoint), expiresAtMs: Number(expiresAtMs), callsLeft }
  }

  return {
    async get(id) {
      try {
        const stored = await connection.send(redis => redis.get(keyOf(id)))
        return stored === null ? undefined : readUncounted(stored)
      } catch (cause) {
        if (cause instanceof Error && cause.message.startsWith('WRONGTYPE')) return counted(id)
        throw cause
      }
    },
    async putIfAbsent(id, { endpoint, expiresAtMs, callsLeft }) {
      const counted = callsLeft === undefined ? [] : [callsLeft]
      await sell([keyOf(id)], [endpoint, Math.ceil(expiresAtMs), ...counted])
    },
    now: time.now,
    /** Does nothing: Redis deletes windows by itself. */
    sweep() {},
    async delete(id) {
      await connection.send(redis => redis.del(keyOf(id)))
    },
    async take(id, { endpoint, token, leaseMs }) {
      const reply = await moveInTime(connection, time, deadlineMs =>
        take([keyOf(id)], [deadlineMs, endpoint, token, leaseMs]),
      )
      return readTaken(reply as readonly [Buffer, (Buffer | number)?], endpoint)
    },
    async use(id, token) {
      await use([keyOf(id)], [token])
    },
    async giveBack(id, token) {
      return (await giveBack([keyOf(id)], [token])) as number | null
    },
  } satisfies SubscriptionStore
}

/** A text of at most 44 bytes has one place in Redis's memory, and a longer one has two: a fifth of what a window takes. */
function readUncounted(stored: string): SubscriptionRecord {
  const space = stored.indexOf(' ')
  return { endpoint: stored.slice(space + 1), expiresAtMs: Number(stored.slice(0, space)) }
}

function readTaken([verdict, rest]: readonly [Buffer, (Buffer | number)?], endpoint: string): Taken {
  switch (String(verdict)) {
    case 'taken':
      return { verdict: 'taken', callsLeft: Number(rest) }
    case 'usedUp':
      return { verdict: 'usedUp' }
    case 'uncounted':
      return readUncounted(String(rest)).endpoint === endpoint ? { verdict: 'taken' } : { verdict: 'none' }
    default:
      return { verdict: 'none' }
  }
}
