/** `/ready` asks the store for a write, as the next call will: on a real Redis that is full, or is a replica that takes none. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { closing } from '../support/closing.js'
import { emptiedRedis } from '../support/emptied-redis.js'
import { PATIENT } from '../support/redis-server.js'
import { ask, open, pay, type Seller } from '../support/seller.js'

const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
const READY = { status: 200, body: { ok: true } }
const UNREADY = { status: 503, body: { ok: false, why: [{ code: 'store_unavailable' }] } }
const WRITE_EVERY_MS = 1_000

/** A seller whose facilitator has answered, and whose clock stands still until it is moved on. */
async function readySeller(options: Partial<ServeOptions>) {
  // Whole numbers: of a fraction, (a + 1000) - a may be less than 1000.
  let nowMs = 0
  const monotonic = () => nowMs
  const seller = await open([work], { ...options, advanced: { ...options.advanced, clock: { monotonic } } })
  expect((await ask(`${seller.url}/work`)).status).toBe(402)
  const ready = async () => {
    const response = await fetch(`${seller.url}/ready`)
    return { status: response.status, body: await response.json() }
  }
  const readyLater = () => {
    nowMs += WRITE_EVERY_MS
    return ready()
  }
  return { seller, ready, readyLater }
}

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc

describe('on Redis', () => {
  const redis = emptiedRedis()
  const onRedis = () => readySeller({ stores: closing(redisStores(redis.url, PATIENT)) })

  it('is 503 while its memory is full, as the calls are, and 200 again when there is room', async () => {
    const { seller, ready, readyLater } = await onRedis()
    expect(await ready()).toMatchObject(READY)
    await redis.admin.config('SET', 'maxmemory', '1')
    try {
      expect(await readyLater()).toMatchObject(UNREADY)
      expect((await pay(seller, `${seller.url}/work`)).status).toBe(503)
      expect(received(seller)).toBe(0n)
    } finally {
      await redis.admin.config('SET', 'maxmemory', '0')
    }
    expect(await readyLater()).toMatchObject(READY)
    expect((await pay(seller, `${seller.url}/work`)).status).toBe(200)
  })

  it('is 503 while it is a replica that only reads', async () => {
    const { seller, ready, readyLater } = await onRedis()
    expect(await ready()).toMatchObject(READY)
    await redis.admin.replicaof('127.0.0.1', 1)
    try {
      expect(await readyLater()).toMatchObject(UNREADY)
      expect((await pay(seller, `${seller.url}/work`)).status).toBe(503)
    } finally {
      await redis.admin.replicaof('NO', 'ONE')
    }
    // The client connects anew after such an answer: the name may lead to another server by now.
    await expect.poll(readyLater).toMatchObject(READY)
    expect((await pay(seller, `${seller.url}/work`)).status).toBe(200)
  })

  it('leaves nothing behind', async () => {
    const { ready, readyLater } = await onRedis()
    for (const ask of [ready, readyLater, readyLater]) expect(await ask()).toMatchObject(READY)
    // A payer's claims and payments. The list of runs is of the test before, and may come now.
    expect(await redis.admin.keys('svc:{*')).toEqual([])
  })
})

describe('strangers who poll it', () => {
  async function counting(opened?: () => Promise<never> | { verdict: 'full' }) {
    const memory = memoryChargeStore()
    let writes = 0
    let isGone = false
    const charges: typeof memory = {
      ...memory,
      async open(move) {
        writes++
        return opened ? await opened() : memory.open(move)
      },
      async close(move) {
        if (isGone) throw new Error('gone')
        return memory.close(move)
      },
    }
    const leave = () => {
      isGone = true
    }
    return { ...(await readySeller({ stores: { charges } })), writes: () => writes, leave }
  }

  it('cause one write a second, and hear of a store that is gone at once', async () => {
    const { ready, readyLater, writes, leave } = await counting()
    for (let count = 0; count < 30; count++) expect(await ready()).toMatchObject(READY)
    await Promise.all(Array.from({ length: 30 }, ready))
    expect(writes()).toBe(1)
    await readyLater()
    expect(writes()).toBe(2)
    leave()
    expect(await ready()).toMatchObject(UNREADY)
    expect(writes()).toBe(2)
  })

  it.each([
    ['refuses', () => Promise.reject(new Error('OOM command not allowed'))],
    ['has no room', () => ({ verdict: 'full' as const })],
  ])('cause no more writes to a store that %s', async (_, opened) => {
    const { ready, readyLater, writes } = await counting(opened)
    for (let count = 0; count < 10; count++) expect(await ready()).toMatchObject(UNREADY)
    expect(writes()).toBe(1)
    expect(await readyLater()).toMatchObject(UNREADY)
    expect(writes()).toBe(2)
  })
})
