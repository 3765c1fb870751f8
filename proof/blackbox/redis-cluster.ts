/** A Redis that keeps all it acknowledged, its replica, and two Sentinels that decide between them. */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from '../../test/support/redis-server.js'

const KEEPS_ALL = [
  ...['appendonly yes', 'appendfsync always', 'save ""', 'maxmemory-policy noeviction'],
  // A replica that comes back waits five seconds for others otherwise.
  'repl-diskless-sync-delay 0',
]

export interface SentinelRedis {
  /** Of the two servers, in the order in which they were started. */
  readonly ports: readonly number[]
  readonly sentinelPorts: readonly number[]
  /** Ends the primary as a crash would. Resolves when the Sentinels have another. */
  failOver(): Promise<void>
  /** Starts what has ended; resolves when the replica follows. */
  mend(): Promise<void>
  /** The replica receives nothing for so long, and its primary then crashes: what was written meanwhile is lost. */
  forget(forMs: number): Promise<void>
  /** The primary has no room for so long. */
  fill(forMs: number): Promise<void>
  close(): Promise<void>
}

interface Node {
  readonly server: RedisServer
  readonly admin: Redis
}

export async function startSentinelRedis(): Promise<SentinelRedis> {
  const nodes = [await node(KEEPS_ALL)]
  nodes.push(await node([...KEEPS_ALL, `replicaof 127.0.0.1 ${nodes[0]!.server.port}`]))
  await until(() => isFollowing(nodes[1]!))
  const settings = [
    `sentinel monitor svc 127.0.0.1 ${nodes[0]!.server.port} 1`,
    'sentinel down-after-milliseconds svc 500',
    'sentinel failover-timeout svc 3000',
  ]
  const sentinels = [await node(settings, true), await node(settings, true)]
  const sees = async ({ admin }: Node) =>
    String(await admin.call('SENTINEL', 'REPLICAS', 'svc')).includes(String(nodes[1]!.server.port)) &&
    String(await admin.call('SENTINEL', 'SENTINELS', 'svc')).includes('port')
  for (const sentinel of sentinels) await until(() => sees(sentinel))

  const known = async () => {
    const told = (await sentinels[0]!.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'svc')) as string[]
    return nodes.find(({ server }) => server.port === Number(told[1]))!
  }
  const primary = async (): Promise<Node> => {
    for (;;) {
      const found = await known()
      if (await isPrimary(found)) return found
      await pause(50)
    }
  }
  const other = (one: Node) => nodes.find(node => node !== one)!
  const down = new Set<Node>()

  async function failOver(): Promise<void> {
    const old = await primary()
    down.add(old)
    await old.server.kill()
    const isPromoted = async () => (await known()) !== old && (await isPrimary(await known()))
    // A replica that heard nothing for long may be refused: then the old primary has to come back.
    await until(isPromoted, PROMOTED_WITHIN_MS)
  }

  return {
    ports: nodes.map(({ server }) => server.port),
    sentinelPorts: sentinels.map(({ server }) => server.port),
    failOver,
    async mend() {
      for (const node of down) await node.server.start()
      down.clear()
      const first = await primary()
      await until(() => isFollowing(other(first)), PROMOTED_WITHIN_MS)
      // The Sentinels lead a server that lost its way back after a while; it need not take so long.
      await other(first).admin.call('REPLICAOF', '127.0.0.1', String(first.server.port))
      await until(() => isFollowing(other(first)))
    },
    async forget(forMs) {
      const first = await primary()
      // The link between the two is full: the replica's output is closed again and again by its limit.
      await other(first).admin.call('REPLICAOF', '127.0.0.1', '1')
      await pause(forMs)
      await failOver()
    },
    async fill(forMs) {
      const { admin } = await primary()
      await admin.config('SET', 'maxmemory', '1')
      await pause(forMs)
      await admin.config('SET', 'maxmemory', '0')
    },
    async close() {
      for (const { server, admin } of [...sentinels, ...nodes]) {
        admin.disconnect()
        await server.stop()
      }
    },
  }
}

async function node(settings: readonly string[], sentinel = false): Promise<Node> {
  const server = await startRedis({ settings, sentinel })
  const admin = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  admin.on('error', () => {})
  return { server, admin }
}

const answers = (info: Promise<string>, word: string) =>
  Promise.race([info.then(text => text.includes(word)).catch(() => false), pause(500, false)])
const isPrimary = ({ admin }: Node) => answers(admin.info('replication'), 'role:master')
const isFollowing = ({ admin }: Node) => answers(admin.info('replication'), 'master_link_status:up')

const PROMOTED_WITHIN_MS = 15_000

async function until(holds: () => Promise<boolean>, withinMs = Number.POSITIVE_INFINITY): Promise<void> {
  const endsMs = performance.now() + withinMs
  while (!(await holds()) && performance.now() < endsMs) await pause(50)
}
