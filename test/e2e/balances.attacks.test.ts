/** Buyers and sellers who play with balances: hang-ups for ever, prices that move, keys that are used twice, work that is sold twice. */
import { describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import {
  createHandler,
  defineAgent,
  defineEndpoint,
  type EndpointDef,
  type HandlerContext,
  SvcError,
} from '../../src/index.js'
import { closing } from '../support/closing.js'
import { gate } from '../support/gate.js'
import { ask, challengeIn, open, pay, presenting, type Seller, signQuote } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const about = { balance: { amounts: ['$0.02', '$0.01'], period: '1h' } }
const shop = (...endpoints: EndpointDef[]) => open(endpoints, { about })

let keys = 0
async function bought(seller: Seller, amount = '$0.02') {
  const sale = await pay(seller, `${seller.url}/balance`, { body: { amount } })
  const key = sale.headers.get('x-svc-balance-key')!
  return (at: string, body: object = {}, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    ask(`${seller.url}/${at}`, {
      body,
      headers: { 'x-svc-balance-key': key, 'idempotency-key': `attack-key-${keys++}`, ...headers },
      ...(signal && { signal }),
    })
}
const left = async (call: Awaited<ReturnType<typeof bought>>, at: string) => {
  const { headers } = await call(at, {}, { 'x-svc-max-charge': '99999999' })
  return Number(headers.get('x-svc-balance'))
}

function buyer({ sandbox }: Seller, options = {}) {
  const { address, mnemonic } = sandbox.accounts(`attack buyer ${keys++}`)
  const before = sandbox.balance(address).usdc!
  const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl, ...options })
  return { client, spent: () => before - sandbox.balance(address).usdc! }
}

it('a buyer that hangs up before the last event, for ever, pays for each what was said, till nothing is left', async () => {
  const story = defineEndpoint({
    name: 'story',
    price: '$0.01',
    stream: true,
    async *handler({ body, charge, signal }: HandlerContext) {
      if ((body as { says?: boolean }).says) charge('$0.003')
      yield 'once'
      await new Promise((_, reject) => signal.addEventListener('abort', reject))
    },
  })
  const seller = await shop(story)
  const call = await bought(seller)
  const costs: (number | undefined)[] = []
  for (const says of [true, true, true, true, false, true]) {
    const hangUp = new AbortController()
    const stream = await call('story', { says }, {}, hangUp.signal)
    if (stream.status !== 200) {
      costs.push(undefined)
      continue
    }
    await stream.body!.getReader().read()
    const ended = seller.nextEnded()
    hangUp.abort()
    const { brokenBy, units } = await ended
    expect(brokenBy).toBe('caller')
    costs.push(units!.used)
  }
  // 8,000 are left after four, which is less than the price, so the next two are refused.
  expect(costs).toEqual([3_000, 3_000, 3_000, 3_000, undefined, undefined])
  expect(await left(call, 'story')).toBe(8_000)
  // Where nothing was said, the price is what it costs, and nothing stays reserved.
  const other = await bought(seller)
  for (const _ of [1, 2]) {
    const hangUp = new AbortController()
    await (await other('story', {}, {}, hangUp.signal)).body!.getReader().read()
    const ended = seller.nextEnded()
    hangUp.abort()
    expect((await ended).units!.used).toBe(10_000)
  }
  expect(await left(other, 'story')).toBe(0)
})

describe('a stream on a balance that takes longer than its limit', () => {
  const LIMIT_MS = 100_000

  /** Its first events are there at once, and the work for the next one never ends. A host of `fetch` reads nothing ahead. */
  async function slow() {
    const work = gate()
    const story = defineEndpoint({
      name: 'story',
      price: '$0.01',
      stream: true,
      streamTimeout: LIMIT_MS,
      async *handler() {
        yield* ['once', 'upon']
        work.enter()
        await work.opened
      },
    })
    const dear = defineEndpoint({ name: 'dear', price: '$1', handler: () => 'never' })
    const { sandbox } = await shop(story)
    const { clock, pass } = skippableClock()
    const { facilitatorUrl, algodUrl, seller } = sandbox
    const agent = defineAgent({
      ...{ name: 'Test agent', handle: 'test-agent', description: 'Serves the tests.', network: 'testnet' },
      ...{ payTo: seller.address, endpoints: [story, dear], ...about },
    })
    const timeouts = { leaseMs: 10 * LIMIT_MS }
    const handler = createHandler(agent, { facilitatorUrl, algodUrl, advanced: { clock, timeouts } })
    closing({ close: () => handler.shutdown('test over') })
    const send = (at: string, headers: object, body: object = {}) => {
      const init = { method: 'POST', headers: { ...headers }, body: JSON.stringify(body) }
      return handler.fetch(new Request(`https://agent.example/${at}`, init))
    }
    const asked = { amount: '$0.02' }
    const payment = await signQuote({ sandbox }, challengeIn(await send('balance', {}, asked)))
    const sale = await send('balance', presenting(payment), asked)
    const key = { 'x-svc-balance-key': sale.headers.get('x-svc-balance-key')! }
    const stream = await send('story', { ...key, 'idempotency-key': 'a-slow-story' })
    const reader = stream.body!.getReader()
    /** Reads what is there, lets the time end while the work goes on, and says what the balance has then. */
    const leftAtItsEnd = async (restMs: number) => {
      for (const _ of [1, 2]) expect((await reader.read()).done).toBe(false)
      const broken = expect(reader.read()).rejects.toThrow('the stream took longer')
      await work.entered()
      pass(restMs)
      await broken
      const free = async () =>
        (await send('dear', { ...key, 'idempotency-key': 'a-look' })).headers.get('x-svc-balance')
      return expect.poll(free)
    }
    return { pass, leftAtItsEnd }
  }

  it('costs nothing where its seller took the time', async () => {
    const { leftAtItsEnd } = await slow()
    await (await leftAtItsEnd(LIMIT_MS)).toBe('20000')
  })

  it('costs its price where its buyer did not read for a part of the time, and read the rest at the end', async () => {
    const { pass, leftAtItsEnd } = await slow()
    pass(LIMIT_MS / 2)
    await (await leftAtItsEnd(LIMIT_MS / 2)).toBe('10000')
  })
})

describe('a price function that changes', () => {
  it('between quote and call costs what was agreed at most, and is asked no more than the limits allow', async () => {
    let asked = 0
    const rises = defineEndpoint({
      name: 'rises',
      price: () => `$0.00${Math.min(9, ++asked)}`,
      handler: () => 'done',
    })
    const seller = await shop(rises)
    const { client, spent } = buyer(seller, { maxPrice: '$0.004' })
    await client.topUp(seller.url, '$0.02')
    const call = () => client.call(`${seller.url}/rises`, {})
    // At each question it is higher: on the balance, and for a payment by itself.
    await expect(call()).rejects.toMatchObject({ code: 'call_failed', status: 402 })
    await expect(call()).rejects.toMatchObject({ code: 'price_above_max' })
    expect((await client.balances())[0]!.left).toBe('20000')
    expect(spent()).toBe(20_000n)
    expect(seller.ended.filter(({ path }) => path.includes('serving.measured'))).toEqual([])
  })

  it('or fails sells nothing for the price of its example, which only a probe is told', async () => {
    let runs = 0
    const words = defineEndpoint({
      name: 'words',
      method: 'GET',
      price: ({ query }) => {
        if (Number(query.count) > 10) throw new Error('too many')
        return `$0.00${Number(query.count)}`
      },
      input: { properties: { count: { type: 'integer', examples: [1] } }, required: ['count'] },
      handler: ({ query }) => {
        runs++
        return query
      },
    })
    const seller = await shop(words)
    const sale = await pay(seller, `${seller.url}/balance`, { body: { amount: '$0.02' } })
    const headers = {
      'x-svc-balance-key': sale.headers.get('x-svc-balance-key')!,
      'idempotency-key': 'a-price-that-fails',
    }
    const costs = await ask(`${seller.url}/words?count=1000000`, { method: 'GET', headers })
    expect([costs.status, await costs.json()]).toMatchObject([500, { error: { code: 'price_unavailable' } }])
    expect(runs).toBe(0)
  })

  it('while the call runs changes nothing: what was reserved is the most that the handler can take', async () => {
    let price = '$0.01'
    const door = gate()
    const moves = defineEndpoint({
      name: 'moves',
      price: () => price,
      async handler({ body, charge }: HandlerContext) {
        door.enter()
        await door.opened
        charge((body as { costs: string }).costs)
        return 'done'
      },
    })
    const seller = await shop(moves)
    const call = await bought(seller)
    const within = call('moves', { costs: '$0.01' })
    const above = call('moves', { costs: '$0.010001' })
    await door.entered(2)
    price = '$0.015'
    door.open()
    expect((await within).headers.get('x-svc-charged')).toBe('10000')
    expect((await above).status).toBe(500)
    price = '$0.001'
    const cheap = await call('moves', { costs: '$0.001' })
    expect([cheap.headers.get('x-svc-charged'), cheap.headers.get('x-svc-balance')]).toEqual(['1000', '9000'])
  })
})

describe('an idempotency key of the caller’s', () => {
  it('is charged once, also where two balances are held and units come back to the first', async () => {
    const door = gate()
    let runs = 0
    const work = defineEndpoint({
      name: 'work',
      price: '$0.01',
      async handler({ body }: HandlerContext) {
        runs++
        if (!(body as { fails?: boolean }).fails) return { runs }
        door.enter()
        await door.opened
        throw new SvcError('not today', 'not_today', 422)
      },
    })
    const seller = await shop(work)
    const { client } = buyer(seller)
    await client.topUp(seller.url, '$0.01')
    await client.topUp(seller.url, '$0.02')
    const call = (body: object, options = {}) =>
      client.call<{ runs: number }>(`${seller.url}/work`, body, options)
    const failing = call({ fails: true }).catch(error => error.code)
    await door.entered()
    const options = { idempotencyKey: 'one-call-of-the-caller-s-own-making' }
    const first = await call({}, options)
    expect(first).toMatchObject({ charged: '10000', left: '10000' })
    door.open()
    expect(await failing).toBe('call_failed')
    // The first balance could pay again.
    const again = await call({}, options)
    expect([again.data, again.charged, runs]).toEqual([first.data, '10000', 2])
    expect(await call({})).toMatchObject({ charged: '10000', left: '0' })
  })
})

it('a new balance serves fifty calls at once: those that find no credit wait for it', async () => {
  const door = gate()
  const work = defineEndpoint({
    name: 'work',
    price() {
      door.enter()
      return '$0.0001'
    },
    async handler() {
      await door.opened
      return 'done'
    },
  })
  const seller = await shop(work)
  const call = await bought(seller)
  const calls = Array.from({ length: 50 }, () => call('work'))
  await door.entered(50)
  door.open()
  const statuses = await Promise.all(calls.map(async each => (await each).status))
  expect(statuses).toEqual(Array(50).fill(200))
  expect(await left(call, 'work')).toBe(20_000 - 51 * 100)
})
