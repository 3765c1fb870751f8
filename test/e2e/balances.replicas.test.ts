/** Balances of several servers on one Redis, when processes die, and through the doors for agents. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint, type HandlerContext } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { childAgent } from '../support/child-agent.js'
import { closing } from '../support/closing.js'
import { EVERY_DOOR } from '../support/doors.js'
import { proving } from '../support/payer-proof.js'
import { PATIENT, type RedisServer, startRedis } from '../support/redis-server.js'
import { openReplicas } from '../support/replicas.js'
import { type Ask, ask, open, openSeller, type Seller, signFor } from '../support/seller.js'

const about = { balance: { amounts: ['$0.05'], period: '1h' } }
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const leftOf = ({ headers }: Response) => Number(headers.get('x-svc-balance'))

function metered() {
  let runs = 0
  const endpoint = defineEndpoint({
    name: 'work',
    price: '$0.01',
    handler({ body, charge }: HandlerContext) {
      runs++
      const { costs, says } = (body ?? {}) as { costs?: string; says?: string }
      if (costs) charge(costs)
      return { runs, says }
    },
  })
  return { endpoint, runs: () => runs }
}

let keys = 0
const newKey = () => `replicas-test-key-${keys++}-of-32-characters`

async function bought(seller: Seller) {
  const body = { amount: '$0.05' }
  const payment = await signFor(seller, `${seller.url}/balance`, { body })
  const sale = await ask(`${seller.url}/balance`, { body, headers: payment })
  const key = sale.headers.get('x-svc-balance-key')!
  const call = ({ of = seller, ...request }: Ask & { of?: Pick<Seller, 'url'> } = {}) =>
    ask(`${of.url}/work`, {
      body: {},
      ...request,
      headers: { 'x-svc-balance-key': key, 'idempotency-key': newKey(), ...request.headers },
    })
  return { sale, payment, key, call }
}

describe('replicas on one Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())

  it('take no more than there is, whichever are asked, and say what is left to the base unit', async () => {
    const { endpoint, runs } = metered()
    const sellers = await openReplicas(2, [endpoint], { redisUrl: redis.url, about })
    const { call } = await bought(sellers[0]!)
    const calls = Array.from({ length: 30 }, (_, at) => call({ of: sellers[at % 2] }))
    const statuses = (await Promise.all(calls)).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(25).fill(402)])
    expect(runs()).toBe(5)
    expect(received(sellers[0]!)).toBe(50_000n)
  })

  it('run one call under one key, and charge it once', async () => {
    const { endpoint, runs } = metered()
    const sellers = await openReplicas(2, [endpoint], { redisUrl: redis.url, about })
    const { call } = await bought(sellers[0]!)
    const headers = { 'idempotency-key': newKey() }
    const calls = Array.from({ length: 10 }, (_, at) => call({ of: sellers[at % 2], headers }))
    const statuses = new Set((await Promise.all(calls)).map(({ status }) => status))
    expect([...statuses].every(status => status === 200 || status === 409)).toBe(true)
    expect(runs()).toBe(1)
    const next = await call({ of: sellers[1], body: { costs: '$0.000001' } })
    expect(leftOf(next)).toBe(39_999)
  })

  it('have back what a killed process had reserved, after its lease', async () => {
    const timeouts = { advanced: { timeouts: { leaseMs: 6_000 } } }
    const stores = closing(redisStores(redis.url, PATIENT))
    const seller = closing(await openSeller([metered().endpoint], { stores, about, ...timeouts }))
    const { call } = await bought(seller)
    const halt = { at: 'before handler', signal: 'SIGKILL' }
    const options = { redisUrl: redis.url, ...timeouts, halt }
    const child = await childAgent(seller.sandbox, options, 'halting-agent.mjs')
    closing({ close: () => child.process.kill('SIGKILL') })
    await expect(call({ of: child })).rejects.toThrow()
    const calls = await Promise.all([1, 2, 3, 4, 5].map(async () => (await call()).status))
    expect(calls.sort()).toEqual([200, 200, 200, 200, 402])
    // Its cent is still reserved: nobody knows yet that the process is dead.
    await expect.poll(async () => (await call()).status, { timeout: 30_000 }).toBe(200)
    expect((await call()).status).toBe(402)
    expect(received(seller)).toBe(50_000n)
  })
})

describe('every door', () => {
  it.each(Object.entries(EVERY_DOOR))('%s sells a balance, takes from it, and replays', async (_, door) => {
    const { endpoint, runs } = metered()
    const dear = defineEndpoint({ name: 'dear', price: '$0.06', handler: () => 1 })
    const seller = await open([endpoint, dear], { about, idempotency: { maxAnswerBytes: 1_500 } })
    const input = { amount: '$0.05' }
    const payment = await signFor(seller, `${seller.url}/balance`, { body: input })
    const sale = await door(seller.url, { skill: 'balance', input, headers: payment })
    expect(sale).toMatchObject({ code: 'ok', subscriptionKey: undefined })
    const headers = { 'x-svc-balance-key': sale.balance!.key!, 'idempotency-key': newKey() }
    const asked = { skill: 'work', input: { costs: '$0.002' }, headers }
    const first = await door(seller.url, asked)
    expect(first).toMatchObject({
      code: 'ok',
      data: { runs: 1 },
      balance: { charged: '2000', left: '48000' },
    })
    expect(await door(seller.url, asked)).toMatchObject({
      code: 'ok',
      replayed: true,
      balance: { charged: '2000' },
    })
    const limited = { ...headers, 'idempotency-key': newKey(), 'x-svc-max-charge': '9999' }
    expect(await door(seller.url, { ...asked, headers: limited })).toMatchObject({ code: 'payment_required' })
    const large = { ...asked, input: { costs: '$0.003', says: 'x'.repeat(2_000) } }
    const unkept = { ...large, headers: { ...headers, 'idempotency-key': newKey() } }
    expect(await door(seller.url, unkept)).toMatchObject({ code: 'ok', balance: { charged: '3000' } })
    expect(await door(seller.url, unkept)).toMatchObject({
      code: 'answer_not_kept',
      balance: { charged: '3000' },
    })
    expect(runs()).toBe(2)
    expect(await door(seller.url, { ...asked, skill: 'dear' })).toMatchObject({
      code: 'payment_required',
      balance: { left: '45000' },
    })
    expect(received(seller)).toBe(50_000n)
  })
})

describe('a lost key', () => {
  it('comes back by the payment and a proof of its payer, and by the payment and its key', async () => {
    const { endpoint } = metered()
    const seller = await open([endpoint], { about, sealSecret: 'a secret of the seller, of 32 characters' })
    const { payment, key } = await bought(seller)
    const body = { amount: '$0.05' }
    const stranger = await ask(`${seller.url}/balance`, { body, headers: payment })
    expect([stranger.status, stranger.headers.get('x-svc-balance-key')]).toEqual([409, null])
    const proof = proving(seller.sandbox.wallet, seller.url, payment)
    const again = await ask(`${seller.url}/balance`, { body, headers: { ...payment, ...proof } })
    expect([again.status, again.headers.get('x-svc-balance-key')]).toEqual([200, key])
    expect(received(seller)).toBe(50_000n)
  })
})
