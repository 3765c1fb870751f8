/** Windows with a count of calls, over real HTTP: what is counted, what is given back, and what the ledger shows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { SvcClient } from '../../src/client.js'
import {
  createServer,
  defineAgent,
  defineEndpoint,
  type HandlerContext,
  type SubscriptionStore,
  SvcError,
} from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { childAgent } from '../support/child-agent.js'
import { closing } from '../support/closing.js'
import { DOORS } from '../support/doors.js'
import { gate } from '../support/gate.js'
import { PATIENT, type RedisServer, startRedis } from '../support/redis-server.js'
import { openReplicas } from '../support/replicas.js'
import { type Ask, ask, challengeIn, open, openSeller, pay, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
const LEASE_MS = 300
const TIMEOUT_MS = 1_000
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const remainingOf = ({ headers }: Response) => headers.get('x-svc-subscription-remaining')

/** An endpoint whose windows have so many calls. A call does what its body says, and has long where none shall take too long. */
function counted(calls: number | undefined, timeout = 60_000) {
  const door = gate()
  let runs = 0
  const endpoint = defineEndpoint({
    name: 'counted',
    subscription: { price: '$0.01', period: '1h', ...(calls && { calls }) },
    timeout,
    async handler({ body }: HandlerContext) {
      runs++
      const { does } = (body ?? {}) as { does?: string }
      if (does === 'fail') throw new SvcError('not today', 'not_today', 422)
      if (does === 'hang') await new Promise(() => {})
      if (does === 'wait') {
        door.enter()
        await door.opened
      }
      return { runs }
    },
  })
  return { endpoint, door, runs: () => runs }
}

/** As `counted`, of streams: a call breaks after its first word, waits, or ends, as its body says. */
function streaming(calls: number, waited: Promise<void>) {
  return defineEndpoint({
    name: 'counted',
    subscription: { price: '$0.01', period: '1h', calls },
    stream: true,
    handler: async function* ({ body }: HandlerContext) {
      yield 'a word'
      const { does } = body as { does?: string }
      if (does === 'break') throw new Error('no more words')
      if (does === 'wait') await waited
    },
  })
}

const at = ({ url }: Seller) => `${url}/counted`

/** Buys a window, and calls in it. */
async function bought(seller: Seller) {
  const sale = await pay(seller, at(seller))
  expect(sale.status).toBe(200)
  const key = { 'x-svc-subscription': sale.headers.get('x-svc-subscription')! }
  const call = (request: Ask = {}, of = seller) =>
    ask(at(of), { body: {}, ...request, headers: { ...key, ...request.headers } })
  return { sale, key, call }
}

describe.each([undefined, 3])('a window with a count of %s calls', count => {
  it('has one public name in the records of the call that bought it and of those in it, which is no key', async () => {
    const seller = await open([counted(count).endpoint])
    for (let windows = 0; windows < 2; windows++) {
      const { call } = await bought(seller)
      expect((await call()).status).toBe(200)
    }
    const named = (isQuoted: boolean) =>
      seller.ended.filter(({ final }) => (final === 'quoted') === isQuoted).map(({ window }) => window)
    expect(named(true)).toContain(undefined)
    expect(named(true).filter(Boolean)).toEqual([])
    const names = named(false)
    expect(names).toEqual([names[0], names[0], names[2], names[2]])
    expect(names[0]).not.toBe(names[2])
    expect(names[0]).toMatch(/^[\w-]{43,64}$/)
  })
})

describe('a window with a count of calls', () => {
  it('ends with its last call, and is bought again', async () => {
    const { endpoint, runs } = counted(3)
    const seller = await open([endpoint])
    const { sale, call, key } = await bought(seller)
    expect(remainingOf(sale)).toBe('2')
    expect(sale.headers.get('x-svc-subscription-expires')).not.toBeNull()
    for (const left of ['1', '0']) {
      const covered = await call()
      expect([covered.status, remainingOf(covered)]).toEqual([200, left])
      expect(covered.headers.get('x-svc-subscription')).toBeNull()
    }
    const refused = await call()
    expect([refused.status, remainingOf(refused)]).toEqual([402, '0'])
    expect(challengeIn(refused).error).toMatch(/Every call of this subscription window is used/)
    expect(runs()).toBe(3)
    expect(received(seller)).toBe(PRICE)
    const again = await pay(seller, at(seller), { headers: key })
    expect([again.status, remainingOf(again)]).toEqual([200, '2'])
    expect(again.headers.get('x-svc-subscription')).not.toBe(key['x-svc-subscription'])
    expect(received(seller)).toBe(2n * PRICE)
  })

  it('runs on credit: a buyer that hangs up for ever is stopped, and one that takes its answers is not', async () => {
    const { endpoint, runs } = counted(20)
    const timeouts = { creditMs: 1 }
    const seller = await open([endpoint], { advanced: { credit: { start: 3, max: 4 }, timeouts } })
    const { call } = await bought(seller)
    for (let at = 0; at < 5; at++) expect((await call()).status).toBe(200)
    for (let left = 4; left > 0; left--) {
      const hangUp = new AbortController()
      const before = runs()
      const gone = seller.nextEnded()
      const asked = call({ body: { does: 'hang' }, signal: hangUp.signal })
      await expect.poll(runs).toBe(before + 1)
      hangUp.abort()
      await expect(asked).rejects.toThrow()
      expect((await gone).final).toBe('abandoned')
    }
    const refused = await call({ body: { does: 'hang' } })
    const told = await refused.json()
    expect([refused.status, told]).toMatchObject([429, { error: { code: 'too_many_unpaid_calls' } }])
    expect([runs(), remainingOf(refused)]).toEqual([10, '14'])
  })

  it('of one call sells that call', async () => {
    const seller = await open([counted(1).endpoint])
    const { sale, call } = await bought(seller)
    expect(remainingOf(sale)).toBe('0')
    expect((await call()).status).toBe(402)
    expect(received(seller)).toBe(PRICE)
  })

  it('tells pages of any origin what is left', async () => {
    const seller = await open([counted(2).endpoint])
    const { sale } = await bought(seller)
    expect(sale.headers.get('access-control-expose-headers')).toContain('x-svc-subscription-remaining')
  })

  it('gives a call back that failed or took too long, before its caller is told', async () => {
    const { endpoint } = counted(2, TIMEOUT_MS)
    const seller = await open([endpoint])
    const { call } = await bought(seller)
    const failed = await call({ body: { does: 'fail' } })
    expect([failed.status, remainingOf(failed)]).toEqual([422, '1'])
    const late = await call({ body: { does: 'hang' } })
    expect([late.status, remainingOf(late)]).toEqual([504, '1'])
    const delivered = await call()
    expect([delivered.status, remainingOf(delivered)]).toEqual([200, '0'])
    expect(received(seller)).toBe(PRICE)
  })

  it('gives a call back whose caller hung up', async () => {
    const { endpoint, door } = counted(2)
    const seller = await open([endpoint])
    const { call } = await bought(seller)
    const hangUp = new AbortController()
    const ended = seller.nextEnded()
    const left = call({ body: { does: 'wait' }, signal: hangUp.signal })
    await door.entered()
    expect((await call()).status).toBe(402)
    hangUp.abort()
    await expect(left).rejects.toThrow()
    expect((await ended).final).toBe('quoted')
    await expect.poll(() => seller.ended.at(-1)?.final).toBe('abandoned')
    expect((await call()).status).toBe(200)
  })

  it('gives a call back whose stream its seller broke, and counts one that its caller left', async () => {
    const source = gate()
    const endpoint = streaming(3, source.opened)
    const seller = await open([endpoint], { idempotency: { onLostResponse: 'replay' } })
    const { sale, call } = await bought(seller)
    expect([await sale.text(), remainingOf(sale)]).toEqual(['data: a word\n\n', '2'])
    const headers = { 'idempotency-key': 'one-call' }
    for (let time = 0; time < 3; time++) {
      let broken!: Response
      const asked = async () => {
        broken = await call({ body: { does: 'break' }, headers })
        return broken.status
      }
      // Its caller hears of the break before the store does.
      await expect.poll(asked).toBe(200)
      expect(remainingOf(broken)).toBe('1')
      await expect(broken.text()).rejects.toThrow()
      expect(seller.ended.at(-1)).toMatchObject({ final: 'served', brokenBy: 'seller' })
    }
    const left = await call({ body: { does: 'wait' } })
    await left.body!.cancel()
    await expect.poll(() => seller.ended.at(-1)).toMatchObject({ brokenBy: 'caller' })
    source.open()
    const whole = await call()
    expect([await whole.text(), remainingOf(whole)]).toEqual(['data: a word\n\n', '0'])
    expect((await call()).status).toBe(402)
    expect(received(seller)).toBe(PRICE)
  })

  it('has its first call for later where its seller breaks that call’s stream, and not where the caller leaves it', async () => {
    const source = gate()
    const endpoint = streaming(2, source.opened)
    const seller = await open([endpoint])
    const sold = async (does: string) => {
      const sale = await pay(seller, at(seller), { body: { does } })
      expect([sale.status, remainingOf(sale)]).toEqual([200, '1'])
      const key = sale.headers.get('x-svc-subscription')!
      const call = () => ask(at(seller), { body: {}, headers: { 'x-svc-subscription': key } })
      return { sale, call }
    }
    const running = await sold('wait')
    const second = await running.call()
    expect([await second.text(), remainingOf(second)]).toEqual(['data: a word\n\n', '0'])
    expect((await running.call()).status).toBe(402)
    await running.sale.body!.cancel()
    await expect.poll(() => seller.ended.at(-1)).toMatchObject({ final: 'settled', brokenBy: 'caller' })
    expect((await running.call()).status).toBe(402)
    source.open()
    const broken = await sold('break')
    await expect(broken.sale.text()).rejects.toThrow()
    await expect.poll(() => seller.ended.at(-1)).toMatchObject({ final: 'settled', brokenBy: 'seller' })
    for (const left of ['1', '0']) {
      const whole = await broken.call()
      expect([await whole.text(), remainingOf(whole)]).toEqual(['data: a word\n\n', left])
    }
    expect((await broken.call()).status).toBe(402)
    expect(received(seller)).toBe(2n * PRICE)
  })

  it('reserves a call for as long as its wait for credit, its handler and its stream may take', async () => {
    const windows = memorySubscriptions()
    const leases: number[] = []
    const take: SubscriptionStore['take'] = (id, move) => {
      leases.push(move.leaseMs)
      return windows.take(id, move)
    }
    const sold = (name: string, more: object) =>
      defineEndpoint({
        name,
        subscription: { price: '$0.01', period: '1h', calls: 2 },
        timeout: TIMEOUT_MS,
        handler: () => ({}),
        ...more,
      })
    const endpoints = [
      sold('whole', {}),
      sold('streams', { stream: true, streamTimeout: 7_000 }),
      sold('usual', { stream: true }),
    ]
    const advanced = { timeouts: { leaseMs: LEASE_MS, creditMs: 500 } }
    const seller = await open(endpoints, { stores: { subscriptions: { ...windows, take } }, advanced })
    for (const { name } of endpoints) {
      const url = `${seller.url}/${name}`
      const sale = await pay(seller, url)
      const headers = { 'x-svc-subscription': sale.headers.get('x-svc-subscription')! }
      expect((await ask(url, { body: {}, headers })).status).toBe(200)
    }
    expect(leases.map(ms => ms - 500 - TIMEOUT_MS - LEASE_MS)).toEqual([0, 7_000, 300_000])
  })

  it('takes nothing for refused input, for a probe and for a replay', async () => {
    const endpoint = defineEndpoint({
      name: 'counted',
      subscription: { price: '$0.01', period: '1h', calls: 3 },
      input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      handler: ({ body }) => body,
    })
    const seller = await open([endpoint], { idempotency: { onLostResponse: 'replay' } })
    const sale = await pay(seller, at(seller), { body: { n: 1 } })
    const key = { 'x-svc-subscription': sale.headers.get('x-svc-subscription')! }
    expect((await ask(at(seller), { body: { n: 'one' }, headers: key })).status).toBe(400)
    expect((await ask(at(seller), { headers: key })).status).toBe(400)
    const headers = { ...key, 'idempotency-key': 'a-key-of-more-than-thirty-two-letters' }
    const first = await ask(at(seller), { body: { n: 2 }, headers })
    expect(remainingOf(first)).toBe('1')
    expect(remainingOf(await ask(at(seller), { body: { n: 3 }, headers: key }))).toBe('0')
    const replay = await ask(at(seller), { body: { n: 2 }, headers })
    expect([replay.status, replay.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    // A replay says what its first answer said.
    expect(remainingOf(replay)).toBe('1')
    // With no call left, a request without input is a probe again.
    expect((await ask(at(seller), { headers: key })).status).toBe(402)
    expect(received(seller)).toBe(PRICE)
  })

  it('says what was left when it was sold, to whoever asks for that answer again', async () => {
    const seller = await open([counted(3).endpoint], { idempotency: { onLostResponse: 'replay' } })
    const headers = { 'idempotency-key': 'a-key-of-more-than-thirty-two-letters' }
    const sale = await pay(seller, at(seller), { body: {}, headers })
    const again = await pay(seller, at(seller), { body: {}, headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    for (const name of ['x-svc-subscription', 'x-svc-subscription-remaining'])
      expect(again.headers.get(name)).toBe(sale.headers.get(name))
    expect(received(seller)).toBe(PRICE)
  })

  it('tells no count where nothing was sold', async () => {
    const seller = await open([counted(3).endpoint])
    const unpaid = await pay(seller, at(seller), { account: 'poor', body: { does: 'fail' } })
    expect(remainingOf(unpaid)).toBeNull()
    expect(received(seller)).toBe(0n)
  })

  it('is published wherever its period is', async () => {
    const seller = await open([counted(100).endpoint])
    const window = { period: '1h', calls: 100 }
    const read = async (path: string) => (await fetch(seller.url + path)).json()
    expect(await read('/.well-known/svc.json')).toMatchObject({ endpoints: [window] })
    const document = (await read('/openapi.json')) as {
      paths: Record<string, { post: Record<string, never> }>
    }
    expect(document.paths['/counted']!.post['x-x402']).toMatchObject(window)
    expect(document.paths['/counted']!.post.responses).toMatchObject({
      200: { headers: { 'x-svc-subscription-remaining': {} } },
    })
    expect(JSON.stringify(await read('/.well-known/agent-card.json'))).toContain('"period":"1h","calls":100')
  })

  it.each([
    ['take', 2],
    ['putIfAbsent', 2],
    ['sweep', undefined],
    ['put', undefined],
  ] as const)('is refused at the start where the store has no %s (calls: %s)', (move, calls) => {
    const { putIfAbsent, ...memory } = memorySubscriptions()
    const least = { ...memory, put: putIfAbsent, ...(move === 'take' && { putIfAbsent }) }
    const store: SubscriptionStore = { ...least, [move]: undefined }
    const agent = defineAgent({
      name: 'Test agent',
      handle: 'test-agent',
      description: 'Serves the tests.',
      payTo: 'SVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCS',
      network: 'testnet',
      endpoints: [counted(calls).endpoint],
    })
    for (const options of [{ stores: { subscriptions: store } }, { subscriptions: { store } }])
      expect(() => createServer(agent, options)).toThrow(
        expect.objectContaining({
          code: 'invalid_options',
          message: expect.stringContaining(`has no ${move}`),
        }),
      )
  })
})

describe('a client', () => {
  const clientOf = ({ sandbox }: Seller, options = {}) =>
    new SvcClient({
      mnemonic: sandbox.wallet.mnemonic,
      network: 'testnet',
      algodUrl: sandbox.algodUrl,
      maxPrice: '$0.01',
      maxPerDay: '$0.02',
      ...options,
    })

  it('counts the calls of its window, and buys the next within its caps', async () => {
    const seller = await open([counted(3).endpoint], { idempotency: {} })
    const client = clientOf(seller)
    expect(await client.subscribe(at(seller), {})).toMatchObject({ remaining: 2 })
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 2 }])
    await client.call(at(seller), {})
    await expect(client.call(at(seller), { does: 'fail' })).rejects.toMatchObject({ code: 'call_failed' })
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 1 }])
    const last = await client.call(at(seller), {})
    expect(last.payment).toBeUndefined()
    expect(client.activeSubscriptions).toEqual([])
    expect(await client.estimate(at(seller), {})).toMatchObject({ usd: 0.01 })
    const next = await client.call(at(seller), {})
    // The key was not sent, so it was not refused.
    expect(next.warnings).toBeUndefined()
    expect(next.payment).toMatchObject({ usd: 0.01 })
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 2 }])
    for (const remaining of [1, 0]) {
      await client.call(at(seller), {})
      expect(client.activeSubscriptions.map(each => each.remaining)).toEqual(remaining === 0 ? [] : [1])
    }
    await expect(client.call(at(seller), {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(received(seller)).toBe(2n * PRICE)
  })

  it('buys one window for many calls at once, and the next when it is used up', async () => {
    const seller = await open([counted(4).endpoint])
    const client = clientOf(seller, { maxPerDay: '$1' })
    const calls = (count: number) => Array.from({ length: count }, () => ({ url: at(seller), body: {} }))
    const outcomes = await client.callMany(calls(8))
    expect(outcomes.map(({ ok }) => ok)).toEqual(Array(8).fill(true))
    expect(received(seller)).toBe(2n * PRICE)
    // All of a window that is used up learn so at once.
    await client.callMany(calls(2))
    await client.callMany(calls(8))
    expect(received(seller)).toBe(5n * PRICE)
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 2 }])
  })

  it('buys one window where it is subscribed to twice, or called meanwhile', async () => {
    const seller = await open([counted(4).endpoint])
    const client = clientOf(seller, { maxPerDay: '$1' })
    const [one, other, call] = await Promise.all([
      client.subscribe(at(seller), {}),
      client.subscribe(at(seller), {}),
      client.call(at(seller), {}),
    ])
    expect(received(seller)).toBe(PRICE)
    expect(other.key).toBe(one.key)
    expect(call.status).toBe(200)
    expect(client.activeSubscriptions).toMatchObject([{ key: one.key, remaining: 1 }])
    // A window that nobody else is buying is bought.
    await client.subscribe(at(seller), {})
    expect(received(seller)).toBe(2n * PRICE)
  })

  it.each(['call', 'subscribe'] as const)(
    '%s buys no second window where its own quote comes late',
    async late => {
      const seller = await open([counted(4).endpoint])
      let asked = () => {}
      const isAsked = new Promise<void>(resolve => {
        asked = resolve
      })
      let bought = () => {}
      const isBought = new Promise<void>(resolve => {
        bought = resolve
      })
      let calls = 0
      const slow: typeof fetch = async (...given) => {
        const isFirst = calls++ === 0
        const reply = await fetch(...given)
        if (isFirst) {
          asked()
          await isBought
        }
        return reply
      }
      const client = clientOf(seller, { maxPerDay: '$1', fetchImpl: slow })
      const second = client[late](at(seller), {})
      await isAsked
      const { key } = await client.subscribe(at(seller), {})
      bought()
      expect((await second).status).toBe(200)
      expect(received(seller)).toBe(PRICE)
      expect(client.activeSubscriptions).toMatchObject([{ key, remaining: 2 }])
    },
  )

  it('that waits for another call’s purchase pays nothing where it is aborted, and buys where the other fails', async () => {
    const { endpoint, door } = counted(2)
    const seller = await open([endpoint])
    const client = clientOf(seller, { maxPerDay: '$0.03' })
    const first = client.call(at(seller), { does: 'wait' })
    await door.entered()
    const aborted = new AbortController()
    const second = client.call(at(seller), {}, { signal: aborted.signal })
    const third = client.call(at(seller), {})
    aborted.abort()
    await expect(second).rejects.toMatchObject({ code: 'aborted' })
    expect(received(seller)).toBe(0n)
    door.open()
    await Promise.all([first, third])
    expect(received(seller)).toBe(PRICE)
    const failed = client.callMany([
      { url: at(seller), body: { does: 'fail' } },
      { url: at(seller), body: {} },
    ])
    expect((await failed).map(({ ok }) => ok)).toEqual([false, true])
    expect(received(seller)).toBe(2n * PRICE)
  })

  it('that shares its key buys no other window unasked when another holder has used it up: only the seller says so', async () => {
    const seller = await open([counted(2).endpoint])
    const client = clientOf(seller)
    const { key } = await client.subscribe(at(seller), {})
    const other = new SvcClient({ network: 'testnet' })
    other.useSubscription(at(seller), key)
    await other.call(at(seller), {})
    expect(other.activeSubscriptions).toEqual([])
    await expect(other.call(at(seller), {})).rejects.toMatchObject({ code: 'no_signer' })
    await expect(client.call(at(seller), {})).rejects.toMatchObject({
      code: 'subscription_refused',
      message: expect.stringContaining(
        'The seller says that the window has 0 calls left; it was sold with 2, of which 1',
      ),
    })
    expect(received(seller)).toBe(PRICE)
    await client.subscribe(at(seller), {})
    await client.call(at(seller), {})
    expect(received(seller)).toBe(2n * PRICE)
  })
})

describe('replicas on one Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())

  it('give the last call to one of many, whichever they ask', async () => {
    const { endpoint, runs } = counted(4)
    const sellers = await openReplicas(2, [endpoint], { redisUrl: redis.url })
    const { call } = await bought(sellers[0]!)
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => call({}, sellers[at % 2])))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(3).fill(200), ...Array(17).fill(402)])
    expect(runs()).toBe(4)
    expect(received(sellers[0]!)).toBe(PRICE)
  })

  it('have a call back when its process was killed, after its lease', async () => {
    // Before they are over somebody asks, on a busy machine too.
    const advanced = { timeouts: { leaseMs: 5_000, creditMs: LEASE_MS } }
    const seller = await openSeller([counted(2).endpoint], {
      stores: closing(redisStores(redis.url, PATIENT)),
      advanced,
    })
    closing(seller)
    const { call, key } = await bought(seller)
    const halt = { at: 'before handler', signal: 'SIGKILL' }
    const options = { redisUrl: redis.url, advanced, halt }
    const child = await childAgent(seller.sandbox, options, 'halting-agent.mjs')
    closing({ close: () => child.process.kill('SIGKILL') })
    await expect(ask(`${child.url}/counted`, { body: {}, headers: key })).rejects.toThrow()
    // Its call is still reserved: nobody knows yet that the process is dead.
    expect((await call()).status).toBe(402)
    await expect.poll(async () => (await call()).status, { timeout: 30_000 }).toBe(200)
    expect((await call()).status).toBe(402)
    expect(received(seller)).toBe(PRICE)
  })
})

describe('the doors for agents', () => {
  it.each(Object.entries(DOORS))(
    '%s tells what is left, when it sells and in the window',
    async (_, door) => {
      const seller = await open([counted(3).endpoint])
      const asks = { skill: 'counted', input: {} }
      const sale = await door(seller.url, { ...asks, headers: await signFor(seller, at(seller)) })
      expect(sale).toMatchObject({ code: 'ok', remaining: 2 })
      const headers = { 'x-svc-subscription': sale.subscriptionKey! }
      const covered = await door(seller.url, { ...asks, headers })
      expect(covered).toMatchObject({ code: 'ok', remaining: 1, subscriptionKey: undefined })
      expect(received(seller)).toBe(PRICE)
    },
  )
})
