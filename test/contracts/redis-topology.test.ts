/** The same stores on a Cluster, which refuses any script whose keys do not share a slot, and behind a Sentinel. */

import { once } from 'node:events'
import { inspect } from 'node:util'
import { Cluster, Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { perMinute } from '../../src/ports/counters.js'
import { type RedisStores, redisStores } from '../../src/redis.js'
import { closing } from '../support/closing.js'
import { clusterPair } from '../support/redis-failover.js'
import { PATIENT, type RedisServer, startRedis } from '../support/redis-server.js'

async function server(...args: Parameters<typeof startRedis>): Promise<RedisServer> {
  const redis = await startRedis(...args)
  closing({ close: redis.stop })
  return redis
}

/** Everything that a script or a command of ours does, once. */
async function useAll({ charges, subscriptions, rateLimit, spend, health }: RedisStores): Promise<void> {
  const call = { slot: '{a}} payer {', token: 'a', claim: { name: 'name', bodyHash: 'body' }, payment: 'p1' }
  const rest = { leaseMs: 1, retentionMs: 60_000, paymentTtlMs: 60_000, claimTtlMs: 60_000 }
  const payment = { txId: 'p1', firstValid: 1n, lastValid: 2n }
  const recorded = { answer: new Uint8Array([0, 255]), payment }
  expect(await charges.open({ ...call, ...rest })).toEqual({ verdict: 'opened' })
  expect(await charges.record({ ...call, ...rest, recorded })).toBe('recorded')
  const successor = { ...call, token: 'b', payment: 'p2' }
  await expect
    .poll(() => charges.open({ ...successor, ...rest, leaseMs: 5_000 }))
    .toEqual({ verdict: 'orphaned', recorded: { answer: Buffer.from([0, 255]), payment } })
  expect(await charges.resolve({ ...successor, ...rest, txId: 'p1', verdict: 'dead' })).toBe('opened')
  await charges.close({ ...successor, ...rest, how: 'complete', answer: new Uint8Array([7]) })
  expect(await charges.open({ ...call, ...rest, token: 'c' })).toMatchObject({ verdict: 'replayable' })

  await subscriptions.putIfAbsent('id', { endpoint: 'e', expiresAtMs: Date.now() + 60_000 })
  expect(await subscriptions.get('id')).toMatchObject({ endpoint: 'e' })
  await subscriptions.putIfAbsent('counted', {
    endpoint: 'e',
    expiresAtMs: Date.now() + 60_000,
    callsLeft: 2,
  })
  const take = { endpoint: 'e', leaseMs: 60_000 }
  for (const token of ['a', 'b']) await subscriptions.take!('counted', { ...take, token })
  await subscriptions.use!('counted', 'a')
  expect(await subscriptions.giveBack!('counted', 'b')).toBe(1)
  expect(await subscriptions.get('counted')).toMatchObject({ callsLeft: 1 })
  expect(await rateLimit.take('caller {', perMinute(1))).toEqual({ admitted: true })
  expect(await rateLimit.take('caller {', perMinute(1))).toMatchObject({ admitted: false })
  expect(await spend.reserve({ id: 'x', amount: 3n }, 3n)).toBe(true)
  expect(await spend.reserve({ id: 'y', amount: 1n }, 3n)).toBe(false)
  expect(await spend.attach('x', { network: 'testnet', ...payment, txId: 'A'.repeat(52) })).toBe(true)
  expect(await spend.due('testnet', 3n, 10)).toMatchObject([{ id: 'x' }])
  await spend.postpone('x', 4n)
  await spend.release('x')
  await spend.settle('x', 'dead')
  expect(await spend.reserve({ id: 'y', amount: 3n }, 3n)).toBe(true)
  expect(await health()).toMatchObject({ ok: true })
}

describe('redisStores', () => {
  it('on a cluster: the keys of each script share a slot, whatever a slot is called', async () => {
    const node = await server({
      settings: [
        'appendonly yes',
        'cluster-enabled yes',
        'cluster-node-timeout 15000',
        'cluster-announce-ip 127.0.0.1',
      ],
    })
    const admin = new Redis(node.url)
    closing({ close: () => admin.disconnect() })
    await admin.cluster('ADDSLOTSRANGE', 0, 16_383)
    await expect.poll(() => admin.cluster('INFO')).toContain('cluster_state:ok')
    for (const lazyConnect of [false, true]) {
      const cluster = new Cluster([{ host: '127.0.0.1', port: node.port }], { lazyConnect })
      closing({ close: () => cluster.disconnect() })
      if (!lazyConnect) await once(cluster, 'ready')
      await useAll(closing(redisStores(cluster, { prefix: `${lazyConnect}:`, ...PATIENT })))
    }
  })

  it('on a Cluster whose owner reads from its replicas: they are read where they are written', async () => {
    const pair = await clusterPair({ scaleReads: 'slave' })
    await pair.showsReplica()
    await useAll(closing(redisStores(pair.client(), PATIENT)))
    expect(await pair.replica.info('commandstats')).not.toMatch(/^cmdstat_(?:get|hmget|time):/m)
  })

  it('behind a sentinel', async () => {
    const primary = await server()
    const sentinel = await server({
      sentinel: true,
      settings: [`sentinel monitor svc 127.0.0.1 ${primary.port} 1`],
    })
    const client = new Redis({ sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: 'svc' })
    closing({ close: () => client.disconnect() })
    await useAll(closing(redisStores(client, PATIENT)))
  })

  it('on a client of the caller’s: its prefix counts, its queueing, its laziness and its words for numbers do not, and it is not closed with the stores', async () => {
    const redis = await server()
    const client = new Redis(redis.url, { keyPrefix: 'app:', lazyConnect: true, stringNumbers: true })
    closing({ close: () => client.disconnect() })
    const stores = redisStores(client, { prefix: 'agent:', ...PATIENT })
    await useAll(stores)
    await stores.close()
    const names = await client.keys('*')
    expect(names.length).toBeGreaterThan(3)
    expect(names.filter(name => !name.startsWith('app:agent:'))).toEqual([])
    expect(await client.ping()).toBe('PONG')
  })

  it('every key that was written ends by itself', async () => {
    const redis = await server()
    const stores = closing(redisStores(redis.url, PATIENT))
    await useAll(stores)
    const client = new Redis(redis.url)
    closing({ close: () => client.disconnect() })
    const names = await client.keys('*')
    const left = await Promise.all(names.map(name => client.pttl(name)))
    expect(left.length).toBeGreaterThan(4)
    expect(left.every(ms => ms > 0)).toBe(true)
  })

  it.each([
    'redis://:s3cret%zz@127.0.0.1:6379',
    'redis://user:s3cret@127.0.0.1:99999',
    'redis://user:s3cret@two hosts:6379',
  ])('shows nothing of a URL that cannot be read: %s', url => {
    let thrown: unknown
    try {
      redisStores(url)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ message: expect.stringContaining('The URL of Redis cannot be read') })
    expect(inspect(thrown, { depth: 9, showHidden: true })).not.toContain('s3cret')
  })

  it('refuses a prefix that would change where keys live', async () => {
    expect(() => redisStores('redis://127.0.0.1:1', { prefix: '{a}' })).toThrow('no braces')
  })
})
