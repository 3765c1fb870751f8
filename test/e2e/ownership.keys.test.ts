/** Keys that can be guessed, what they cost the node, and what a key protects: endpoint, method, query and body. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { countingNode } from '../support/counting-node.js'
import { EVERY_DOOR } from '../support/doors.js'
import {
  AWAY,
  DOUBT,
  HOME,
  inDoubt,
  keyed,
  land,
  observed,
  ownershipWorld,
  randomKey,
  SHORT_KEY,
} from '../support/ownership.js'
import { forgedPayment, proving } from '../support/payer-proof.js'
import { ACTIVATED, begun, paying, send, textOf } from '../support/payment-tasks.js'
import { ask as askHttp, type PaymentHeader, presenting, signFor } from '../support/seller.js'

const PRICE = 10_000n
const INVOICE = 'invoice-2026-0001'
const INPUT = { text: 'mine' }
const DOORS = Object.entries(EVERY_DOOR)
const NO_NODE = 'http://127.0.0.1:1'

const world = ownershipWorld()
const http = EVERY_DOOR.HTTP!
let runs = 0
const handler = () => ({ run: ++runs })
const work = defineEndpoint({ name: 'work', price: '$0.01', handler })
const other = defineEndpoint({ name: 'other', price: '$0.01', handler })
const find = defineEndpoint({ name: 'find', method: 'GET', price: '$0.01', handler })

async function opened(options: Parameters<typeof world.open>[1] = {}) {
  runs = 0
  const seller = await world.open([work, other, find], { idempotency: {}, ...options })
  const before = world.received()
  const earned = () => world.received() - before
  const sign = ({ label }: { readonly label: string }, path = 'work', method = 'POST') =>
    signFor(seller, `${seller.url}/${path}`, {
      account: label,
      method,
      ...(method === 'POST' && { body: INPUT }),
    })
  return { seller, earned, sign }
}

describe.each(['memory', 'Redis'])('on %s', kind => {
  const stores = () => world.STORES[kind]!()

  it.each(DOORS)(
    'a landed payment and the number of an invoice open nothing for a stranger, through %s',
    async (_, door) => {
      const { seller, earned, sign } = await opened({ stores: stores() })
      const owner = world.payer()
      const payment = await sign(owner)
      const ask = (...more: object[]) =>
        door(seller.url, { skill: 'work', input: INPUT, headers: Object.assign({}, payment, ...more) })
      expect((await ask(keyed(INVOICE), HOME)).code).toBe('ok')
      const told = [
        await ask(keyed(INVOICE), AWAY),
        await ask(keyed('invoice-2026-0002'), AWAY),
        await ask(AWAY),
      ].map(({ code, status, problem }) => [code, status, problem])
      expect(told[0]![0]).toBe('payment_spent')
      for (const one of told) expect(one).toEqual(told[0])
      expect(await ask(keyed(INVOICE), proving(owner, seller.url, payment))).toMatchObject({ replayed: true })
      expect([runs, earned()]).toEqual([1, PRICE])
    },
  )

  it.each(DOORS)('no node is needed for the first call under a short key, through %s', async (_, door) => {
    const { seller, earned, sign } = await opened({ stores: stores(), algodUrl: NO_NODE })
    const owner = world.payer()
    const ask = (payment: PaymentHeader, ...more: object[]) =>
      door(seller.url, {
        skill: 'work',
        input: INPUT,
        headers: Object.assign({}, payment, keyed(SHORT_KEY), ...more),
      })
    const payment = await sign(owner)
    expect((await ask(payment)).code).toBe('ok')
    // A record lies under it now: what is presented may have landed.
    const fresh = await sign(owner)
    expect((await ask(fresh)).code).toBe('node_unavailable')
    // Another payer's first call, and the payer's own proof, need none.
    expect((await ask(await sign(world.payer()))).code).toBe('ok')
    for (const one of [payment, fresh])
      expect(await ask(one, proving(owner, seller.url, one))).toMatchObject({
        replayed: true,
        data: { run: 1 },
      })
    expect([runs, earned()]).toEqual([2, 2n * PRICE])
  })

  it('free requests with a short key ask the node about a payment once each where a record lies, else never', async () => {
    const node = await countingNode(world.sandbox)
    const { seller, earned, sign } = await opened({ stores: stores(), algodUrl: node.url })
    const [owner, stranger] = [world.payer(), world.payer()]
    const ask = async (payment: PaymentHeader, key = SHORT_KEY) => {
      const headers = { ...payment, ...keyed(key) }
      return (await http(seller.url, { skill: 'work', input: INPUT, headers })).code
    }
    const landed = await sign(owner)
    expect(await ask(landed)).toBe('ok')
    expect(node.payments()).toBe(0)
    const junk = forgedPayment(await sign(owner), await sign(stranger))
    const many = Array.from({ length: 25 })
    // Under the key of somebody else's record, under one without a record, and with what landed.
    for (const _ of many) {
      expect(await ask(junk)).toBe('payment_required')
      expect(await ask(junk, 'order-8')).toBe('payment_required')
      expect(await ask(landed)).toBe('payment_spent')
    }
    expect(node.payments()).toBe(0)
    const fresh = await sign(owner)
    for (const _ of many) expect(await ask(fresh)).toBe('ok')
    expect(node.payments()).toBe(many.length)
    // All else that was asked is which round it is.
    expect(node.asked.length - node.payments()).toBeLessThan(many.length)
    expect([runs, earned()]).toEqual([1, PRICE])
  })

  it.each([
    ['under a short key', keyed(SHORT_KEY)],
    ['under a random key', keyed(randomKey())],
  ] as const)('another query, path or body is another request %s', async (_, key) => {
    const { seller, earned, sign } = await opened({ stores: stores() })
    const owner = world.payer()
    const payment = await sign(owner)
    const ask = async (path: string, paid: PaymentHeader, body: unknown = INPUT, method = 'POST') => {
      const headers = { ...paid, ...key, ...proving(owner, seller.url, paid) }
      const sent = await askHttp(`${seller.url}/${path}`, {
        headers,
        method,
        ...(method === 'POST' && { body }),
      })
      const { error, run } = (await sent.json()) as { error?: { code: string }; run?: number }
      return error?.code ?? run
    }
    expect(await ask('work', payment)).toBe(1)
    expect(await ask('work', payment)).toBe(1)
    for (const query of ['?tier=gold', '?', '?a=1&b=2', '?b=2&a=1'])
      expect([query, await ask(`work${query}`, payment)]).toEqual([
        query,
        query === '?' ? 1 : 'idempotency_key_reuse',
      ])
    expect(await ask('work', payment, { text: 'other' })).toBe('idempotency_key_reuse')
    expect(await ask('other', payment)).toBe('payment_spent')
    // With a fresh payment too: neither the basic answer nor a charge.
    const fresh = await sign(owner)
    expect(await ask('work?tier=gold', fresh)).toBe('idempotency_key_reuse')
    expect([runs, earned()]).toEqual([1, PRICE])
    // The same query in another order is the same request.
    const found = await sign(owner, 'find?a=1&b=2', 'GET')
    expect(await ask('find?a=1&b=2', found, undefined, 'GET')).toBe(2)
    expect(await ask('find?b=2&a=1', found, undefined, 'GET')).toBe(2)
    expect(await ask('find?a=1&b=3', found, undefined, 'GET')).toBe('idempotency_key_reuse')
    expect([runs, earned()]).toEqual([2, 2n * PRICE])
  })

  it('without a key, a proof opens the one request that was paid for', async () => {
    const { seller, earned, sign } = await opened({ stores: stores() })
    const owner = world.payer()
    const payment = await sign(owner, 'work?tier=gold')
    const ask = async (path: string, body: unknown = INPUT) => {
      const headers = { ...payment, ...proving(owner, seller.url, payment) }
      const sent = await askHttp(`${seller.url}/${path}`, { headers, body })
      const { error, run } = (await sent.json()) as { error?: { code: string }; run?: number }
      return error?.code ?? run
    }
    expect(await ask('work?tier=gold')).toBe(1)
    for (const path of ['work', 'work?tier=basic', 'other?tier=gold'])
      expect(await ask(path)).toBe('payment_spent')
    expect(await ask('work?tier=gold', { text: 'other' })).toBe('payment_spent')
    expect(await ask('work?tier=gold')).toBe(1)
    expect([runs, earned()]).toEqual([1, PRICE])
  })

  it('the answer of a task is had again by whoever names the task, and by nobody with its payment alone', async () => {
    const { seller, earned } = await opened({ stores: stores() })
    const owner = world.payer()
    const message = { ...textOf('mine'), metadata: { skillId: 'work' } }
    const { paid, payment: payload } = await begun(seller, message, owner.label)
    const bought = await send(seller.url, paid)
    expect(bought).toMatchObject({ is: 'completed', data: { run: 1 } })
    const header = presenting(payload)
    const strangers = async () => {
      // A task of the stranger's own, the other doors, and keys.
      const own = await begun(seller, message, world.payer().label)
      expect((await send(seller.url, paying(own.id, payload))).is).not.toBe('completed')
      for (const [, door] of DOORS) {
        for (const more of [{}, keyed(SHORT_KEY), keyed(randomKey())]) {
          const headers = { ...header, ...more, ...AWAY }
          const told = await door(seller.url, { skill: 'work', input: { text: 'mine' }, headers })
          expect(told.code).toBe('payment_spent')
        }
      }
    }
    await strangers()
    expect(await send(seller.url, paid)).toMatchObject({ is: 'completed', data: { run: 1 } })
    await strangers()
    expect([runs, earned()]).toEqual([1, PRICE])
  })

  it('a task whose payment was in doubt is finished from another address by whoever names it, and by nobody else', async () => {
    const { stores: watched, renewed } = observed(stores())
    const { seller, earned } = await opened({ stores: watched, ...DOUBT })
    const message = { ...textOf('mine'), metadata: { skillId: 'work' } }
    const { paid, payment: payload } = await begun(seller, message, world.payer().label)
    const payment = presenting(payload)
    const finish = (address: typeof HOME) => send(seller.url, paid, { ...ACTIVATED, ...address })
    expect((await inDoubt(seller, () => finish(HOME))).is).toBe('settlement_unknown')
    await renewed()
    await land(seller, payment)
    for (const [, door] of DOORS) {
      for (const more of [HOME, AWAY, { ...HOME, ...keyed(SHORT_KEY) }]) {
        const told = await door(seller.url, { skill: 'work', input: INPUT, headers: { ...payment, ...more } })
        expect(told.code).toBe('payment_spent')
      }
    }
    for (const address of [AWAY, HOME, AWAY])
      expect(await finish(address)).toMatchObject({ is: 'completed', data: { run: 1 } })
    expect([runs, earned()]).toEqual([1, PRICE])
  })
})
