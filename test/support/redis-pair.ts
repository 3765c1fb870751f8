/**
 * A primary and its replica behind one address, as managed services have it: a failover leads the address to the replica,
 * with what that had received. Who shall forget something parts the two first.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from './redis-server.js'

const SETTINGS = [
  ...['appendonly yes', 'appendfsync always', 'save ""', 'maxmemory-policy noeviction'],
  // A replica that comes back waits five seconds for others otherwise.
  'repl-diskless-sync-delay 0',
]

export interface RedisPair {
  /** Where the primary is, whichever it is. */
  readonly url: string
  /** The primary's administration. */
  primary(): Redis
  /** From now on the replica receives nothing: what is written after this is forgotten by the failover. */
  part(): Promise<void>
  /** Kills the primary and leads the address to the replica. */
  failOver(): Promise<void>
  /** The server that was the primary before, as the replica of the new one. */
  rejoin(): Promise<void>
  /** Kills the primary and starts it again with its file; resolves when the replica is up to date. */
  restart(downMs: number): Promise<void>
  close(): Promise<void>
}

interface Member {
  readonly server: RedisServer
  readonly admin: Redis
}

export async function startRedisPair(): Promise<RedisPair> {
  let [primary, replica] = await Promise.all([member(), member()])
  const front = await startFront(() => primary.server.port)
  const follow = async () => {
    await replica.admin.replicaof('127.0.0.1', primary.server.port)
    // A link that is up is not enough: the first writes may come a second later.
    do await primary.admin.set('pair:followed', '').catch(noReplicas)
    while ((await primary.admin.wait(1, 100)) < 1)
  }
  await follow()
  return {
    url: front.url,
    primary: () => primary.admin,
    part: async () => void (await replica.admin.replicaof('NO', 'ONE')),
    async failOver() {
      await primary.server.kill()
      await replica.admin.replicaof('NO', 'ONE')
      ;[primary, replica] = [replica, primary]
    },
    async rejoin() {
      await replica.server.start()
      await isUp(replica)
      await follow()
    },
    async restart(downMs) {
      await primary.server.kill()
      await pause(downMs)
      await primary.server.start()
      await isUp(primary)
      await follow()
    },
    async close() {
      await front.close()
      for (const { server, admin } of [primary, replica]) {
        admin.disconnect()
        await server.stop()
      }
    },
  }
}

async function member(): Promise<Member> {
  const server = await startRedis({ settings: SETTINGS })
  const admin = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  admin.on('error', () => {})
  return { server, admin }
}

/** Ready, and on a connection that was made after it was started again. */
async function isUp({ admin }: Member): Promise<void> {
  while (admin.status !== 'ready') await pause(10)
  await admin.ping()
}

/** What `min-replicas-to-write` makes a primary say until its replica is there. */
function noReplicas(error: Error): void {
  if (!error.message.startsWith('NOREPLICAS')) throw error
}

/** Each connection goes to whoever is the primary when it is made, and ends with it. */
async function startFront(portOfPrimary: () => number) {
  const open = new Set<Socket>()
  const front = createServer(socket => {
    const upstream = connect(portOfPrimary(), '127.0.0.1')
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }).listen(0, '127.0.0.1')
  await once(front, 'listening')
  return {
    url: `redis://127.0.0.1:${(front.address() as AddressInfo).port}`,
    async close() {
      for (const socket of open) socket.destroy()
      front.close()
      await once(front, 'close')
    },
  }
}
