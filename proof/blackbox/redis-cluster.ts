/**
 * A Redis that keeps all it acknowledged, its replica, and two Sentinels that decide between them. These know each Redis by a wire of its
 * own, which can be cut while sellers still reach it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from '../../test/support/redis-server.js'
import { type Link, openLink } from './links.js'

const KEEPS_ALL = [
  ...['appendonly yes', 'appendfsync always', 'save ""', 'maxmemory-policy noeviction'],
  // A replica that comes back waits five seconds for others otherwise.
  'repl-diskless-sync-delay 0',
]

export interface SentinelRedis {
  /** Of the two servers: where each is known to its Sentinels, and where it listens. */
  readonly servers: readonly { readonly known: number; readonly port: number }[]
  readonly sentinelPorts: readonly number[]
  /** Calls back whenever the Sentinels have another primary, also where nobody ordered it: a Redis that stands still counts as dead. */
  onSwitch(switched: () => void): void
  /** Ends the primary as a crash would. Resolves when the Sentinels have another. */
  failOver(): Promise<void>
  /** Starts what has ended; resolves when the replica follows. */
  mend(): Promise<void>
  /** The replica receives nothing for so long, and its primary then crashes: what was written meanwhile is lost. */
  forget(forMs: number): Promise<void>
  /**
   * The primary hears nothing of its replica and of the Sentinels for so long, and sellers still reach it: another primary stands beside it
   * meanwhile. What only the old one wrote is lost when it hears of the new one.
   */
  split(forMs: number): Promise<void>
  /** The primary has no room for so long. */
  fill(forMs: number): Promise<void>
  close(): Promise<void>
}

interface Node {
  readonly server: RedisServer
  /** By which the other servers reach it. */
  readonly wire: Link
  readonly admin: Redis
}

/** @param downAfterMs how long a Redis is silent before the Sentinels call it down */
export async function startSentinelRedis(downAfterMs: number): Promise<SentinelRedis> {
  const nodes = [await node(KEEPS_ALL)]
  nodes.push(await node(KEEPS_ALL))
  await nodes[1]!.admin.call('REPLICAOF', '127.0.0.1', String(nodes[0]!.wire.port))
  await until(() => isFollowing(nodes[1]!))
  const settings = (noticedAfterMs: number) => [
    `sentinel monitor svc 127.0.0.1 ${nodes[0]!.wire.port} 1`,
    `sentinel down-after-milliseconds svc ${noticedAfterMs}`,
    'sentinel failover-timeout svc 3000',
  ]
  // Two that notice at the same moment each vote for themselves, and again after six seconds.
  const sentinels = [await node(settings(downAfterMs), true), await node(settings(2 * downAfterMs), true)]
  const sees = async ({ admin }: Node) =>
    String(await admin.call('SENTINEL', 'REPLICAS', 'svc')).includes(String(nodes[1]!.wire.port)) &&
    String(await admin.call('SENTINEL', 'SENTINELS', 'svc')).includes('port')
  for (const sentinel of sentinels) await until(() => sees(sentinel))
  const heard = sentinels[0]!.admin.duplicate()
  await heard.subscribe('+switch-master')

  const known = async () => {
    const told = (await sentinels[0]!.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'svc')) as string[]
    return nodes.find(({ wire }) => wire.port === Number(told[1]))!
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

  // A replica that heard nothing for long may be refused: then the old primary has to come back.
  const promoted = (old: Node) =>
    until(async () => (await known()) !== old && (await isPrimary(await known())), PROMOTED_WITHIN_MS)

  async function failOver(): Promise<void> {
    const old = await primary()
    down.add(old)
    await old.server.kill()
    await promoted(old)
  }

  async function mend(): Promise<void> {
    for (const node of down) await node.server.start()
    down.clear()
    const first = await primary()
    const { admin } = other(first)
    await until(() => isFollowing(other(first)), 3_000)
    // The Sentinels lead back a server that calls itself the primary only after eight seconds, and cut off its clients then.
    await admin.call('REPLICAOF', '127.0.0.1', String(first.wire.port))
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
    await until(() => isFollowing(other(first)))
  }

  return {
    servers: nodes.map(({ server, wire }) => ({ known: wire.port, port: server.port })),
    sentinelPorts: sentinels.map(({ server }) => server.port),
    onSwitch: switched => void heard.on('message', switched),
    failOver,
    mend,
    async forget(forMs) {
      const first = await primary()
      // The link between the two is full: the replica's output is closed again and again by its limit.
      await other(first).admin.call('REPLICAOF', '127.0.0.1', '1')
      await pause(forMs)
      await failOver()
    },
    async split(forMs) {
      const old = await primary()
      old.wire.set('cut')
      await promoted(old)
      await pause(forMs)
      old.wire.set('up')
      await mend()
    },
    async fill(forMs) {
      const { admin } = await primary()
      await admin.config('SET', 'maxmemory', '1')
      await pause(forMs)
      await admin.config('SET', 'maxmemory', '0')
    },
    async close() {
      heard.disconnect()
      for (const { server, admin, wire } of [...sentinels, ...nodes]) {
        admin.disconnect()
        await server.stop()
        await wire.close()
      }
    },
  }
}

async function node(settings: readonly string[], sentinel = false): Promise<Node> {
  const server = await startRedis({ settings, sentinel })
  const admin = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  admin.on('error', () => {})
  const wire = await openLink(server.port)
  if (!sentinel) {
    await admin.config('SET', 'replica-announce-ip', '127.0.0.1', 'replica-announce-port', wire.port)
    await admin.config('REWRITE')
  }
  return { server, admin, wire }
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
