/** Every door walks the same machine: what HTTP promises about money holds for A2A and MCP, and across them. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { DOORS, type TestDoor } from '../support/doors.js'
import { fakeFacilitator, json, status } from '../support/fake-facilitator.js'
import { gated } from '../support/gate.js'
import { ask, open, presenting, type Seller, signedIn, signFor } from '../support/seller.js'

const input = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string' } },
} as const

function counted(options: object = {}) {
  const seen = { runs: 0 }
  const work = defineEndpoint({
    name: 'work',
    price: '$0.01',
    input,
    handler: ({ body }) => ({ run: ++seen.runs, text: body.text }),
    ...options,
  })
  return { seen, work }
}

const asked = { skill: 'work', input: { text: 'hello' } }
const body = asked.input
/** A server that believes its facilitator, and a payment to it that has not been sent yet. */
async function trusting(options: Partial<ServeOptions> = {}) {
  const facilitator = await fakeFacilitator()
  const { work, seen } = counted()
  const seller = await open([work], { facilitatorUrl: facilitator.url, ...options })
  return { facilitator, seen, seller, headers: await signFor(seller, `${seller.url}/work`, { body }) }
}

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc

for (const [name, door] of Object.entries(DOORS) as [string, TestDoor][]) {
  describe(name, () => {
    it('quotes, is paid once, answers, and shows the receipt', async () => {
      const { work, seen } = counted()
      const seller = await open([work])
      const quoted = await door(seller.url, asked)
      expect(quoted.code).toBe('payment_required')
      expect(quoted.challenge?.accepts[0]).toMatchObject({
        amount: '10000',
        payTo: seller.sandbox.seller.address,
      })
      const headers = await signFor(seller, `${seller.url}/work`, { body })
      const told = await door(seller.url, { ...asked, headers })
      expect(told).toMatchObject({ code: 'ok', data: { run: 1, text: 'hello' } })
      expect(told.receipt).toMatchObject({
        success: true,
        transaction: seller.sandbox.transactions().at(-1)?.txId,
        payer: seller.sandbox.wallet.address,
        amount: '10000',
      })
      expect([seen.runs, received(seller)]).toEqual([1, 10_000n])
    })

    it('validates before it quotes', async () => {
      const { work } = counted()
      const seller = await open([work])
      const told = await door(seller.url, { skill: 'work', input: { text: 5 } })
      expect(told.code).toBe('invalid_input')
    })

    it('holds an endpoint’s own limit of its input, smaller or larger than the server’s', async () => {
      const { work } = counted({ maxBodyBytes: 1_000 })
      const large = defineEndpoint({ name: 'large', price: '$0.01', maxBodyBytes: 100_000, handler: () => 1 })
      const seller = await open([work, large], { maxBodyBytes: 10_000 })
      const code = async (skill: string, length: number) =>
        (await door(seller.url, { skill, input: { text: 'x'.repeat(length) } })).code
      expect(await code('work', 900)).toBe('payment_required')
      expect(await code('work', 1_100)).toBe('body_too_large')
      expect(await code('large', 90_000)).toBe('payment_required')
    })

    it('gives a GET its input as the query, coerced and validated', async () => {
      const find = defineEndpoint({
        name: 'find/it',
        method: 'GET',
        price: '$0.01',
        input: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
        handler: ({ body: found }) => ({ found }),
      })
      const seller = await open([find])
      expect((await door(seller.url, { skill: 'find/it', input: { n: 'x' } })).code).toBe('invalid_input')
      const headers = await signFor(seller, `${seller.url}/find/it?n=4`, { method: 'GET' })
      const told = await door(seller.url, { skill: 'find/it', input: { n: '4' }, headers })
      expect(told).toMatchObject({ code: 'ok', data: { found: { n: 4 } } })
    })

    it('100 concurrent calls with one payment: one run, one settle, one answer', async () => {
      const { facilitator, seen, seller, headers } = await trusting()
      const told = await Promise.all(
        Array.from({ length: 100 }, () => door(seller.url, { ...asked, headers })),
      )
      expect(told.filter(({ code }) => code === 'ok')).toHaveLength(1)
      expect(told.every(({ code }) => ['ok', 'payment_in_use', 'payment_spent'].includes(code))).toBe(true)
      expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
    })

    it('a payment spent here is spent everywhere, though the facilitator says ok', async () => {
      const { facilitator, seen, seller, headers } = await trusting()
      expect((await door(seller.url, { ...asked, headers })).code).toBe('ok')
      for (const other of Object.values(DOORS)) {
        expect((await other(seller.url, { ...asked, headers })).code).toBe('payment_spent')
      }
      expect((await ask(`${seller.url}/work`, { body, headers })).status).toBe(409)
      expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
    })

    it('one payment here and at the HTTP door at once: one of them runs', async () => {
      const { facilitator, seen, seller, headers } = await trusting()
      const [told, response] = await Promise.all([
        door(seller.url, { ...asked, headers }),
        ask(`${seller.url}/work`, { body, headers }),
      ])
      expect([told.code === 'ok', response.status === 200].filter(Boolean)).toHaveLength(1)
      expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
    })

    it('an edited `accepted` is refused before the facilitator is asked', async () => {
      const { facilitator, seen, seller, headers } = await trusting()
      const payload = signedIn(headers)
      const edited = { ...payload, accepted: { ...payload.accepted, amount: '1' } }
      const told = await door(seller.url, { ...asked, headers: presenting(edited) })
      expect(told.code).toBe('payment_required')
      expect(told.challenge?.error).toMatch(/other terms/)
      expect([seen.runs, facilitator.asked.some(({ path }) => path !== '/supported')]).toEqual([0, false])
    })

    it('a payment for a cheaper skill buys nothing here', async () => {
      const { work, seen } = counted()
      const cheap = defineEndpoint({ name: 'cheap', price: '$0.000001', handler: () => 1 })
      const seller = await open([work, cheap])
      const headers = await signFor(seller, `${seller.url}/cheap`)
      expect((await door(seller.url, { ...asked, headers })).code).toBe('payment_required')
      expect([seen.runs, received(seller)]).toEqual([0, 0n])
    })

    it('a handler that throws, or answers a failure, is not charged, and keeps its secrets', async () => {
      const throws = defineEndpoint({
        name: 'throws',
        price: '$0.01',
        handler: () => {
          throw new Error('secret detail')
        },
      })
      const fails = defineEndpoint({
        name: 'fails',
        price: '$0.01',
        handler: () => Response.json({ error: { code: 'teapot' } }, { status: 418 }),
      })
      const seller = await open([throws, fails])
      for (const skill of ['throws', 'fails']) {
        const headers = await signFor(seller, `${seller.url}/${skill}`)
        const told = await door(seller.url, { skill, input: {}, headers })
        expect(told.receipt).toBeUndefined()
        expect(told.code).not.toBe('ok')
        expect(JSON.stringify(told)).not.toContain('secret detail')
      }
      expect(received(seller)).toBe(0n)
    })

    it('a handler that takes too long is not charged', async () => {
      const seller = await open([
        defineEndpoint({
          name: 'slow',
          price: '$0.01',
          timeout: 1_000,
          handler: () => new Promise(() => {}),
        }),
      ])
      const headers = await signFor(seller, `${seller.url}/slow`)
      expect((await door(seller.url, { skill: 'slow', input: {}, headers })).code).toBe('handler_timeout')
      expect(received(seller)).toBe(0n)
    })

    it('a facilitator that is down is an outage, never a quote', async () => {
      const { facilitator, seen, seller, headers } = await trusting()
      facilitator.replies['/verify'] = status(500)
      expect((await door(seller.url, { ...asked, headers })).code).toBe('facilitator_unavailable')
      expect(seen.runs).toBe(0)
    })

    it('an answer does not leave before its settlement, and an unknown one never asks to pay again', async () => {
      const timeouts = { certaintyMs: 50, reconcilePauseMs: 10 }
      const { facilitator, seen, seller, headers } = await trusting({ advanced: { timeouts } })
      facilitator.replies['/settle'] = json({
        success: false,
        errorReason: 'insufficient_funds',
        transaction: '',
      })
      const unsettled = await door(seller.url, { ...asked, headers })
      expect(unsettled).toMatchObject({
        code: 'payment_required',
        challenge: { error: 'insufficient_funds' },
      })
      facilitator.replies['/settle'] = status(500)
      const unclear = await signFor(seller, `${seller.url}/work`, { body })
      const inDoubt = await door(seller.url, { ...asked, headers: unclear })
      expect(inDoubt.code).toBe('settlement_unknown')
      for (const told of [unsettled, inDoubt]) expect(told.data).toBeUndefined()
      expect(seen.runs).toBe(2)
    })

    it('replays an answer to whoever repeats its key, and charges once', async () => {
      const { work, seen } = counted()
      const seller = await open([work], { idempotency: { onLostResponse: 'replay' } })
      const key = { 'idempotency-key': 'one' }
      for (const replayed of [false, true]) {
        const payment = await signFor(seller, `${seller.url}/work`, { body })
        const told = await door(seller.url, { ...asked, headers: { ...payment, ...key } })
        expect(told).toMatchObject({ code: 'ok', data: { run: 1 }, replayed })
      }
      const payment = await signFor(seller, `${seller.url}/work`, { body })
      const other = await door(seller.url, {
        skill: 'work',
        input: { text: 'else' },
        headers: { ...payment, ...key },
      })
      expect(other.code).toBe('idempotency_key_reuse')
      expect([seen.runs, received(seller)]).toEqual([1, 10_000n])
    })

    it('sells a window, shows its key, and lets it in without paying', async () => {
      const seen = { runs: 0 }
      const subscription = { price: '$0.01', period: '1d' }
      const seller = await open([
        defineEndpoint({ name: 'work', subscription, input, handler: () => ({ run: ++seen.runs }) }),
      ])
      const payment = await signFor(seller, `${seller.url}/work`, { body })
      const bought = await door(seller.url, { ...asked, headers: payment })
      expect(bought.subscriptionKey).toMatch(/^svc_/)
      const headers = { 'x-svc-subscription': bought.subscriptionKey! }
      expect(await door(seller.url, { ...asked, headers })).toMatchObject({ code: 'ok', data: { run: 2 } })
      expect((await ask(`${seller.url}/work`, { body, headers })).status).toBe(200)
      expect([seen.runs, received(seller)]).toEqual([3, 10_000n])
    })

    it('holds the rate limit', async () => {
      const { work } = counted()
      const seller = await open([work], { rateLimit: { perMinute: 1, per: 'ip' } })
      expect((await door(seller.url, asked)).code).toBe('payment_required')
      expect((await door(seller.url, asked)).code).toBe('rate_limited')
    })

    it('refuses new calls while draining, and finishes the one in work', async () => {
      const inside = gated()
      const seller = await open([inside.endpoint], { shutdownTimeoutMs: 10_000 })
      const headers = await signFor(seller, `${seller.url}/slow`)
      const working = door(seller.url, { skill: 'slow', input: {}, headers })
      await inside.entered()
      void seller.server.shutdown('test')
      const refused = await door(seller.url, { skill: 'slow', input: {} })
      expect(refused.code).toBe('shutting_down')
      expect(refused.headers.get('retry-after')).toBe('5')
      inside.open()
      expect((await working).code).toBe('ok')
      expect(received(seller)).toBe(10_000n)
    })

    it('a caller who hangs up before the settlement is not charged', async () => {
      const inside = gated()
      const seller = await open([inside.endpoint])
      const headers = await signFor(seller, `${seller.url}/slow`)
      const ended = seller.nextEnded()
      const hungUp = door(seller.url, { skill: 'slow', input: {}, headers }).catch(() => 'hung up')
      await inside.entered()
      seller.server.closeAllConnections()
      expect(await hungUp).toBe('hung up')
      expect(await ended).toMatchObject({ final: 'abandoned' })
      inside.open()
      expect(received(seller)).toBe(0n)
    })
  })
}

it('one payment at every door at once buys one run', async () => {
  const { facilitator, seen, seller, headers } = await trusting()
  const doors = Array.from({ length: 30 }, (_, at) => Object.values(DOORS)[at % 3]!)
  const told = await Promise.all(doors.map(door => door(seller.url, { ...asked, headers })))
  expect(told.filter(({ code }) => code === 'ok')).toHaveLength(1)
  expect([seen.runs, facilitator.count('/settle')]).toEqual([1, 1])
})
