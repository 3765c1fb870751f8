/** What tasks need of their store: what is told where it fails, how long it keeps them, and how much room they may take. */
import { describe, expect, it } from 'vitest'
import { memoryTasks } from '../../src/adapters/memory/task-store.js'
import { defineEndpoint, type ServeOptions, type TaskStore } from '../../src/index.js'
import { emptiedRedis } from '../support/emptied-redis.js'
import { gate } from '../support/gate.js'
import {
  ACTIVATED,
  begin,
  begun,
  paying,
  received,
  rejecting,
  send,
  textOf,
} from '../support/payment-tasks.js'
import { openReplicas } from '../support/replicas.js'
import { open, type Seller } from '../support/seller.js'
import { KEYLESS, taskSellers } from '../support/task-sellers.js'

const PRICE = 10_000n

const redis = emptiedRedis()

const { answer, seen, SELLERS } = taskSellers(redis)

describe('a store of tasks', () => {
  const selling = (over: (store: TaskStore) => Partial<TaskStore>, options: Partial<ServeOptions> = {}) => {
    const store = memoryTasks()
    return open([answer], { ...options, stores: { tasks: { ...store, ...over(store) } } })
  }
  const down = async (): Promise<never> => {
    throw new Error('down')
  }

  it('that does not answer charges nobody, and says so', async () => {
    const seller = await selling(() => ({ put: down, get: down, take: down }))
    const real = await open([answer], { sandbox: seller.sandbox })
    const { payment } = await begun(real)
    for (const message of [textOf('x'), paying('t', payment), rejecting('t'), { taskId: 't', parts: [] }]) {
      const told = await send(seller.url, message)
      expect(told).toMatchObject({ status: 503, is: 'store_unavailable' })
      expect(told.headers.get('retry-after')).toBe('2')
      expect(told.headers.get('payment-required')).toBeNull()
    }
    expect([seen.runs, received(seller)]).toEqual([0, 0n])
  })

  it('that took the task and lost its answer takes it again for the same payment', async () => {
    let isLost = true
    const seller = await selling(store => ({
      async take(move) {
        const taken = await store.take(move)
        if (isLost) throw new Error('the answer was lost')
        return taken
      },
    }))
    const { paid } = await begun(seller)
    expect((await send(seller.url, paid)).is).toBe('store_unavailable')
    expect(seen.runs).toBe(0)
    isLost = false
    expect((await send(seller.url, paid)).is).toBe('completed')
    expect([seen.runs, received(seller)]).toEqual([1, PRICE])
  })

  it('that cannot be told of an end withholds nothing: an answer is answered, a failure is told', async () => {
    const seller = await selling(() => ({ end: down }))
    const { paid } = await begun(seller)
    expect((await send(seller.url, paid)).is).toBe('completed')
    expect(await send(seller.url, paid)).toMatchObject({ is: 'completed', data: { run: 1 } })
    const failing = await begun(seller)
    seller.sandbox.faults.set('verify', 'refuse', { times: 1 })
    expect((await send(seller.url, failing.paid)).is).toBe('failed')
    expect(received(seller)).toBe(PRICE)
  })

  it('hears of a task that was charged also where the answer is not kept any more', async () => {
    let isDown = true
    const seller = await selling(store => ({ end: move => (isDown ? down() : store.end(move)) }), {
      advanced: { tasks: { max: 1 } },
      idempotency: { maxAnswerBytes: 10 },
    })
    const { paid } = await begun(seller)
    expect((await send(seller.url, paid)).is).toBe('completed')
    isDown = false
    expect((await send(seller.url, textOf('x'))).is).toBe('too_many_waiting_tasks')
    expect((await send(seller.url, paid)).is).toBe('answer_not_kept')
    expect((await send(seller.url, textOf('x'))).is).toBe('input-required')
  })

  it('names the payment that came just before the caller declined', async () => {
    const seller = await selling(store => ({
      async end(move) {
        await store.take({ name: move.name, payment: 'TX', token: 't', lifeMs: 60_000 })
        return store.end(move)
      },
    }))
    const { id } = await begin(seller)
    const told = await send(seller.url, rejecting(id))
    expect(told).toMatchObject({ status: 409, is: 'task_has_payment', error: { data: { txId: 'TX' } } })
  })

  it('does not let a slow failure end a task that the same payment has bought meanwhile', async () => {
    const door = gate()
    const seller = await selling(store => ({
      async end(move) {
        if (move.how === 'failed') {
          door.enter()
          await door.opened
        }
        return store.end(move)
      },
    }))
    const { paid } = await begun(seller)
    seller.sandbox.faults.set('verify', 'refuse', { times: 1 })
    const refused = send(seller.url, paid)
    await door.entered()
    expect((await send(seller.url, paid)).is).toBe('completed')
    door.open()
    // "Failed, not charged" would be a lie by now.
    expect(await refused).toMatchObject({ status: 409, is: 'payment_in_use' })
    expect(await send(seller.url, paid)).toMatchObject({ is: 'completed', data: { run: 1 } })
    expect([seen.runs, received(seller)]).toEqual([1, PRICE])
  })

  it('keeps a task as long as its quote lives, and a paid one as long as its answer is owed', async () => {
    const lives: [string, number][] = []
    const seller = await selling(
      store => ({
        put(move) {
          lives.push(['put', move.lifeMs])
          return store.put(move)
        },
        take(move) {
          lives.push(['take', move.lifeMs])
          return store.take(move)
        },
        end(move) {
          lives.push([move.how, move.lifeMs])
          return store.end(move)
        },
      }),
      { advanced: { maxTimeoutSeconds: 120 }, idempotency: { windowMs: 60_000 } },
    )
    await send(seller.url, (await begun(seller)).paid)
    const refused = await begun(seller)
    seller.sandbox.faults.set('verify', 'refuse', { times: 1 })
    await send(seller.url, refused.paid)
    expect(lives).toEqual([
      ['put', 120_000],
      ['take', 180_000],
      // Verified. 120 seconds are 43 rounds.
      ['take', 43 * 4_000 + 3_600_000 + 60_000],
      ['completed', 60_000],
      ['put', 120_000],
      ['take', 180_000],
      ['failed', 0],
    ])
  })

  it('shows a reader of Redis neither ids nor inputs nor answers', async () => {
    const [seller] = await openReplicas(1, [answer], { redisUrl: redis.url, ...KEYLESS })
    const { id, paid } = await begun(seller!, textOf('a secret question'))
    const dump = async () => {
      const keys = await redis.admin.keys('*')
      const values = keys.map(async key => {
        const type = await redis.admin.type(key)
        if (type === 'hash') return JSON.stringify(await redis.admin.hgetall(key))
        if (type === 'zset') return JSON.stringify(await redis.admin.zrange(key, '0', '-1'))
        return type === 'list' ? '' : redis.admin.get(key)
      })
      return keys.concat((await Promise.all(values)).map(String)).join('\n')
    }
    for (const isPaid of [false, true]) {
      if (isPaid) expect((await send(seller!.url, paid)).is).toBe('completed')
      const seen = await dump()
      expect(seen).toContain('{tasks}')
      for (const secret of [id, 'secret question', '127.0.0.1']) expect(seen).not.toContain(secret)
    }
  })
})

describe('callers who never pay', () => {
  it.each(Object.entries(SELLERS))('fill no more than a bounded room: %s', async (_, sell) => {
    const [one, other] = await sell({ advanced: { tasks: { max: 8 } }, trustProxy: 1 })
    const from = (ip: string) => ({ ...ACTIVATED, 'x-forwarded-for': ip })
    const say = (ip: string, { url }: Seller = one) => send(url, textOf('x'), from(ip))
    const states = async (ip: string, count: number) =>
      (await Promise.all(Array.from({ length: count }, (__, at) => say(ip, at % 2 ? one : other))))
        .map(({ is }) => is)
        .sort()
    const FULL = 'too_many_waiting_tasks'
    // A quarter for one address.
    expect(await states('10.0.0.1', 4)).toEqual(['input-required', 'input-required', FULL, FULL])
    for (const ip of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) await states(ip, 2)
    const refused = await say('10.0.0.5')
    expect(refused).toMatchObject({ status: 429, is: FULL, error: { code: -32000 } })
    expect(refused.headers.get('retry-after')).toBe('10')
    // The specification's flow needs no room.
    expect((await send(one.url, textOf('x'), {})).status).toBe(402)
  })

  it('make no room by payments that are worthless, and payments that are good do', async () => {
    const seller = await open([answer], { advanced: { tasks: { max: 4 } } })
    const { paid } = await begun(seller)
    expect((await send(seller.url, textOf('x'))).is).toBe('too_many_waiting_tasks')
    seller.sandbox.faults.set('verify', '500', { times: 1 })
    expect((await send(seller.url, paid)).is).toBe('facilitator_unavailable')
    expect((await send(seller.url, textOf('x'))).is).toBe('too_many_waiting_tasks')
    expect((await send(seller.url, paid)).is).toBe('completed')
    const next = await begin(seller)
    expect((await send(seller.url, rejecting(next.id))).is).toBe('failed')
    await begin(seller)
  })

  it.each(['payer', 'ip'] as const)('are limited by their address (rate limit per %s)', async per => {
    const seller = await open([answer], { rateLimit: { perMinute: 3, per } })
    for (let call = 0; call < 3; call++) await begin(seller)
    const limited = await send(seller.url, textOf('x'))
    expect(limited).toMatchObject({ status: 429, is: 'rate_limited' })
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await send(seller.url, textOf('x'), {})).status).toBe(per === 'ip' ? 429 : 402)
  })

  it.each([
    ['refuse', 503, 'store_unavailable'],
    ['admit', 200, 'input-required'],
  ] as const)('%s where they cannot be counted', async (onStoreDown, status, is) => {
    const down = async (): Promise<never> => {
      throw new Error('down')
    }
    const rateLimit = { take: down, peek: down, giveBack: down }
    const seller = await open([answer], {
      rateLimit: { perMinute: 3, onStoreDown },
      stores: { rateLimit },
    })
    expect(await send(seller.url, textOf('x'))).toMatchObject({ status, is })
  })

  it('cost no room with inputs that the skill refuses', async () => {
    const strict = defineEndpoint({
      name: 'strict',
      price: '$0.01',
      input: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
      handler: () => 1,
    })
    const seller = await open([strict], { advanced: { tasks: { max: 1 } } })
    const data = (n: unknown) => ({ parts: [{ kind: 'data', data: { n } }] })
    for (let call = 0; call < 3; call++) expect((await send(seller.url, data('x'))).is).toBe('invalid_input')
    expect((await send(seller.url, data(1))).is).toBe('input-required')
  })
})

describe('options of tasks', () => {
  it.each([{ max: 0 }, { max: 1.5 }, { maxInputBytes: -1 }])('%j are refused', async tasks => {
    await expect(open([answer], { advanced: { tasks } })).rejects.toMatchObject({ code: 'invalid_options' })
  })
})
