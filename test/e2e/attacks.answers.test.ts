/** Answers that cannot be sent, payments in disguise, keys that outlive their payment: each was once a way to lose money. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Response as UndiciResponse } from 'undici'
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { defineEndpoint, SvcError } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { fakeFacilitator, json } from '../support/fake-facilitator.js'
import { ask, open, pay, presenting, receiptIn, type Seller, signedIn, signFor } from '../support/seller.js'

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const selling = (handler: () => unknown) => defineEndpoint({ name: 'work', price: '$0.01', handler })

describe('what a handler returns and HTTP cannot carry is a failure, before any charge', () => {
  const answers: Record<string, () => unknown> = {
    'Response.error()': () => Response.error(),
    'a control character in a header': () => new Response('x', { headers: { 'x-note': 'a\u0001b' } }),
    'a control character in a cookie': () => new Response('x', { headers: { 'set-cookie': 'a=\u0001' } }),
    'a failure in another class of Response': () => new UndiciResponse('no', { status: 500 }),
    'an error whose status throws when it is read': () => {
      throw {
        get status() {
          throw new Error('inner')
        },
      }
    },
  }
  for (const [name, handler] of Object.entries(answers)) {
    it(name, async () => {
      const seller = await open([selling(handler)])
      const response = await pay(seller, `${seller.url}/work`)
      expect(response.status).toBe(500)
      expect(received(seller)).toBe(0n)
    })
  }
})

it('an upstream’s answer that fetch has unpacked is not called packed', async () => {
  const upstream = createServer((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/plain' })
    response.end(gzipSync('unpacked'))
  })
  closing(upstream.listen(0, '127.0.0.1'))
  const seller = await open([
    selling(() => fetch(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)),
  ])
  const response = await pay(seller, `${seller.url}/work`)
  expect(await response.text()).toBe('unpacked')
  expect(received(seller)).toBe(10_000n)
})

it('each cookie of an answer leaves as it was set, and again when the answer is replayed', async () => {
  const cookies = ['a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT', 'b=2; HttpOnly', 'b=3; Path=/deep']
  const handler = () => new Response('in', { headers: cookies.map(cookie => ['Set-Cookie', cookie]) })
  const seller = await open([selling(handler)], { idempotency: { onLostResponse: 'replay' } })
  for (const replayed of [null, 'true']) {
    const response = await pay(seller, `${seller.url}/work`, { headers: { 'idempotency-key': 'k' } })
    expect(response.headers.get('idempotency-replayed')).toBe(replayed)
    expect(response.headers.getSetCookie()).toEqual(cookies)
  }
  expect(received(seller)).toBe(10_000n)
})

it('what a handler logs can neither break nor swell its error answer', async () => {
  const endpoint = defineEndpoint({
    name: 'work',
    price: '$0.01',
    handler({ log }) {
      log('a bigint', { n: 1n })
      log('much', { text: 'x'.repeat(5_000_000) })
      throw new SvcError('chosen', 'chosen', 422)
    },
  })
  const seller = await open([endpoint])
  const response = await pay(seller, `${seller.url}/work`)
  const text = await response.text()
  expect([response.status, JSON.parse(text).error.code]).toEqual([422, 'chosen'])
  expect(text.length).toBeLessThan(10_000)
})

describe('a payment in disguise', () => {
  /** The signed member with its map's head or its key spelt as a lenient decoder also takes it. */
  const disguises: Record<string, (member: Buffer) => Buffer> = {
    map16: member => Buffer.concat([Buffer.from([0xde, 0, member[0]! & 0x0f]), member.subarray(1)]),
    map32: member => Buffer.concat([Buffer.from([0xdf, 0, 0, 0, member[0]! & 0x0f]), member.subarray(1)]),
    'str8 key': member => {
      const at = member.indexOf(Buffer.from([0xa3, 0x74, 0x78, 0x6e]))
      return Buffer.concat([member.subarray(0, at), Buffer.from([0xd9, 3]), member.subarray(at + 1)])
    },
  }
  for (const [name, disguise] of Object.entries(disguises)) {
    it(`${name}: is the same payment, or none; it never buys a second run`, async () => {
      let runs = 0
      const facilitator = await fakeFacilitator()
      const seller = await open([selling(() => ++runs)], { facilitatorUrl: facilitator.url })
      const payment = await signFor(seller, `${seller.url}/work`)
      expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
      const payload = signedIn(payment)
      const { paymentGroup, paymentIndex } = payload.payload
      paymentGroup[paymentIndex] = disguise(Buffer.from(paymentGroup[paymentIndex], 'base64')).toString(
        'base64',
      )
      const sent = Array.from({ length: 3 }, () =>
        ask(`${seller.url}/work`, { headers: presenting(payload) }),
      )
      for (const { status } of await Promise.all(sent)) expect([402, 409]).toContain(status)
      expect(runs).toBe(1)
    })
  }
})

describe('after the payment’s rounds have passed', () => {
  const short = { advanced: { maxTimeoutSeconds: 28 } }

  it('the same request with its key still gets its answer', async () => {
    let runs = 0
    const seller = await open([selling(() => ({ run: ++runs }))], {
      ...short,
      idempotency: { onLostResponse: 'replay' },
    })
    const headers = {
      ...(await signFor(seller, `${seller.url}/work`)),
      'idempotency-key': 'a-random-key-that-cannot-be-guessed',
    }
    const first = await ask(`${seller.url}/work`, { headers })
    seller.sandbox.advanceRounds(50)
    const again = await ask(`${seller.url}/work`, { headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await again.json()).toEqual(await first.json())
    expect(received(seller)).toBe(10_000n)
  })

  it('a process that has forgotten it answers spent, and asks for no other payment', async () => {
    const seller = await open([selling(() => 1)], short)
    const headers = await signFor(seller, `${seller.url}/work`)
    const txId = receiptIn(await ask(`${seller.url}/work`, { headers })).txId
    const forgetful = closing(await seller.replica({ stores: {} }))
    seller.sandbox.advanceRounds(50)
    const response = await ask(`${forgetful.url}/work`, { headers })
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ error: { code: 'payment_spent', txId } })
  })

  it('so does the next version of it, which asks for another price', async () => {
    const { sandbox, ...seller } = await open([selling(() => 1)])
    const headers = await signFor({ sandbox, ...seller }, `${seller.url}/work`)
    const unpaid = await signFor({ sandbox, ...seller }, `${seller.url}/work`)
    const txId = receiptIn(await ask(`${seller.url}/work`, { headers })).txId
    const dearer = await open([defineEndpoint({ name: 'work', price: '$0.02', handler: () => 2 })], {
      sandbox,
    })
    const response = await ask(`${dearer.url}/work`, { headers })
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ error: { code: 'payment_spent', txId } })
    // One that has not landed is quoted the new price.
    expect((await ask(`${dearer.url}/work`, { headers: unpaid })).status).toBe(402)
  })
})

it('what is refused says nothing of another call’s charge', async () => {
  const charges = { ...memoryChargeStore() }
  const seller = await open([selling(() => 1)], {
    stores: { charges },
    idempotency: {},
    advanced: { timeouts: { settleMs: 200, certaintyMs: 200 } },
  })
  const headers = {
    ...(await signFor(seller, `${seller.url}/work`)),
    'idempotency-key': 'a-random-key-that-cannot-be-guessed',
  }
  seller.sandbox.faults.set('settle', 'die-before')
  expect((await ask(`${seller.url}/work`, { headers })).status).toBe(503)
  const again = await ask(`${seller.url}/work`, { headers })
  expect(again.status).toBe(503)
  expect(await again.text()).not.toMatch(/not charged/i)
})

it('payloads that make a facilitator fall over do not close the shop for honest payers', async () => {
  const first = await fakeFacilitator()
  const seller = await open([selling(() => 1)], { facilitatorUrl: first.url })
  first.replies['/verify'] = json({ error: 'cannot read' }, 500)
  const hostile = Array.from({ length: 8 }, () => signFor(seller, `${seller.url}/work`))
  for (const headers of await Promise.all(hostile)) {
    expect((await ask(`${seller.url}/work`, { headers })).status).toBe(503)
  }
  first.replies['/verify'] = json({ isValid: true })
  expect((await pay(seller, `${seller.url}/work`)).status).toBe(200)
})

it('a window opens nothing of another seller, though they share a store by mistake', async () => {
  const store = memorySubscriptions({})
  const endpoint = defineEndpoint({
    name: 'pass',
    subscription: { price: '$0.01', period: '1h' },
    handler: () => 1,
  })
  const seller = await open([endpoint], { subscriptions: { store } })
  const key = (await pay(seller, `${seller.url}/pass`)).headers.get('x-svc-subscription')!
  const other = closing(
    await seller.replica({ subscriptions: { store }, payTo: seller.sandbox.wallet.address }),
  )
  const use = async (url: string) =>
    (await ask(`${url}/pass`, { headers: { 'x-svc-subscription': key } })).status
  expect([await use(seller.url), await use(other.url)]).toEqual([200, 402])
})

it('a short window is not stretched by a payment that is signed for long', async () => {
  const endpoint = defineEndpoint({
    name: 'pass',
    subscription: { price: '$0.01', period: '1m' },
    handler: () => 1,
  })
  const seller = await open([endpoint])
  const response = await pay(seller, `${seller.url}/pass`)
  const leadMs = Date.parse(response.headers.get('x-svc-subscription-expires')!) - Date.now() - 60_000
  expect(leadMs).toBeLessThanOrEqual(300_000)
})
