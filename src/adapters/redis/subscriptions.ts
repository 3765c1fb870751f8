/** Sold windows. Each is a string that Redis deletes when the window ends. Promise: see the port. */
import type { SubscriptionRecord, SubscriptionStore } from '../../ports/subscriptions.js'
import type { Connection } from './connection.js'
import { serverTime } from './server-time.js'

export function redisSubscriptions(
  connection: Connection,
  prefix: string,
  time = serverTime(connection),
  /** The connection of a sale, which must survive a failover before it is paid for. */
  replicated: Pick<Connection, 'send'> = connection,
) {
  const keyOf = (id: string) => `${prefix}window:${id}`
  return {
    async get(id) {
      const stored = await connection.send(redis => redis.get(keyOf(id)))
      return stored === null ? undefined : (JSON.parse(stored) as SubscriptionRecord)
    },
    async put(id, { endpoint, expiresAtMs }) {
      const stored = JSON.stringify({ endpoint, expiresAtMs })
      await replicated.send(redis => redis.set(keyOf(id), stored, 'PXAT', Math.ceil(expiresAtMs)))
    },
    now: time.now,
    /** Does nothing: Redis deletes windows by itself. */
    sweep() {},
    async delete(id) {
      await connection.send(redis => redis.del(keyOf(id)))
    },
  } satisfies SubscriptionStore
}
