/** A command is answered within its time limit or rejects. It is never queued for later, and never sent twice. */
import { type Cluster, Redis, type RedisOptions } from 'ioredis'
import { systemClock, withTimeout } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'

/** An ioredis client: single, Sentinel or Cluster. */
export type RedisClient = Redis | Cluster

/** A Lua script, run in one round trip. Replies are `Buffer`s where they are strings. */
export type Script = (keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>
export type ScriptArgument = string | number | Buffer

export interface Connection {
  readonly client: RedisClient
  readonly commandTimeoutMs: number
  /** The command's reply. Rejects at the time limit, whatever the server does. */
  send<T>(command: (client: RedisClient) => Promise<T>): Promise<T>
  script(name: string, lua: string): Script
  /** Whether a command sent now would reach a server. */
  isUp(): boolean
  /** Calls the listener each time that a server is reached, also after a reconnection. */
  onUp(listener: () => void): void
  close(): Promise<void>
}

const RECONNECT_MS_MAX = 2_000

export function connect(redisOrUrl: RedisClient | string, commandTimeoutMs: number): Connection {
  const client = openClient(redisOrUrl, commandTimeoutMs)
  // Each command reports its own failure. Without a listener ioredis prints each attempt to reconnect.
  client.on('error', () => {})
  // Commands wait for the first attempt to connect, so that a server that has just started does not refuse its first calls.
  let attempting = true
  const attempted = new Promise<void>(resolve => {
    for (const event of ['ready', 'close', 'end', 'error']) client.once(event, () => resolve())
  }).then(() => {
    attempting = false
  })

  const gather = gathering(client)
  const sent = <T>(command: (client: RedisClient) => Promise<T>) => {
    gather()
    return command(client)
  }

  async function send<T>(command: (client: RedisClient) => Promise<T>): Promise<T> {
    return inTime(commandTimeoutMs, attempting ? attempted.then(() => sent(command)) : sent(command))
  }

  return {
    client,
    commandTimeoutMs,
    send,
    script(name, lua) {
      client.defineCommand(name, { lua })
      const commands = client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
      const run = commands[`${name}Buffer`]!.bind(client)
      return (keys, args) => send(() => run(keys.length, ...keys, ...args))
    },
    isUp: () => client.status === 'ready',
    onUp(listener) {
      client.on('ready', listener)
      if (client.status === 'ready') listener()
    },
    async close() {
      await inTime(commandTimeoutMs, client.quit()).catch(() => {})
      client.disconnect()
    },
  }
}

/** A client of the seller stays as it is: its options may queue commands and connect late, and the seller may use it to subscribe. */
function openClient(redisOrUrl: RedisClient | string, commandTimeoutMs: number): RedisClient {
  const failFast = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    stringNumbers: false,
    connectTimeout: commandTimeoutMs,
    // Disconnects from a server that hangs. Otherwise each later command would wait for it too.
    socketTimeout: commandTimeoutMs,
    retryStrategy: reconnectAfterMs,
    // After a failover behind one host name, the old primary answers READONLY until the name is resolved again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  if (typeof redisOrUrl === 'string') return clientOfUrl(redisOrUrl, failFast)
  if (!redisOrUrl.isCluster) return (redisOrUrl as Redis).duplicate({ ...failFast, lazyConnect: false })
  return (redisOrUrl as Cluster).duplicate([], {
    lazyConnect: false,
    // A replica may not have the window yet that was sold a moment ago.
    scaleReads: 'master',
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectAfterMs,
    redisOptions: failFast,
  })
}

/** Neither the error nor its cause has the URL: it may hold a password, and errors are logged and shown. */
function clientOfUrl(url: string, options: RedisOptions): Redis {
  try {
    // ioredis would take `http` for the name of a host.
    if (!/^https?:/.test(url)) return new Redis(url, options)
  } catch {}
  const form = 'redis://[[user]:password@]host[:port][/db], each part URL-encoded'
  throw new Error(`The URL of Redis cannot be read: ${form}`)
}

/**
 * Lets the commands of one turn of the event loop leave in one write, at its end; on a Cluster in one for each node. A write is a
 * system call and wakes Redis, which then answers all of them in one. The client's own pipelines are not used: a
 * pipeline is sent only when the one before it has been answered, which may be after its time limit. Here only a handler that blocks
 * the event loop delays commands.
 */
function gathering(client: RedisClient): () => void {
  let isGathering = false
  return () => {
    if (isGathering) return
    isGathering = true
    const nodes = client.isCluster ? (client as Cluster).nodes() : [client as Redis]
    // A node that is not connected has no stream.
    const streams = nodes.flatMap(({ stream }): Redis['stream'][] => (stream ? [stream] : []))
    for (const stream of streams) stream.cork()
    setImmediate(() => {
      isGathering = false
      for (const stream of streams) stream.uncork()
    })
  }
}

function reconnectAfterMs(attempt: number): number {
  return Math.min(50 * 2 ** attempt, RECONNECT_MS_MAX)
}

function inTime<T>(ms: number, reply: Promise<T>): Promise<T> {
  return withTimeout(systemClock, ms, reply, `Redis did not answer within ${ms} ms`)
}

/** Warns of settings that endanger records, at each connection; and of a lost connection, once, not at each attempt to connect again. */
export function warnOfRedis(connection: Connection, waitReplicas: number, logger?: Logger): void {
  const warn = (warning: string) =>
    logger ? logger.warn({}, warning) : process.emitWarning(warning, { code: 'SVC_REDIS' })
  let isLost = false
  connection.client.on('error', ({ message, code }: NodeJS.ErrnoException) => {
    if (!isLost) warn(`Redis cannot be reached, and what needs it is refused: ${message || code}`)
    isLost = true
  })
  connection.onUp(() => {
    isLost = false
    durabilityWarnings(connection, waitReplicas)
      .then(warnings => warnings.forEach(warn))
      .catch(() => {})
  })
}

/** Whether a Redis keeps what it has acknowledged. INFO says so: managed servers often refuse CONFIG. A setting that it leaves out is not checked. */
export async function durabilityWarnings(
  connection: Connection,
  waitReplicas = 0,
): Promise<readonly string[]> {
  const settings: [field: string, isWell: (is: string) => boolean, why: string][] = [
    ['redis_version', is => Number.parseFloat(is) >= 7, WHY.redis_version],
    ['maxmemory_policy', is => is === 'noeviction', WHY.maxmemory_policy],
    ['aof_enabled', is => is === '1', WHY.aof_enabled],
    ['role', is => is === 'master', WHY.role],
    ['connected_slaves', is => Number(is) >= waitReplicas, `and waitReplicas is ${waitReplicas}: ${REFUSED}`],
  ]
  const info = await connection.send(redis => redis.info())
  return settings.flatMap(([field, isWell, why]) => {
    const is = new RegExp(`^${field}:(\\S*)`, 'm').exec(info)?.[1]
    return is === undefined || isWell(is) ? [] : [`Redis says ${field} ${is}, ${why}`]
  })
}

const REFUSED = 'paid calls will be refused'
const WHY = {
  redis_version: 'not 7.0 or newer: what is paid for cannot be kept',
  maxmemory_policy:
    'not noeviction: a server short of memory drops claims and payments that guard against double charges',
  aof_enabled: 'not 1: a restart forgets payments that were taken since the last snapshot',
  role: `not master: a replica takes no writes, and ${REFUSED}`,
}
