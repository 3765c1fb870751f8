/**
 * A connection whose commands are answered when enough replicas of Redis have what they wrote (`WAIT`), so that a failover
 * to one of those replicas does not forget it. It needs a socket of its own: WAIT holds up every command behind it.
 *
 * WAIT undoes nothing. A command that is rejected for too few replicas has been carried out by the primary; its caller
 * treats it as any command that it has no answer to.
 */
import type { Redis } from 'ioredis'
import { systemClock } from '../../ports/clock.js'
import { withTimeout } from '../../ports/waiting.js'
import type { Connection } from './connection.js'

export type ReplicatedConnection = Pick<Connection, 'close' | 'commandTimeoutMs' | 'onUp' | 'script' | 'send'>

/** Not for a Cluster: WAIT asks one node, and which one a command went to is not known here. */
export function replicated(connection: Connection, replicas: number): ReplicatedConnection {
  const { client, commandTimeoutMs } = connection
  // Half of the time: a write may wait for the WAIT before it, and then for its own. What takes longer is cut off below.
  const waitMs = Math.ceil(commandTimeoutMs / 2)
  let links = 0
  client.on('close', () => links++)

  let sent: Promise<void> | undefined
  let next: Promise<number> | undefined
  /** Replicas that have all that was written before. Writes share a WAIT, but never one that was sent before them. */
  function reached(): Promise<number> {
    next ??= Promise.resolve(sent).then(() => {
      next = undefined
      const reply = connection.send(redis => (redis as Redis).wait(replicas, waitMs))
      sent = reply.then(
        () => {},
        () => {},
      )
      return reply
    })
    return next
  }

  async function confirmed<T>(command: () => Promise<T>): Promise<T> {
    const link = links
    const reply = await command()
    const reachedBy = await reached()
    // Another server would count its own replicas, for a write that it never had.
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
