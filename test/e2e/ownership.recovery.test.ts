/** Lost answers that belong to their payer by default, for as long as is said; and strangers who come first, at every moment. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { EVERY_DOOR, type Told } from '../support/doors.js'
import { gate } from '../support/gate.js'
import {
  AWAY,
  DOUBT,
  HOME,
  inDoubt,
  keyed,
  land,
  type OwnedSeller,
  observed,
  ownershipWorld,
  payAndLose,
  randomKey,
  SHORT_KEY,
  settledReply,
} from '../support/ownership.js'
import { pausedLeases } from '../support/paused-leases.js'
import { forgedPayment, proving, txIdIn } from '../support/payer-proof.js'
import { ask, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const PRICE = 10_000n
const MINUTE_MS = 60_000
const INPUT = { text: 'mine' }
const http = EVERY_DOOR.HTTP!

const world = ownershipWorld()
const KINDS = ['memory', 'Redis']
let runs = 0
let atWork = gate()
const handler = async () => {
  atWork.enter()
  await atWork.opened
  return { run: ++runs }
}
const ENDPOINTS = [
  defineEndpoint({ name: 'work', price: '$0.01', handler }),
  defineEndpoint({ name: 'window', subscription: { price: '$0.01', period: '1h' }, handler }),
]

async function opened(options: Parameters<typeof world.open>[1] = {}) {
  runs = 0
  atWork = gate()
  atWork.open()
  const seller = await world.open(ENDPOINTS, options)
  const before = world.received()
  return { seller, earned: () => world.received() - before }
}

async function paid(seller: OwnedSeller, skill: string, key: object = {}) {
  const owner = world.payer()
  const sign = ({ label }: { readonly label: string }) =>
    signFor(seller, `${seller.url}/${skill}`, { account: label, body: INPUT })
  const payment = await sign(owner)
  const asks = (headers: object) => ({ skill, input: INPUT, headers: { ...payment, ...key, ...headers } })
  return {
    owner,
    payment,
    asks,
    ask: (...more: object[]) => http(seller.url, asks(Object.assign({}, ...more))),
    proof: (issuedAtMs = Date.now()) =>
      proving(owner, seller.url, payment, { issuedAt: new Date(issuedAtMs).toISOString() }),
    forged: async () => forgedPayment(payment, await sign(world.payer())),
  }
}

describe('without the option idempotency, an answer is kept for its payer', () => {
  it('for two minutes, and for as long as its payment’s record where nobody has had it', async () => {
    const { clock, pass } = skippableClock()
    const { seller, earned } = await opened({ advanced: { clock } })
    const seen = await paid(seller, 'work')
    const lost = await paid(seller, 'work')
    expect((await seen.ask()).code).toBe('ok')
    await payAndLose(seller, http, lost.asks(HOME), { payment: lost.payment, payer: lost.owner.address })
    const ask = (one: typeof seen) => one.ask(one.proof(clock.now()), AWAY)
    pass(2 * MINUTE_MS - 5_000)
    expect(await ask(seen)).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
    pass(10_000)
    expect((await ask(seen)).code).toBe('payment_spent')
    pass(55 * MINUTE_MS)
    expect(await ask(lost)).toMatchObject({ code: 'ok', replayed: true, data: { run: 2 } })
    pass(120 * MINUTE_MS)
    for (const one of [seen, lost]) expect((await ask(one)).code).not.toBe('ok')
    expect([runs, earned()]).toEqual([2, 2n * PRICE])
  })

  it('on Redis for as long as keepAnswers says', async () => {
    const { seller, earned } = await opened({ stores: world.STORES.Redis!(), keepAnswers: '1s' })
    const seen = await paid(seller, 'work')
    const lost = await paid(seller, 'work')
    expect((await seen.ask()).code).toBe('ok')
    await payAndLose(seller, http, lost.asks(HOME), { payment: lost.payment, payer: lost.owner.address })
    await expect.poll(async () => (await seen.ask(seen.proof())).code).toBe('payment_spent')
    expect(await lost.ask(lost.proof())).toMatchObject({ code: 'ok', replayed: true, data: { run: 2 } })
    expect([runs, earned()]).toEqual([2, 2n * PRICE])
  })

  it.each(KINDS)('and with keepAnswers: false not at all, unless it was in doubt: %s', async kind => {
    const { stores, renewed } = observed(world.STORES[kind]!())
    const { seller, earned } = await opened({ stores, keepAnswers: false, ...DOUBT })
    const [seen, lost, doubted] = [
      await paid(seller, 'work'),
      await paid(seller, 'work'),
      await paid(seller, 'work'),
    ]
    expect((await seen.ask()).code).toBe('ok')
    await payAndLose(seller, http, lost.asks(HOME), { payment: lost.payment, payer: lost.owner.address })
    for (const one of [seen, lost]) expect((await one.ask(one.proof())).code).toBe('payment_spent')
    expect((await inDoubt(seller, () => doubted.ask(HOME))).code).toBe('settlement_unknown')
    await renewed()
    await land(seller, doubted.payment)
    expect(await doubted.ask(HOME)).toMatchObject({ code: 'ok', replayed: true, data: { run: 3 } })
    expect([runs, earned()]).toEqual([3, 3n * PRICE])
  })
})

it.each(KINDS)('a stream whose reader hung up is not kept, and its payer is told so: %s', async kind => {
  const door = gate()
  let streams = 0
  const stream = defineEndpoint({
    name: 'stream',
    price: '$0.01',
    stream: true,
    async *handler() {
      streams++
      yield 'one'
      await door.opened
      yield 'two'
    },
  })
  const seller = await world.open([stream], { stores: world.STORES[kind]!() })
  const before = world.received()
  const owner = world.payer()
  const url = `${seller.url}/stream`
  const payment = await signFor(seller, url, { account: owner.label, body: INPUT })
  const hangUp = new AbortController()
  const asked = once(seller.server, 'request')
  const first = await ask(url, { body: INPUT, headers: payment, signal: hangUp.signal })
  const [, response] = await asked
  const closed = once(response, 'close')
  await first.body!.getReader().read()
  const over = seller.nextEnded()
  hangUp.abort()
  await closed
  door.open()
  await over
  const asks = {
    skill: 'stream',
    input: INPUT,
    headers: { ...payment, ...proving(owner, seller.url, payment) },
  }
  const told = await http(seller.url, asks)
  expect([told.status, told.code, told.problem!.txId]).toEqual([409, 'answer_not_kept', txIdIn(payment)])
  expect([streams, world.received() - before]).toEqual([1, PRICE])
})

/** The skill, the buyer’s key, and whether the same bytes from the buyer's address open the answer of a call that was in doubt. */
const CALLS = [
  ['a call without a key', 'work', {}, true],
  ['a call under a short key', 'work', keyed(SHORT_KEY), true],
  ['a call under a random key', 'work', keyed(randomKey()), true],
  ['the sale of a window', 'window', {}, false],
  ['the sale of a window under a short key', 'window', keyed(SHORT_KEY), false],
] as const

describe.each(KINDS)('a stranger who comes first, on %s', kind => {
  it.each(CALLS)('at no moment gets %s, nor locks its buyer out', async (_, skill, key, opensByAddress) => {
    const given = world.STORES[kind]!()
    const { charges, runOut } = pausedLeases(given.charges!)
    const { seller, earned } = await opened({ stores: { ...given, charges }, idempotency: {}, ...DOUBT })
    const { facilitator } = seller
    const { ask, payment, proof, forged, owner } = await paid(seller, skill, key)
    const fake = await forged()
    const strangersAsk = async (expected: readonly string[]) => {
      const sent = (...headers: object[]) =>
        http(seller.url, { skill, input: INPUT, headers: Object.assign({}, ...headers) })
      const told = [
        await sent(payment, AWAY),
        await sent(payment, keyed(SHORT_KEY), AWAY),
        await sent(payment, keyed('order-8'), AWAY),
        await sent(payment, keyed(randomKey()), AWAY),
      ]
      // A call without a key is its address's, whatever key comes along: a seller may have begun to heed keys since.
      if (Object.keys(key).length > 0 || !opensByAddress)
        told.push(await sent(payment, keyed(randomKey()), HOME))
      if (!opensByAddress) told.push(await sent(payment, HOME), await sent(payment, keyed(SHORT_KEY), HOME))
      // The same transaction under a signature of the stranger's.
      told.push(await sent(fake, HOME), await sent(fake, keyed(SHORT_KEY), HOME))
      for (const { code, subscriptionKey } of told) {
        expect(expected).toContain(code)
        expect(subscriptionKey).toBeUndefined()
      }
    }
    const IN_USE = ['payment_in_use', 'idempotency_in_progress']

    // While the handler runs.
    atWork = gate()
    const entered = atWork.entered()
    const first = inDoubt(seller, () => ask(HOME))
    await entered
    await strangersAsk(IN_USE)
    atWork.open()
    expect((await first).code).toBe('settlement_unknown')
    // Before the lease lapses: it has not landed yet, and then it has.
    await strangersAsk(IN_USE)
    await land(seller, payment)
    await strangersAsk(IN_USE)
    expect(IN_USE).toContain((await ask(proof(), HOME)).code)
    // After that.
    await runOut()
    await strangersAsk(['payment_spent'])
    // While the owner recovers.
    const settling = facilitator.hold('/settle', settledReply(payment, owner.address))
    const recovered = opensByAddress ? ask(HOME) : ask(HOME, proof())
    await settling.arrived
    await strangersAsk([...IN_USE, 'payment_spent'])
    settling.answer()
    const told = await recovered
    expect(told).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
    // And after it.
    await strangersAsk(['payment_spent'])
    const again: Told[] = [await ask(proof(), AWAY), await ask(proof(), HOME)]
    if (opensByAddress) again.push(await ask(HOME))
    for (const { code, subscriptionKey } of again)
      expect([code, subscriptionKey]).toEqual(['ok', told.subscriptionKey])
    expect(told.subscriptionKey === undefined).toBe(skill === 'work')
    expect([runs, earned()]).toEqual([1, PRICE])
  })

  it('from the buyer’s own address, with the same bytes, gets what the buyer gets too', async () => {
    const { stores, renewed } = observed(world.STORES[kind]!())
    const { seller, earned } = await opened({ stores, ...DOUBT })
    const { ask, payment, proof } = await paid(seller, 'work')
    expect((await inDoubt(seller, () => ask(HOME))).code).toBe('settlement_unknown')
    await renewed()
    await land(seller, payment)
    const stranger = await ask(HOME)
    for (const told of [stranger, await ask(HOME), await ask(HOME, proof()), await ask(AWAY, proof())])
      expect(told).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
    expect((await ask(AWAY)).code).toBe('payment_spent')
    expect([runs, earned()]).toEqual([1, PRICE])
  })
})
