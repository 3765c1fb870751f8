/** What the doors load, and what a Redis is warned about that would not keep what it acknowledged. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { durabilityWarnings } from '../../src/adapters/redis/connection.js'
import { type RedisStores, redisStores } from '../../src/redis.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

function listener(told: string[] = []) {
  const warn = (_: object, said: string) => void told.push(said)
  return { told, logger: { debug() {}, info() {}, warn, error() {} } }
}

async function loadedBy(door: string): Promise<string> {
  const script = fileURLToPath(new URL('../client/loaded-modules.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, door])
  return stdout
}

describe('importing', () => {
  it('@svc/sdk loads no Redis client', async () => {
    const loaded = await loadedBy('@svc/sdk')
    expect(loaded).toContain('/koa/')
    expect(loaded).not.toMatch(/ioredis/)
  })

  it('@svc/sdk/redis loads one, and nothing of a server', async () => {
    const loaded = await loadedBy('@svc/sdk/redis')
    expect(loaded).toContain('/ioredis/')
    expect(loaded).not.toContain('/koa/')
  })

  it('@svc/sdk/testing loads no package at all: the test runner is its caller’s', async () => {
    const loaded = await loadedBy('@svc/sdk/testing')
    expect(loaded).toContain('/dist/lib/testing.js')
    expect(loaded).not.toContain('/node_modules/')
  })
})

describe('a Redis that may forget', () => {
  let redis: RedisServer | undefined
  let stores: RedisStores | undefined
  afterEach(async () => {
    await stores?.close()
    await redis?.stop()
  })

  async function warningsOf(settings?: readonly string[]): Promise<readonly string[]> {
    redis = await startRedis({ settings })
    const { told, logger } = listener()
    stores = redisStores(redis.url, { logger })
    const health = await stores.health()
    if (!health.ok) throw new Error(health.error)
    await expect.poll(() => told).toEqual(health.warnings)
    return health.warnings
  }

  it('is told of: eviction, and no append-only file', async () => {
    const warnings = await warningsOf(['maxmemory-policy allkeys-lru', 'appendonly no'])
    expect(warnings).toEqual([
      expect.stringContaining('maxmemory_policy allkeys-lru, not noeviction'),
      expect.stringContaining('aof_enabled 0, not 1'),
    ])
  })

  it('is told of: a replica', async () => {
    expect(await warningsOf(['replicaof 127.0.0.1 1', 'appendonly yes'])).toEqual([
      expect.stringContaining('role slave, not master'),
    ])
  })

  it('is told of: a version that lacks what the scripts use', async () => {
    const said = (version: string) =>
      durabilityWarnings({ send: async () => `redis_version:${version}\r\n` } as never)
    expect(await said('6.2.14')).toEqual([expect.stringContaining('redis_version 6.2.14, not 7.0 or newer')])
    for (const version of ['7.0.0', '7.4.1', '10.1.0']) expect(await said(version)).toEqual([])
  })

  it('is not told of where nothing is wrong', async () => {
    expect(await warningsOf()).toEqual([])
  })
})

describe('a Redis that cannot be reached', () => {
  it('is told of once, by its cause, until it answers, and when it is lost again', async () => {
    const redis = await startRedis()
    onTestFinished(redis.stop)
    await redis.kill()
    const { told, logger } = listener()
    const stores = redisStores(redis.url, { logger })
    onTestFinished(stores.close)
    const ping = () =>
      stores.ping().then(
        () => 'up',
        () => 'down',
      )
    await expect.poll(() => told).toHaveLength(1)
    expect(told[0]).toMatch(/^Redis cannot be reached, and what needs it is refused: .*ECONNREFUSED/)
    expect(await ping()).toBe('down')
    await redis.start()
    await expect.poll(ping).toBe('up')
    await redis.kill()
    await expect.poll(() => told).toHaveLength(2)
  })

  it.each(['http://localhost:6379', 'https://localhost:6379'])(
    'is refused where its URL is of the web: %s',
    url => {
      expect(() => redisStores(url)).toThrow('The URL of Redis cannot be read')
    },
  )
})
