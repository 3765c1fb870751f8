/**
 * Tasks that wait for their payment, for all replicas. Promise: see the port. The bound of their number is one count, so all
 * of them are in one hash slot.
 */
import type { NewTask, TaskStore } from '../../ports/tasks.js'
import type { Connection } from './connection.js'
import { END, PUT, TAKE } from './lua/tasks.js'
import { moveInTime, serverTime } from './server-time.js'

export function redisTasks(
  connection: Pick<Connection, 'commandTimeoutMs' | 'onUp' | 'script' | 'send'>,
  prefix: string,
  time = serverTime(connection),
  /** The connection of a take: after a failover that forgot it, a second payment could take the task. */
  replicated: Pick<Connection, 'script'> = connection,
): TaskStore {
  const place = `${prefix}{tasks}:`
  const keysOf = (name: string) => [`${place}task:${name}`, `${place}open`, `${place}owners`]
  const put = connection.script('svcTaskPut', PUT)
  const take = replicated.script('svcTaskTake', TAKE)
  const end = connection.script('svcTaskEnd', END)
  return {
    async put({ name, content, owner, lifeMs, ownerMax, max }: NewTask) {
      const reply = await moveInTime(connection, time, deadlineMs =>
        put(keysOf(name), [deadlineMs, Buffer.from(content), owner, Math.ceil(lifeMs), ownerMax, max]),
      )
      return String(reply) as 'kept' | 'full'
    },
    async get(name) {
      const [key] = keysOf(name)
      const [content, payment] = await connection.send(redis => redis.hmgetBuffer(key!, 'content', 'payment'))
      return content ? { content, ...(payment && { payment: String(payment) }) } : undefined
    },
    async take({ name, payment, token, lifeMs }) {
      const reply = await moveInTime(connection, time, deadlineMs =>
        take(keysOf(name), [deadlineMs, payment, token, Math.ceil(lifeMs)]),
      )
      if (reply === null) return undefined
      const [order, content, by] = reply as readonly [Buffer, Buffer, Buffer]
      return { content, payment: String(by), isFirst: String(order) === 'first' }
    },
    async end({ name, how, payment = '', token = '', lifeMs }) {
      const reply = await end(keysOf(name), [how, Math.ceil(lifeMs), payment, token])
      return String(reply) as 'ended' | 'kept' | 'unknown'
    },
  }
}
