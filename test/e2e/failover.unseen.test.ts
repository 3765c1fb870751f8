/**
 * A failover to a replica that had not received the last writes: what docs/storage.md says of it, with `waitReplicas` and
 * without.
 */
import { beforeEach, expect, it } from 'vitest'
import { closing } from '../support/closing.js'
import { call, type FailingMarket, failingMarket, inTheEnd, PRICE } from '../support/failing-market.js'
import { gate } from '../support/gate.js'
import { type RedisPair, startRedisPair } from '../support/redis-pair.js'

let market: FailingMarket
let pair: RedisPair
beforeEach(async () => {
  market = await failingMarket()
  pair = closing(await startRedisPair())
})

/** The replica receives nothing more while a handler works, and takes over when its call has been answered. */
async function unseenRecord(waitReplicas: number) {
  const door = gate()
  const first = await market.process(pair.url, { door, waitReplicas, leaseMs: 4_000 })
  const second = await market.process(pair.url, { waitReplicas })
  const request = await market.sign(first)
  const working = call(first, request)
  await door.entered()
  await pair.part()
  door.open()
  const answer = await working
  await pair.failOver()
  return { answer, request, second }
}

it('without waitReplicas: the record is forgotten, and its key is charged again', async () => {
  const { answer, request, second } = await unseenRecord(0)
  expect(answer).toEqual([200, 1])
  expect(await inTheEnd(second, request)).toEqual([409, 'payment_spent'])
  expect(await inTheEnd(second, await market.sign(second))).toEqual([200, 2])
  expect([market.runs(), market.received()]).toEqual([2, 2n * PRICE])
})

it('with waitReplicas: nobody is charged until a replica has the record, and then once', async () => {
  const { answer, request, second } = await unseenRecord(1)
  expect(answer).toEqual([503, 'store_unavailable'])
  expect(market.received()).toBe(0n)
  // The new primary has no replica of its own yet.
  const again = market.sign(second)
  await expect.poll(() => call(second, request)).toEqual([503, 'store_unavailable'])
  expect(market.received()).toBe(0n)
  await pair.rejoin()
  const [status, run] = await inTheEnd(second, request)
  expect(status).toBe(200)
  expect(await inTheEnd(second, await again)).toEqual([200, run])
  expect(market.received()).toBe(PRICE)
})

it('with min-replicas-to-write: calls are refused before their handlers run, once the primary knows', async () => {
  await pair.primary().config('SET', 'min-replicas-to-write', 1)
  const seller = await market.process(pair.url, { waitReplicas: 1 })
  await pair.part()
  expect(await call(seller, await market.sign(seller))).toEqual([503, 'store_unavailable'])
  expect([market.runs(), market.received()]).toEqual([0, 0n])
})
