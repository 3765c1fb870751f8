/** Replicas that share a Redis are one seller: what one took, sold, counted or began, the others know. */
import { once } from 'node:events'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { closing } from '../support/closing.js'
import { emptiedRedis } from '../support/emptied-redis.js'
import { fieldsOf } from '../support/redis-fields.js'
import { PATIENT } from '../support/redis-server.js'
import { childReplica, openReplicas } from '../support/replicas.js'
import { ask, pay, receiptIn, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
const KEY = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }

const redis = emptiedRedis()

async function replicas(
  count: number,
  options: Omit<Parameters<typeof openReplicas>[2], 'redisUrl'> = {},
): Promise<{ sellers: readonly Seller[]; runs: () => number; received: () => bigint | null }> {
  let runs = 0
  const answer = defineEndpoint({ name: 'answer', price: '$0.01', handler: () => ({ run: ++runs }) })
  const window = defineEndpoint({
    name: 'window',
    subscription: { price: '$0.01', period: '1h' },
    handler: () => ({ open: true }),
  })
  const sellers = await openReplicas(count, [answer, window], { redisUrl: redis.url, ...options })
  const { sandbox } = sellers[0]!
  return { sellers, runs: () => runs, received: () => sandbox.balance(sandbox.seller.address).usdc }
}

describe('replicas on one Redis', () => {
  it('one payment presented to three at once is worked for by one', async () => {
    const { sellers, runs, received } = await replicas(3)
    const payment = await signFor(sellers[0]!, `${sellers[0]!.url}/answer`)
    const asked = Array.from({ length: 30 }, (_, at) =>
      ask(`${sellers[at % 3]!.url}/answer`, { headers: payment }),
    )
    const answers = await Promise.all(asked)
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(29).fill(409)])
    expect(runs()).toBe(1)
    expect(received()).toBe(PRICE)
  })

  it('one key presented to three at once is charged once, and replayed by all', async () => {
    const { sellers, runs, received } = await replicas(3)
    const paid = sellers.map(seller => pay(seller, `${seller.url}/answer`, { headers: KEY }))
    const statuses = (await Promise.all(paid)).map(({ status }) => status)
    expect(statuses.filter(status => status === 200).length).toBeGreaterThan(0)
    for (const seller of sellers) {
      const again = await pay(seller, `${seller.url}/answer`, { headers: KEY })
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(await again.json()).toEqual({ run: 1 })
      expect(receiptIn(again).txId).toBe(seller.sandbox.transactions().at(-1)?.txId)
    }
    expect(runs()).toBe(1)
    expect(received()).toBe(PRICE)
  })

  it('a payment that one has spent is spent for the others', async () => {
    const { sellers, received } = await replicas(2)
    const payment = await signFor(sellers[0]!, `${sellers[0]!.url}/answer`)
    expect((await ask(`${sellers[0]!.url}/answer`, { headers: payment })).status).toBe(200)
    const again = await ask(`${sellers[1]!.url}/answer`, { headers: payment })
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ error: { code: 'payment_spent' } })
    expect(received()).toBe(PRICE)
  })

  it('a window that is bought from one opens at another', async () => {
    const { sellers, received } = await replicas(2)
    const bought = await pay(sellers[0]!, `${sellers[0]!.url}/window`)
    const key = { 'x-svc-subscription': bought.headers.get('x-svc-subscription')! }
    const used = await ask(`${sellers[1]!.url}/window`, { headers: key })
    expect(await used.json()).toEqual({ open: true })
    expect(received()).toBe(PRICE)
  })

  it('a limit of N admits N among them', async () => {
    const { sellers, runs } = await replicas(3, { rateLimit: { perMinute: 4 } })
    const payments = await Promise.all(
      Array.from({ length: 9 }, () => signFor(sellers[0]!, `${sellers[0]!.url}/answer`)),
    )
    const answers = await Promise.all(
      payments.map((headers, at) => ask(`${sellers[at % 3]!.url}/answer`, { headers })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(4).fill(200), ...Array(5).fill(429)])
    expect(runs()).toBe(4)
  })

  it('a run at one is shown by another', async () => {
    const { sellers } = await replicas(1)
    const there = closing(redisStores(redis.url, PATIENT))
    await pay(sellers[0]!, `${sellers[0]!.url}/answer`)
    const shown = { endpoint: 'answer', txId: sellers[0]!.ended.at(-1)!.txId, final: 'settled' }
    await expect.poll(() => there.runs.list()).toMatchObject([shown, { final: 'quoted' }])
    expect(there.runs.list()[0]).not.toHaveProperty('payer')
  })
})

describe('a replica that dies while it settles', () => {
  it.each([
    ['before its payment landed', 'hang'],
    ['after its payment landed', 'die-after'],
  ] as const)('%s is adopted after its lease: one charge, and the answer it had stored', async (_, fault) => {
    const timeouts = {
      // A busy machine renews it in time: who may have lost it settles no more until it has asked.
      leaseMs: 5_000,
      settleMs: 60_000,
      certaintyMs: 60_000,
      reconcilePauseMs: 60_000,
    }
    const { sellers, received } = await replicas(1, { advanced: { timeouts } })
    const [survivor] = sellers
    const { sandbox } = survivor!
    // Without a node it cannot find out what became of the payment, and keeps trying until it is killed.
    const dying = await childReplica(sandbox, redis.url, {
      advanced: { timeouts },
      algodUrl: 'http://127.0.0.1:1',
    })
    closing({ close: () => dying.process.kill('SIGKILL') })

    sandbox.faults.set('settle', fault)
    const request = { body: { question: 'who?' }, headers: KEY }
    const payment = await signFor(survivor!, `${dying.url}/answer`, request)
    const headers = { ...KEY, ...payment }
    const lost = ask(`${dying.url}/answer`, { ...request, headers }).catch(() => undefined)
    await expect.poll(() => settlingClaims(redis.admin)).toBe(1)
    if (fault === 'die-after') await expect.poll(received).toBe(PRICE)
    dying.process.kill('SIGKILL')
    await Promise.all([once(dying.process, 'exit'), lost])
    sandbox.faults.clear()

    const { answer, refusals } = await untilAnswered(() =>
      ask(`${survivor!.url}/answer`, { ...request, headers }),
    )
    expect(refusals.filter(code => code !== 'idempotency_in_progress')).toEqual([])
    expect(answer.headers.get('idempotency-replayed')).toBe('true')
    expect(await answer.json()).toMatchObject({ question: 'who?' })
    expect(received()).toBe(PRICE)
  })
})

async function settlingClaims(client: Redis): Promise<number> {
  const keys = await client.keys('*:claim:*')
  const records = await Promise.all(keys.map(key => fieldsOf(client, key)))
  return records.filter(({ state }) => String(state) === 'settling').length
}

/** Waits as long as each refusal says, like any patient client. */
async function untilAnswered(request: () => Promise<Response>) {
  const refusals: unknown[] = []
  for (;;) {
    const answer = await request()
    if (answer.status === 200) return { answer, refusals }
    const { error } = (await answer.json()) as { error: { code: unknown } }
    refusals.push(error.code)
    const seconds = Number(answer.headers.get('retry-after') ?? 1)
    await new Promise(resolve => setTimeout(resolve, seconds * 1_000))
  }
}
