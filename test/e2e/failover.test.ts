/**
 * Redis loses its primary, or its memory, in the middle of a call. A failover that forgot nothing is only an outage. What
 * was forgotten breaks what docs/storage.md says, under "One primary that is believed", and nothing else.
 */
import { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { closing } from '../support/closing.js'
import {
  call,
  type FailingMarket,
  failingMarket,
  inTheEnd,
  isReady,
  PRICE,
  told,
} from '../support/failing-market.js'
import { gate } from '../support/gate.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { clusterPair, sentinelPair } from '../support/redis-failover.js'
import { startRedis } from '../support/redis-server.js'
import { ask, receiptIn } from '../support/seller.js'

let market: FailingMarket
beforeEach(async () => {
  market = await failingMarket()
})

describe.each([
  ['Sentinel', sentinelPair],
  ['Cluster', clusterPair],
])('a failover by %s that forgets nothing', (_, makePair) => {
  it('while a handler works: its call is recorded by the new primary, and charged once', async () => {
    const pair = await makePair()
    const door = gate()
    const [first, second] = [
      // Until the new primary is there, nobody can renew a lease.
      await market.process(pair.client(), { door, leaseMs: 120_000 }),
      await market.process(pair.client()),
    ]
    const request = await market.sign(first)
    const working = call(first, request)
    await door.entered()
    await pair.replicated()
    await pair.kill()
    const refused = await call(second, request)
    expect(refused).toEqual([503, 'store_unavailable'])
    expect(market.received()).toBe(0n)
    await pair.promote()
    // Until its process has found the new primary, its record would be refused as other moves are.
    await expect.poll(() => call(first, request)).toEqual([409, 'idempotency_in_progress'])
    door.open()
    expect(await working).toEqual([200, 1])
    expect(await inTheEnd(second, await market.sign(second))).toEqual([200, 1])
    expect([market.runs(), market.received()]).toEqual([1, PRICE])
  })

  it('while a call settles: it is answered, and completed with the new primary', async () => {
    const pair = await makePair()
    const facilitator = heldFacilitator()
    facilitator.serves(market.sandbox)
    const first = await market.process(pair.client(), { facilitatorUrl: await facilitator.url })
    const second = await market.process(pair.client())
    const request = await market.sign(first)
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
    expect(await inTheEnd(second, await market.sign(second))).toEqual([200, 1])
    expect(await inTheEnd(second, request)).toEqual([200, 1])
    expect(receiptIn(await ask(`${second.url}/work`, request)).txId).toBe(txId)
    expect([market.runs(), market.received()]).toEqual([1, PRICE])
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
    facilitator.serves(market.sandbox)
    const door = gate()
    const leaseMs = 1_000
    const first = await market.process(redis.url, { door, leaseMs, facilitatorUrl: await facilitator.url })
    const second = await market.process(redis.url, { leaseMs })
    const request = await market.sign(first)
    return { redis, facilitator, door, first, second, request }
  }

  it('all, while a handler works: its call is superseded, and the retry is the one charge', async () => {
    const { redis, door, first, second, request } = await scene()
    const working = call(first, request)
    await door.entered()
    await redis.forget()
    expect(await inTheEnd(second, request)).toEqual([200, 2])
    // A process that has not found its Redis again refuses as one whose store is down: 503, and nothing is charged.
    await expect.poll(() => isReady(first)).toBe(true)
    door.open()
    expect(await working).toEqual([409, 'superseded'])
    expect(await inTheEnd(second, await market.sign(second))).toEqual([200, 2])
    expect([market.runs(), market.received()]).toEqual([2, PRICE])
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
    expect([market.runs(), market.received()]).toEqual([1, PRICE])
    // What is said under "One primary that is believed": the key may be charged again, by a new payment.
    expect(await inTheEnd(second, await market.sign(second))).toEqual([200, 2])
    expect([market.runs(), market.received()]).toEqual([2, 2n * PRICE])
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
    expect([market.runs(), market.received()]).toEqual([2, PRICE])
    expect(await inTheEnd(second, await market.sign(second))).toEqual([200, 2])
    expect([market.runs(), market.received()]).toEqual([2, PRICE])
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
    expect(await inTheEnd(second, await market.sign(second))).toEqual([200, 1])
    expect([market.runs(), market.received()]).toEqual([1, PRICE])
  })
})
