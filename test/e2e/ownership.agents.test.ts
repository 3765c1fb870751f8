/** Two agents of one seller on one store: the same address to pay, the same names of endpoints, and nothing in common but payments. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type Stores } from '../../src/index.js'
import { crossed } from '../support/combinations.js'
import { EVERY_DOOR } from '../support/doors.js'
import { gate } from '../support/gate.js'
import {
  AWAY,
  DOUBT,
  HOME,
  inDoubt,
  KINDS,
  keyed,
  land,
  observed,
  ownershipWorld,
  randomKey,
} from '../support/ownership.js'
import { proving } from '../support/payer-proof.js'
import { begun, paying, send } from '../support/payment-tasks.js'
import { ask, open, pay, signFor } from '../support/seller.js'

const PRICE = 10_000n
const INPUT = { text: 'mine' }

const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code
const world = ownershipWorld()
const ran: string[] = []

/** What both sell under the same names; the windows at prices of their own. */
function agent(handle: string, windowPrice: string, handler = () => ({ of: handle })) {
  const run = () => {
    ran.push(handle)
    return handler()
  }
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: run })
  const ask = defineEndpoint({
    name: 'ask',
    subscription: { price: windowPrice, period: '1h' },
    handler: run,
  })
  const counted = defineEndpoint({
    name: 'counted',
    subscription: { price: windowPrice, period: '1h', calls: 2 },
    handler: run,
  })
  return (stores: Stores) =>
    world.open([work, ask, counted], { stores, about: { handle }, idempotency: {}, ...DOUBT })
}

async function agents(stores: Stores, handler?: () => { of: string }) {
  ran.length = 0
  const weather = await agent('weather', '$0.01', handler)(stores)
  const legal = await agent('legal', '$50')(stores)
  const owner = world.payer()
  const before = world.received()
  const pays = (skill: string) =>
    signFor(weather, `${weather.url}/${skill}`, { account: owner.label, body: INPUT })
  return { weather, legal, owner, pays, earned: () => world.received() - before }
}

describe.each(KINDS)('on %s', kind => {
  const stores = () => world.STORES[kind]!()

  describe.each(Object.entries(EVERY_DOOR))('through %s', (name, door) => {
    const at = [KINDS.indexOf(kind), Object.keys(EVERY_DOOR).indexOf(name)]

    it.each(crossed(['ask', 'counted'], ...at))(
      'the key of a window at one does not open %s at the other',
      async skill => {
        const { weather, legal, pays, earned } = await agents(stores())
        const sale = await door(weather.url, { skill, input: INPUT, headers: await pays(skill) })
        const headers = { 'x-svc-subscription': sale.subscriptionKey! }
        for (const own of [{}, keyed(randomKey())])
          expect((await door(legal.url, { skill, input: INPUT, headers: { ...headers, ...own } })).code).toBe(
            'payment_required',
          )
        expect((await door(weather.url, { skill, input: INPUT, headers })).code).toBe('ok')
        expect([ran, earned()]).toEqual([['weather', 'weather'], PRICE])
      },
    )

    it.each(crossed(['without a key', 'under a key'], ...at))(
      'an answer of one, %s, is none of the other’s',
      async how => {
        const { weather, legal, owner, pays, earned } = await agents(stores())
        const payment = await pays('work')
        const key = how === 'under a key' ? keyed(randomKey()) : {}
        const ask = (url: string, ...headers: object[]) =>
          door(url, { skill: 'work', input: INPUT, headers: Object.assign({}, payment, HOME, ...headers) })
        const proof = (url: string) => proving(owner, url, payment)
        expect((await ask(weather.url, key)).code).toBe('ok')
        for (const more of [{}, key, proof(legal.url), { ...key, ...proof(legal.url) }, keyed(randomKey())])
          expect((await ask(legal.url, more)).code).toBe('payment_spent')
        expect((await ask(legal.url, proof(weather.url))).code).toBe('invalid_siwx_domain_mismatch')
        expect(await ask(weather.url, key, proof(weather.url))).toMatchObject({
          replayed: true,
          data: { of: 'weather' },
        })
        expect([ran, earned()]).toEqual([['weather'], PRICE])
      },
    )

    it.each(crossed(['work', 'ask'], ...at))(
      'a payment in doubt at one (%s) is moved by nothing at the other',
      async skill => {
        const { stores: watched, renewed } = observed(stores())
        const { weather, legal, owner, pays, earned } = await agents(watched)
        const payment = await pays(skill)
        const ask = (url: string, ...headers: object[]) =>
          door(url, {
            skill: url === legal.url ? 'work' : skill,
            input: INPUT,
            headers: Object.assign({}, payment, HOME, ...headers),
          })
        const first = await inDoubt(weather, () => ask(weather.url))
        expect(first.code).toBe('settlement_unknown')
        await renewed()
        const proof = (url: string) => proving(owner, url, payment)
        const others = [{}, proof(legal.url), keyed('short'), keyed(randomKey())]
        for (const more of others) expect((await ask(legal.url, more)).code).toBe('payment_in_use')
        await land(weather, payment)
        for (const more of others) expect((await ask(legal.url, more)).code).toBe('payment_spent')
        const again = await ask(weather.url, proof(weather.url))
        expect(again).toMatchObject({ code: 'ok', replayed: true, data: { of: 'weather' } })
        expect(again.subscriptionKey === undefined).toBe(skill === 'work')
        for (const more of others) expect((await ask(legal.url, more)).code).toBe('payment_spent')
        expect([ran, earned()]).toEqual([['weather'], PRICE])
      },
    )
  })

  const LIMITS = [
    ['an endpoint', {}, { rateLimit: { perMinute: 1 } }],
    ['an agent', { rateLimit: { perMinute: 1 } }, {}],
  ] as const
  const OTHERS = [
    ['another agent of the seller', () => ({ about: { handle: 'legal' } })],
    ['an agent of another seller', () => ({ payTo: world.payer().address, about: { handle: 'weather' } })],
  ] as const
  it.each(
    LIMITS.flatMap(([limit, server, own]) =>
      OTHERS.map(([other, of]) => ({ limit, other, server, own, of })),
    ),
  )('what the limit of $limit counted is not counted at $other', async ({ server, own, of }) => {
    const shared = stores()
    const agent = (about: ReturnType<(typeof OTHERS)[number][1]>) => {
      const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => 'done', ...own })
      return world.open([work], { stores: shared, ...server, ...about })
    }
    const [mine, theirs] = [await agent({ about: { handle: 'weather' } }), await agent(of())]
    const account = world.payer().label
    const statuses = []
    for (const seller of [mine, theirs, mine, theirs])
      statuses.push((await pay(seller, `${seller.url}/work`, { account })).status)
    expect(statuses).toEqual([200, 200, 429, 429])
  })

  it('a payment at work at one is in use at the other, and its call ends as if nobody had asked', async () => {
    const door = gate()
    const seen = { count: 0 }
    const handler = () => {
      seen.count++
      door.enter()
      return door.opened.then(() => ({ of: 'weather' })) as never
    }
    const { weather, legal, owner, pays, earned } = await agents(stores(), handler)
    const payment = await pays('work')
    const http = EVERY_DOOR.HTTP!
    const ask = (url: string, ...headers: object[]) =>
      http(url, { skill: 'work', input: INPUT, headers: Object.assign({}, payment, ...headers) })
    const first = ask(weather.url, HOME)
    await door.entered()
    const proof = proving(owner, legal.url, payment)
    for (const more of [HOME, AWAY, proof, keyed(randomKey())])
      expect((await ask(legal.url, more)).code).toBe('payment_in_use')
    door.open()
    expect(await first).toMatchObject({ code: 'ok', replayed: false, data: { of: 'weather' } })
    expect([seen.count, earned()]).toEqual([1, PRICE])
  })

  it('a task of one is unknown to the other, and its payment is spent there', async () => {
    const { weather, legal, earned } = await agents(stores())
    const message = { parts: [{ kind: 'data', data: INPUT }], metadata: { skillId: 'work' } }
    const { paid, id, payment } = await begun(weather, message, world.payer().label)
    const bought = await send(weather.url, paid)
    expect(bought).toMatchObject({ is: 'completed', data: { of: 'weather' } })
    expect((await send(legal.url, paid)).is).toBe(-32001)
    const other = await begun(legal, message)
    expect((await send(legal.url, paying(other.id, payment))).is).not.toBe('completed')
    expect(await send(weather.url, paying(id, payment))).toMatchObject({
      is: 'completed',
      data: { of: 'weather' },
    })
    expect([ran, earned()]).toEqual([['weather'], PRICE])
  })
})

describe.each([
  ['two agents', 'other', '127.0.0.1'],
  ['one agent, served twice', 'one', '127.0.0.1'],
  ['one agent, whose node has two names', 'one', 'localhost'],
])('of one process, given no store: %s', (_, handle, node) => {
  it('take one payment once', async () => {
    const door = gate()
    const sold = (handle: string, host: string) =>
      world.open(
        [
          defineEndpoint({
            name: 'work',
            price: '$0.01',
            async handler() {
              door.enter()
              await door.opened
              return handle
            },
          }),
        ],
        {
          about: { handle },
          advanced: { clock: undefined },
          algodUrl: world.sandbox.algodUrl.replace('127.0.0.1', host),
        },
      )
    const [one, other] = [await sold('one', '127.0.0.1'), await sold(handle, node)]
    const before = world.received()
    const headers = await signFor(one, `${one.url}/work`, { account: world.payer().label, body: INPUT })
    const first = sentTo(one.url)
    await door.entered()
    const second = await sentTo(other.url)
    door.open()
    expect([(await first).status, second.status, await codeOf(second)]).toEqual([200, 409, 'payment_in_use'])
    const third = await sentTo(other.url)
    expect([third.status, await codeOf(third)]).toEqual([409, 'payment_spent'])
    expect(world.received() - before).toBe(PRICE)

    function sentTo(url: string) {
      return ask(`${url}/work`, { body: INPUT, headers })
    }
  })
})

it('a window that one server of an agent sold opens at the other, and its calls are counted once', async () => {
  let runs = 0
  const feed = defineEndpoint({
    name: 'feed',
    subscription: { price: '$0.01', period: '1h', calls: 3 },
    handler: () => ({ run: ++runs }),
  })
  const sold = () => world.open([feed], { about: { handle: 'twice' }, advanced: { clock: undefined } })
  const [one, other] = [await sold(), await sold()]
  const paid = await signFor(one, `${one.url}/feed`, { account: world.payer().label, body: INPUT })
  const bought = await ask(`${one.url}/feed`, { body: INPUT, headers: paid })
  const headers = { 'x-svc-subscription': bought.headers.get('x-svc-subscription')! }
  const statuses = []
  for (const { url } of [other, one, other])
    statuses.push((await ask(`${url}/feed`, { body: INPUT, headers })).status)
  expect([bought.status, statuses, runs]).toEqual([200, [200, 200, 402], 3])
})

it('of one address on two sandboxes have nothing in common: their chains are two', async () => {
  let runs = 0
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ++runs })
  const sold = (handle: string) =>
    open([work], { idempotency: {}, about: { handle }, advanced: { clock: undefined } })
  // It stays, and would keep the memory of the others of its address.
  const other = await sold('other')
  for (let time = 0; time < 2; time++) {
    const seller = await sold('one')
    expect(seller.sandbox.seller.address).toBe(other.sandbox.seller.address)
    const paid = await signFor(seller, `${seller.url}/work`, { body: INPUT })
    const answer = await ask(`${seller.url}/work`, {
      body: INPUT,
      headers: { ...paid, 'idempotency-key': 'k' },
    })
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
    await seller.server.shutdown('test over')
  }
  expect(runs).toBe(2)
})
