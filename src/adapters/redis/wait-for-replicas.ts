/**
 * A connection that answers a command when enough replicas of Redis have its writes (`WAIT`), so that a failover to one of
 * them keeps the writes. It needs a socket of its own, because WAIT delays every command behind it.
 *
 * WAIT undoes nothing. The primary has carried out a command that is rejected for too few replicas; its caller treats it like
 * a command without an answer.
 */
import type { Redis } from 'ioredis'
import { systemClock, withTimeout } from '../../ports/clock.js'
import type { Connection } from './connection.js'

export type ReplicatedConnection = Pick<Connection, 'close' | 'commandTimeoutMs' | 'onUp' | 'script' | 'send'>

/** Not for a Cluster: WAIT asks one node, and this code does not know which node a command went to. */
export function replicated(connection: Connection, replicas: number): ReplicatedConnection {
  const { client, commandTimeoutMs } = connection
  // Half of the time limit: a write may wait for the WAIT before it, and then for its own. The limit below ends both.
  const waitMs = Math.ceil(commandTimeoutMs / 2)
  let links = 0
  client.on('close', () => links++)

  let sent: Promise<unknown> | undefined
  let next: Promise<number> | undefined
  /** The replicas that have all earlier writes. Writes share a WAIT, but never one that was sent before them. */
  function reached(): Promise<number> {
    next ??= Promise.resolve(sent).then(() => {
      next = undefined
      const reply = connection.send(redis => (redis as Redis).wait(replicas, waitMs))
      sent = Promise.allSettled([reply])
      return reply
    })
    return next
  }

  async function confirmed<T>(command: () => Promise<T>): Promise<T> {
    const link = links
    const reply = await command()
    const reachedBy = await reached()
    // Another server would count its own replicas, for a write that it does not have.
    if (links !== link) throw new Error('the connection was lost before replicas confirmed a write')
    if (reachedBy < replicas)
      throw new Error(`${reachedBy} of ${replicas} replicas confirmed a write within ${waitMs} ms`)
    return reply
  }

  const inTime = <T>(command: () => Promise<T>) =>
    withTimeout(systemClock, commandTimeoutMs, confirmed(command), 'replicas did not confirm a write in time')
  return {
    commandTimeoutMs,
    onUp: connection.onUp,
    close: connection.close,
    send: command => inTime(() => connection.send(command)),
    script(name, lua) {
      const run = connection.script(name, lua)
      return (keys, args) => inTime(() => run(keys, args))
    },
  }
}
