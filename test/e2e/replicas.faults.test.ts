/** What a Redis can do wrong. Whoever needs it is refused before any charge, at once, and served again when it is back. */
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { gated } from '../support/gate.js'
import { freePort, type RedisServer, startRedis } from '../support/redis-server.js'
import { openReplicas } from '../support/replicas.js'
import { ask, pay, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
/** Redis has long to answer, so that no call is refused because the machine is busy. */
const COMMAND_MS = 20_000
/** A refusal is prompt if it comes long before that. */
const PROMPT_MS = COMMAND_MS / 2
const silent = { debug() {}, info() {}, warn() {}, error() {} }

interface Scene {
  readonly redis: RedisServer
  readonly admin: Redis
  readonly seller: Seller
  readonly door: ReturnType<typeof gated>
  received(): bigint | null
  /** One paid call. */
  call(): Promise<Response>
}

async function scene(options: Partial<Parameters<typeof openReplicas>[2]> = {}): Promise<Scene> {
  const redis = await startRedis()
  closing({ close: redis.stop })
  const admin = new Redis(redis.url)
  admin.on('error', () => {})
  closing({ close: () => admin.disconnect() })
  const door = gated()
  const answer = defineEndpoint({ name: 'answer', price: '$0.01', handler: () => ({ done: true }) })
  const window = defineEndpoint({
    name: 'window',
    subscription: { price: '$0.01', period: '1h' },
    handler: () => ({ open: true }),
  })
  const [seller] = await openReplicas(1, [answer, door.endpoint, window], {
    redisUrl: redis.url,
    redis: { commandTimeoutMs: COMMAND_MS, logger: silent },
    ...options,
  })
  const { sandbox } = seller!
  const received = () => sandbox.balance(sandbox.seller.address).usdc
  return { redis, admin, seller: seller!, door, received, call: () => pay(seller!, `${seller!.url}/answer`) }
}

async function expectRefused({ received, seller }: Scene, request: () => Promise<Response>): Promise<void> {
  const before = received()
  const sinceMs = performance.now()
  const refused = await request()
  expect(await refused.json()).toMatchObject({ error: { code: 'store_unavailable' } })
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(performance.now() - sinceMs).toBeLessThan(PROMPT_MS)
  expect(received()).toBe(before)
  expect(seller.ended.at(-1)).toMatchObject({ final: 'unavailable', charged: 'no' })
}

/** Without anybody's doing: the connection mends itself. */
async function expectServedAgain({ received, call }: Scene): Promise<void> {
  const before = received() ?? 0n
  await expect.poll(async () => (await call()).status).toBe(200)
  expect(received()).toBe(before + PRICE)
}

const health = async ({ seller }: Scene) => (await ask(`${seller.url}/health`, { method: 'GET' })).status

describe('a Redis that', () => {
  it('is down at start: refused until it is there', async () => {
    const s = await scene()
    await s.redis.kill()
    const [late] = await openReplicas(
      1,
      [defineEndpoint({ name: 'answer', price: '$0.01', handler: () => 1 })],
      {
        redisUrl: s.redis.url,
        redis: { commandTimeoutMs: COMMAND_MS, logger: silent },
        sandbox: s.seller.sandbox,
      },
    )
    const there = { ...s, seller: late!, call: () => pay(late!, `${late!.url}/answer`) }
    await expectRefused(there, there.call)
    await s.redis.start()
    await expectServedAgain(there)
  })

  it('is nowhere: refused, and nothing waits for it', async () => {
    const s = await scene({ redisUrl: `redis://127.0.0.1:${await freePort()}` })
    await expectRefused(s, s.call)
  })

  it('dies between calls: health says so, and that it is back', async () => {
    const s = await scene()
    expect(await health(s)).toBe(200)
    await s.redis.kill()
    await expectRefused(s, s.call)
    expect(await health(s)).toBe(503)
    await s.redis.start()
    await expectServedAgain(s)
    expect(await health(s)).toBe(200)
  })

  it('dies while a handler works: its answer is thrown away and nothing is charged', async () => {
    const s = await scene()
    const working = pay(s.seller, `${s.seller.url}/slow`)
    await s.door.entered()
    await s.redis.kill()
    s.door.open()
    await expectRefused(s, () => working)
    await s.redis.start()
    await expectServedAgain(s)
  })

  it('is down when a window is sold or used: refused, and nothing is charged', async () => {
    const s = await scene()
    const payment = await signFor(s.seller, `${s.seller.url}/window`)
    await s.redis.kill()
    await expectRefused(s, () => ask(`${s.seller.url}/window`, { headers: payment }))
    const key = { 'x-svc-subscription': 'svc_some-key' }
    await expectRefused(s, () => ask(`${s.seller.url}/window`, { headers: key }))
  })

  it('hangs: refused after the command’s time, and left for a new connection', async () => {
    const s = await scene({ redis: { commandTimeoutMs: 400, logger: silent } })
    // All scripts wait in it, for longer than the test may take.
    await s.admin.client('PAUSE', 600_000, 'WRITE')
    await expectRefused(s, s.call)
    await s.admin.client('UNPAUSE')
    await expectServedAgain(s)
  })

  it('has become a read-only replica: refused until it is a primary again', async () => {
    const s = await scene()
    await s.admin.replicaof('127.0.0.1', await freePort())
    await expectRefused(s, s.call)
    await s.admin.replicaof('NO', 'ONE')
    await expectServedAgain(s)
  })

  it('is out of memory: refused, and what is held can still be given back', async () => {
    const s = await scene()
    const working = pay(s.seller, `${s.seller.url}/slow`)
    await s.door.entered()
    await s.admin.config('SET', 'maxmemory', '1')
    await expectRefused(s, s.call)
    s.door.open()
    await expectRefused(s, () => working)
    // In the background: what a store rejected may have happened all the same.
    await expect.poll(() => s.admin.keys('*:payment:*')).toEqual([])
    await s.admin.config('SET', 'maxmemory', '0')
    await expectServedAgain(s)
  })

  it('was restarted empty: a call that it forgot does not charge, and a spent payment is not served again', async () => {
    const s = await scene()
    const payment = await signFor(s.seller, `${s.seller.url}/answer`)
    expect((await ask(`${s.seller.url}/answer`, { headers: payment })).status).toBe(200)
    const working = pay(s.seller, `${s.seller.url}/slow`)
    await s.door.entered()
    await s.admin.flushall()
    await s.admin.script('FLUSH')
    s.door.open()
    const forgotten = await working
    expect(forgotten.status).toBe(409)
    expect(await forgotten.json()).toMatchObject({ error: { code: 'superseded' } })
    const again = await ask(`${s.seller.url}/answer`, { headers: payment })
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ error: { code: 'payment_spent' } })
    expect(s.received()).toBe(PRICE)
    await expectServedAgain(s)
  })

  it('was restarted with its file: what it acknowledged is still held', async () => {
    const s = await scene()
    const payment = await signFor(s.seller, `${s.seller.url}/answer`)
    expect((await ask(`${s.seller.url}/answer`, { headers: payment })).status).toBe(200)
    await s.redis.kill()
    await s.redis.start()
    await expectServedAgain(s)
    const again = await ask(`${s.seller.url}/answer`, { headers: payment })
    // The completion is not waited for, so the kill may have come between it and the record before it.
    expect(await again.json()).toMatchObject({
      error: { code: expect.stringMatching(/^payment_(spent|in_use)$/) },
    })
  })

  it('counts a limit and is down: closed by default, open where the seller said so', async () => {
    const closed = await scene({ rateLimit: { perMinute: 10 } })
    await closed.redis.kill()
    await expectRefused(closed, closed.call)
    expect(closed.seller.ended.at(-1)?.path).toEqual(['received.storeDown'])

    const open = await scene({ rateLimit: { perMinute: 10, onStoreDown: 'admit' } })
    await open.redis.kill()
    await expectRefused(open, open.call)
    expect(open.seller.ended.at(-1)?.path).toEqual(['received.admitted', 'opening.storeDown'])
  })
})

describe('round trips', () => {
  it('a paid call with a key waits for so many scripts, and a replay for three', async () => {
    const s = await scene({ rateLimit: { perMinute: 100 } })
    /** Without those that push finished calls, several at once, onto the list of runs: nothing of a call waits for them. */
    const scripts = async () => {
      const stats = await s.admin.info('commandstats')
      const calls = (command: RegExp) =>
        [...stats.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)]
          .filter(([, name]) => command.test(name!))
          .reduce((sum, [, , count]) => sum + Number(count), 0)
      return calls(/^eval(sha)?$/) - calls(/^ltrim$/)
    }
    const key = { 'idempotency-key': 'counted-by-a-random-key-of-its-own' }
    const begun = await scripts()
    const paid = await pay(s.seller, `${s.seller.url}/answer`, { headers: key })
    expect(paid.status).toBe(200)
    // Looked up under the payer, counted under the address, opened, counted under the payer and no longer under the address, credit,
    // recorded; and completion and credit, which no answer waits for.
    await expect.poll(scripts).toBe(begun + 9)
    const replayed = await pay(s.seller, `${s.seller.url}/answer`, { headers: key })
    expect(replayed.headers.get('idempotency-replayed')).toBe('true')
    expect(await scripts()).toBe(begun + 12)
  })
})
