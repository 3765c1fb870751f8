/** A Redis without a file is restarted in the middle of what was paid for: nobody pays twice, and what was told stays true. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint, type HandlerContext } from '../../src/index.js'
import { gate } from '../support/gate.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { openReplicas } from '../support/replicas.js'
import { type Ask, ask, type Seller, signFor } from '../support/seller.js'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis({ settings: ['appendonly no', 'save ""', 'maxmemory-policy noeviction'] })
})
afterAll(() => redis.stop())

async function restarted(seller: Seller): Promise<void> {
  await redis.kill()
  await redis.start()
  await expect.poll(async () => (await fetch(`${seller.url}/ready`)).status, { timeout: 20_000 }).toBe(200)
}

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const codeOf = async (response: Response) =>
  ((await response.json()) as { error?: { code: string } }).error?.code

/** An endpoint of each kind, whose handlers wait behind a door where their body says so. */
function endpoints() {
  const door = gate()
  const handler = async ({ body }: HandlerContext) => {
    if ((body as { waits?: boolean }).waits) {
      door.enter()
      await door.opened
    }
    return { done: true }
  }
  return {
    door,
    all: [
      defineEndpoint({ name: 'work', price: '$0.01', handler }),
      defineEndpoint({ name: 'window', subscription: { price: '$0.01', period: '1h' }, handler }),
      defineEndpoint({ name: 'counted', subscription: { price: '$0.01', period: '1h', calls: 3 }, handler }),
      defineEndpoint({
        name: 'stream',
        price: '$0.01',
        stream: true,
        async *handler({ charge }: HandlerContext) {
          yield 'one'
          door.enter()
          await door.opened
          charge('$0.004')
          yield 'two'
        },
      }),
    ],
  }
}

async function scene(options: Partial<Parameters<typeof openReplicas>[2]> = {}) {
  const { door, all } = endpoints()
  const [seller] = await openReplicas(1, all, {
    redisUrl: redis.url,
    about: { balance: { amounts: ['$0.05'], period: '1h' } },
    ...options,
  })
  return {
    door,
    seller: seller!,
    at: (name: string, request: Ask = {}) => ask(`${seller!.url}/${name}`, { body: {}, ...request }),
  }
}

const KEY = 'key-of-a-call-of-at-least-32-characters'

describe('while a payment settles', () => {
  it.each<[string, Record<string, string>, string | undefined]>([
    ['without a key', {}, undefined],
    ['with a key', { 'idempotency-key': KEY }, 'replay'],
    ['with a key that a lost answer frees', { 'idempotency-key': KEY }, 'release'],
  ])('%s, it is charged and answered once', async (_, key, onLostResponse) => {
    const facilitator = heldFacilitator()
    const idempotency = onLostResponse && { idempotency: { onLostResponse } }
    const { seller, at } = await scene({ facilitatorUrl: await facilitator.url, ...idempotency } as never)
    facilitator.serves(seller.sandbox)
    const payment = await signFor(seller, `${seller.url}/work`, { body: {} })
    const held = facilitator.hold('/settle', { success: true }, { landed: true })
    const asked = at('work', { headers: { ...payment, ...key } })
    await held.arrived
    await restarted(seller)
    held.answer()
    const answer = await asked
    expect([answer.status, await answer.json()]).toEqual([200, { done: true }])
    for (const headers of [{ ...payment, ...key }, payment])
      expect(await codeOf(await at('work', { headers }))).toBe('payment_spent')
    expect(received(seller)).toBe(10_000n)
  })
})

async function bought(
  at: Awaited<ReturnType<typeof scene>>['at'],
  seller: Seller,
  name: string,
  body: object,
) {
  const payment = await signFor(seller, `${seller.url}/${name}`, { body })
  const sale = await at(name, { body, headers: payment })
  expect(sale.status).toBe(200)
  const header = name === 'balance' ? 'x-svc-balance-key' : 'x-svc-subscription'
  return { payment, key: { [header]: sale.headers.get(header)! } }
}

describe('while a window is used', () => {
  it.each(['window', 'counted'])(
    '%s: the call is answered, and its payment buys nothing again',
    async name => {
      const { seller, at, door } = await scene()
      const { payment, key } = await bought(at, seller, name, {})
      const used = at(name, { body: { waits: true }, headers: key })
      await door.entered()
      await restarted(seller)
      door.open()
      const answer = await used
      expect([answer.status, await answer.json()]).toEqual([200, { done: true }])
      expect((await at(name, { headers: key })).status).toBe(402)
      const again = await at(name, { headers: payment })
      expect([again.status, await codeOf(again)]).toEqual([409, 'payment_spent'])
      expect(received(seller)).toBe(10_000n)
    },
  )
})

describe('while a balance is used', () => {
  const headersOf = (key: object) => ({ ...key, 'idempotency-key': KEY })

  it('a call is not answered, and nothing is told to have been taken', async () => {
    const { seller, at, door } = await scene()
    const { payment, key } = await bought(at, seller, 'balance', { amount: '$0.05' })
    const used = at('work', { body: { waits: true }, headers: headersOf(key) })
    await door.entered()
    await restarted(seller)
    door.open()
    const answer = await used
    expect([answer.status, await codeOf(answer), answer.headers.get('x-svc-charged')]).toEqual([
      409,
      'superseded',
      null,
    ])
    expect(seller.ended.at(-1)).not.toHaveProperty('units')
    expect((await at('work', { headers: headersOf(key) })).status).toBe(402)
    const again = await at('balance', { body: { amount: '$0.05' }, headers: payment })
    expect([again.status, await codeOf(again)]).toEqual([409, 'payment_spent'])
    expect(received(seller)).toBe(50_000n)
  })

  it('a stream goes on to its end, and is told to have taken nothing', async () => {
    const { seller, at, door } = await scene()
    const { key } = await bought(at, seller, 'balance', { amount: '$0.05' })
    const stream = await at('stream', { headers: headersOf(key) })
    await door.entered()
    await restarted(seller)
    const ended = seller.nextEnded()
    door.open()
    expect(await stream.text()).toContain('two')
    expect(await ended).toMatchObject({ endpoint: 'stream', units: { used: 0 } })
  })
})

describe('while a window or a balance is sold', () => {
  const sales: [string, string, object][] = [
    ['window', 'window', {}],
    ['counted', 'counted', {}],
    ['balance', 'work', { amount: '$0.05' }],
  ]
  it.each(
    sales.flatMap(sale => [['and is back', ...sale] as const, ['and is not back yet', ...sale] as const]),
  )('%s as its payment settles: the key of a %s opens what was paid for', async (when, name, opens, body) => {
    const facilitator = heldFacilitator()
    const { seller, at } = await scene({ facilitatorUrl: await facilitator.url })
    facilitator.serves(seller.sandbox)
    const payment = await signFor(seller, `${seller.url}/${name}`, { body })
    const held = facilitator.hold('/settle', { success: true }, { landed: true })
    const asked = at(name, { body, headers: payment })
    await held.arrived
    if (when === 'and is back') await restarted(seller)
    else await redis.kill()
    held.answer()
    const sale = await asked
    expect(sale.status).toBe(200)
    if (when !== 'and is back') await restarted(seller)
    const header = name === 'balance' ? 'x-svc-balance-key' : 'x-svc-subscription'
    const headers = { [header]: sale.headers.get(header)!, 'idempotency-key': KEY }
    await expect.poll(async () => (await at(opens, { headers })).status, { timeout: 20_000 }).toBe(200)
  })
})
