/** A primary and its replica, of which the second takes the first one's place: by a Sentinel, or in a Cluster. */
import { Cluster, type ClusterOptions, Redis } from 'ioredis'
import { expect } from 'vitest'
import { closing } from './closing.js'
import { startRedis } from './redis-server.js'

export interface FailoverPair {
  /** Clients that find the primary by themselves. */
  client(): Redis | Cluster
  /** Waits until the replica has received all that was written so far. */
  replicated(): Promise<void>
  /** Kills the primary. */
  kill(): Promise<void>
  /** Makes the replica the primary, and waits until it is. */
  promote(): Promise<void>
}

const KEEPS_ALL = ['appendonly yes', 'appendfsync always', 'save ""', 'maxmemory-policy noeviction']

async function server(...args: Parameters<typeof startRedis>) {
  const redis = await startRedis(...args)
  closing({ close: redis.stop })
  const admin = new Redis(redis.url)
  admin.on('error', () => {})
  closing({ close: () => admin.disconnect() })
  return { ...redis, admin }
}

/** WAIT waits for what its own connection has written, and for nothing where that is nothing: so it writes, after all others. */
async function allReceived(primary: Redis): Promise<void> {
  await primary.set('pair:followed', '')
  expect(await primary.wait(1, 10_000)).toBe(1)
}

const isLinked = async (replica: Redis) =>
  (await replica.info('replication')).includes('master_link_status:up')
const isPrimary = async (redis: Redis) => (await redis.info('replication')).includes('role:master')

/** For the test that is running. */
export async function sentinelPair(): Promise<FailoverPair> {
  const primary = await server({ settings: KEEPS_ALL })
  const replica = await server({ settings: [...KEEPS_ALL, `replicaof 127.0.0.1 ${primary.port}`] })
  await expect.poll(() => isLinked(replica.admin)).toBe(true)
  const sentinel = await server({
    sentinel: true,
    settings: [
      `sentinel monitor svc 127.0.0.1 ${primary.port} 1`,
      // It is told when: a primary that stands still on a busy machine is none that has died.
      'sentinel down-after-milliseconds svc 120000',
    ],
  })
  const knowsReplica = async () => String(await sentinel.admin.call('SENTINEL', 'REPLICAS', 'svc'))
  await expect.poll(knowsReplica, { timeout: 15_000 }).toContain(String(replica.port))
  return {
    client() {
      const client = new Redis({ sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: 'svc' })
      client.on('error', () => {})
      return closing({ close: () => client.disconnect(), client }).client
    },
    replicated: () => allReceived(primary.admin),
    kill: primary.kill,
    async promote() {
      const ask = () => sentinel.admin.call('SENTINEL', 'FAILOVER', 'svc').catch(({ message }) => message)
      // NOGOODSLAVE, where it has heard nothing from the replica for five seconds.
      await expect.poll(ask, { timeout: 45_000 }).toBe('OK')
      await expect.poll(() => isPrimary(replica.admin), { timeout: 45_000 }).toBe(true)
    },
  }
}

/** For the test that is running. One primary has all slots, so it is a person who promotes the replica. */
export async function clusterPair(options: ClusterOptions = {}) {
  const settings = [
    ...KEEPS_ALL,
    'cluster-enabled yes',
    'cluster-node-timeout 15000',
    'cluster-announce-ip 127.0.0.1',
  ]
  const primary = await server({ settings })
  const replica = await server({ settings })
  await primary.admin.cluster('ADDSLOTSRANGE', 0, 16_383)
  await replica.admin.cluster('MEET', '127.0.0.1', primary.port)
  const id = (await primary.admin.cluster('MYID')) as string
  await expect.poll(() => replica.admin.cluster('NODES')).toContain(id)
  await replica.admin.cluster('REPLICATE', id)
  await expect.poll(() => isLinked(replica.admin)).toBe(true)
  await expect.poll(() => replica.admin.cluster('INFO')).toContain('cluster_state:ok')
  const pair: FailoverPair = {
    client() {
      const nodes = [primary, replica].map(({ port }) => ({ host: '127.0.0.1', port }))
      const client = new Cluster(nodes, options)
      client.on('error', () => {})
      return closing({ close: () => client.disconnect(), client }).client
    },
    replicated: () => allReceived(primary.admin),
    kill: primary.kill,
    async promote() {
      await replica.admin.cluster('FAILOVER', 'TAKEOVER')
      await expect.poll(() => isPrimary(replica.admin)).toBe(true)
      await expect.poll(() => replica.admin.cluster('INFO')).toContain('cluster_state:ok')
    },
  }
  return {
    ...pair,
    replica: replica.admin,
    /** Clients that are made then know the replica, too. */
    async showsReplica() {
      const slots = async () => String(await primary.admin.cluster('SLOTS'))
      await expect.poll(slots).toContain(String(replica.port))
    },
  }
}
