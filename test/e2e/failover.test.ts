/**
 * Redis loses its primary, or its memory, in the middle of a call. A failover that forgot nothing is only an outage. What
 * was forgotten breaks what docs/storage.md says, under "One primary that is believed", and nothing else.
 */
import { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { gate } from '../support/gate.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { clusterPair, sentinelPair } from '../support/redis-failover.js'
import { startRedis } from '../support/redis-server.js'
import { ask, open, receiptIn, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
const KEY = { 'idempotency-key': 'a-key-that-cannot-be-guessed' }

let sandbox: Sandbox
let runs: number
beforeEach(async () => {
  sandbox = closing(await startSandbox())
  runs = 0
})

const received = () => sandbox.balance(sandbox.seller.address).usdc

interface ProcessOptions {
  readonly door?: ReturnType<typeof gate>
  readonly leaseMs?: number
  readonly facilitatorUrl?: string
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** One process of the seller, with connections of its own. Handlers wait at the door, where one is given. */
async function process(
  redis: Parameters<typeof redisStores>[0],
  { door, leaseMs, ...options }: ProcessOptions = {},
): Promise<Seller> {
  const stores = closing(redisStores(redis, { commandTimeoutMs: 500, logger: silent }))
  await stores.ping()
  const work = defineEndpoint({
    name: 'work',
    price: '$0.01',
    async handler() {
      const run = ++runs
      door?.enter()
      await door?.opened
      return { run }
    },
  })
  return open([work], { sandbox, stores, idempotency: {}, budgets: { leaseMs }, ...options })
}

const sign = async ({ url }: Seller) => ({
  headers: { ...KEY, ...(await signFor({ sandbox } as Seller, `${url}/work`)) },
})

type Told = readonly [status: number, said: unknown]
const told = async (response: Response): Promise<Told> => {
  const body = (await response.json()) as { run?: number; error?: { code: string } }
  return [response.status, body.run ?? body.error?.code]
}
const call = async ({ url }: Seller, request: object) => told(await ask(`${url}/work`, request))

const PASSING = ['store_unavailable', 'idempotency_in_progress', 'payment_in_use']

/** What is said once Redis answers again, and no other call is at work any more. */
async function inTheEnd(seller: Seller, request: object): Promise<Told> {
  let last: Told | undefined
  await expect
    .poll(
      async () => {
        last = await call(seller, request)
        return PASSING.includes(last[1] as string)
      },
      { timeout: 20_000 },
    )
    .toBe(false)
  return last!
}

describe.each([
  ['Sentinel', sentinelPair],
  ['Cluster', clusterPair],
])('a failover by %s that forgets nothing', (_, makePair) => {
  it('while a handler works: its call is recorded by the new primary, and charged once', async () => {
    const pair = await makePair()
    const door = gate()
    const [first, second] = [await process(pair.client(), { door }), await process(pair.client())]
    const request = await sign(first)
    const working = call(first, request)
    await door.entered()
    await pair.replicated()
    await pair.kill()
    const refused = await call(second, request)
    expect(refused).toEqual([503, 'store_unavailable'])
    expect(received()).toBe(0n)
    await pair.promote()
    // Until its process has found the new primary, its record would be refused as other moves are.
    await expect.poll(() => call(first, request)).toEqual([409, 'idempotency_in_progress'])
    door.open()
    expect(await working).toEqual([200, 1])
    expect(await inTheEnd(second, await sign(second))).toEqual([200, 1])
    expect([runs, received()]).toEqual([1, PRICE])
  })

  it('while a call settles: it is answered, and completed with the new primary', async () => {
    const pair = await makePair()
    const facilitator = heldFacilitator()
    facilitator.serves(sandbox)
    const first = await process(pair.client(), { facilitatorUrl: await facilitator.url })
    const second = await process(pair.client())
    const request = await sign(first)
    const settling = facilitator.hold('/settle', {}, { landed: true })
    const slow = ask(`${first.url}/work`, request)
    await settling.arrived
    await pair.replicated()
    await pair.kill()
    settling.answer()
    // An answer that is paid for waits for no store.
    const answer = await slow
    const { txId } = receiptIn(answer)
    expect(await told(answer)).toEqual([200, 1])
    await pair.promote()
    expect(await inTheEnd(second, await sign(second))).toEqual([200, 1])
    expect(await inTheEnd(second, request)).toEqual([200, 1])
    expect(receiptIn(await ask(`${second.url}/work`, request)).txId).toBe(txId)
    expect([runs, received()]).toEqual([1, PRICE])
  })
})

describe('a Redis that forgets', () => {
  /** It keeps what it held when it was told to save, and forgets the rest when it is killed. */
  async function forgetful() {
    const redis = await startRedis({ settings: ['appendonly no', 'save ""', 'maxmemory-policy noeviction'] })
    closing({ close: redis.stop })
    const admin = new Redis(redis.url)
    admin.on('error', () => {})
    closing({ close: () => admin.disconnect() })
    return {
      url: redis.url,
      save: () => admin.save(),
      async forget() {
        await redis.kill()
        await redis.start()
      },
    }
  }

  async function scene() {
    const redis = await forgetful()
    const facilitator = heldFacilitator()
    facilitator.serves(sandbox)
    const door = gate()
    const leaseMs = 1_000
    const first = await process(redis.url, { door, leaseMs, facilitatorUrl: await facilitator.url })
    const second = await process(redis.url, { leaseMs })
    const request = await sign(first)
    return { redis, facilitator, door, first, second, request }
  }

  it('all, while a handler works: its call is superseded, and the retry is the one charge', async () => {
    const { redis, door, first, second, request } = await scene()
    const working = call(first, request)
    await door.entered()
    await redis.forget()
    expect(await inTheEnd(second, request)).toEqual([200, 2])
    door.open()
    expect(await working).toEqual([409, 'superseded'])
    expect(await inTheEnd(second, await sign(second))).toEqual([200, 2])
    expect([runs, received()]).toEqual([2, PRICE])
  })

  it.each(['all', 'the record'])('%s, while a call settles: it is answered and charged once', async what => {
    const { redis, facilitator, door, first, second, request } = await scene()
    const settling = facilitator.hold('/settle', {}, { landed: true })
    const slow = call(first, request)
    await door.entered()
    if (what === 'the record') await redis.save()
    door.open()
    await settling.arrived
    await redis.forget()
    settling.answer()
    expect(await slow).toEqual([200, 1])
    // The recorded answer is forgotten, and the payment is not taken again: the chain has it.
    expect(await inTheEnd(second, request)).toEqual([409, 'payment_spent'])
    expect([runs, received()]).toEqual([1, PRICE])
    // What is said under "One primary that is believed": the key may be charged again, by a new payment.
    expect(await inTheEnd(second, await sign(second))).toEqual([200, 2])
    expect([runs, received()]).toEqual([2, 2n * PRICE])
  })

  it('all, before a payment has landed: the retry is delivered too, and both are one charge', async () => {
    const { redis, facilitator, door, first, second, request } = await scene()
    const settling = facilitator.hold('/settle', {})
    const slow = call(first, request)
    door.open()
    await settling.arrived
    await redis.forget()
    expect(await inTheEnd(second, request)).toEqual([200, 2])
    settling.answer()
    expect(await slow).toEqual([200, 1])
    expect([runs, received()]).toEqual([2, PRICE])
    expect(await inTheEnd(second, await sign(second))).toEqual([200, 2])
    expect([runs, received()]).toEqual([2, PRICE])
  })

  it('the completion: the record is there, and the answer is replayed', async () => {
    const { redis, facilitator, door, first, second, request } = await scene()
    const settling = facilitator.hold('/settle', {}, { landed: true })
    const slow = call(first, request)
    door.open()
    await settling.arrived
    await redis.save()
    settling.answer()
    expect(await slow).toEqual([200, 1])
    await expect.poll(() => call(second, request)).toEqual([200, 1])
    await redis.forget()
    expect(await inTheEnd(second, await sign(second))).toEqual([200, 1])
    expect([runs, received()]).toEqual([1, PRICE])
  })
})
