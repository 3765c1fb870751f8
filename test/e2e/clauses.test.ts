/** Clauses of the specification that are no rows of its tables, over real HTTP. */
import { describe, expect, it } from 'vitest'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { defineEndpoint, type SubscriptionStore } from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import { ask, challengeIn, open, pay } from '../support/seller.js'

describe('specification 4.2: a request without body and payment is a price probe', () => {
  const input = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } as const
  let runs = 0
  const handler = () => ++runs
  const subscription = { price: '$1', period: '1d' }
  const feed = defineEndpoint({ name: 'feed', subscription, input, handler })
  const other = defineEndpoint({ name: 'other', subscription, handler })
  const single = defineEndpoint({ name: 'single', price: '$0.01', input, handler })
  const look = defineEndpoint({ name: 'look', subscription, method: 'GET', input, handler })
  const keyFrom = (response: Response) => ({
    'x-svc-subscription': response.headers.get('x-svc-subscription')!,
  })

  it('also where it comes with a subscription key that covers nothing', async () => {
    runs = 0
    const seller = await open([feed, other, single, look])
    const foreign = keyFrom(await pay(seller, `${seller.url}/other`))
    const keys = [foreign, { 'x-svc-subscription': 'svc_nothing' }, { 'x-svc-subscription': '' }]
    for (const headers of keys) {
      for (const [path, method] of [['feed'], ['single'], ['look', 'GET']] as const) {
        const response = await ask(`${seller.url}/${path}`, { method, headers })
        expect(response.status, path).toBe(402)
        expect(await response.json()).toEqual({})
        expect(challengeIn(response).accepts).toHaveLength(2)
      }
      const wrong = await ask(`${seller.url}/feed`, { headers, body: { n: 'x' } })
      expect(wrong.status, 'a body is validated').toBe(400)
    }
    expect(runs).toBe(1)
  })

  it('also once its window has ended', async () => {
    let nowMs = Date.now()
    const seller = await open([feed], { advanced: { clock: { ...systemClock, now: () => nowMs } } })
    const headers = keyFrom(await pay(seller, `${seller.url}/feed`, { body: { n: 1 } }))
    expect((await ask(`${seller.url}/feed`, { headers, body: { n: 2 } })).status).toBe(200)
    nowMs += 2 * 86_400_000
    expect((await ask(`${seller.url}/feed`, { headers })).status).toBe(402)
  })

  it('but not with a key that would let it run: then its input is refused', async () => {
    runs = 0
    const seller = await open([feed, look])
    for (const [path, method, body] of [
      ['feed', 'POST', { n: 1 }],
      ['look?n=1', 'GET', undefined],
    ] as const) {
      const headers = keyFrom(await pay(seller, `${seller.url}/${path}`, { method, body }))
      const response = await ask(`${seller.url}/${path.replace('n=1', '')}`, { method, headers })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_input' } })
    }
    expect(runs).toBe(2)
  })

  it('and never runs: not with a store that finds the window only when it is asked again', async () => {
    runs = 0
    let looks = 0
    const memory = memorySubscriptions({ clock: systemClock })
    const store: SubscriptionStore = { ...memory, get: id => (looks++ === 0 ? undefined : memory.get(id)) }
    const seller = await open([feed], { subscriptions: { store } })
    const headers = keyFrom(await pay(seller, `${seller.url}/feed`, { body: { n: 1 } }))
    looks = 0
    expect((await ask(`${seller.url}/feed`, { headers })).status).toBe(402)
    expect(runs).toBe(1)
    expect((await ask(`${seller.url}/feed`, { headers, body: { n: 1 } })).status, 'it is there').toBe(200)
  })

  it('nor is a subscriber asked to pay again while the store is down', async () => {
    const memory = memorySubscriptions({ clock: systemClock })
    let isDown = false
    const store: SubscriptionStore = {
      ...memory,
      get: id => (isDown ? Promise.reject(new Error('down')) : memory.get(id)),
    }
    const seller = await open([feed], { subscriptions: { store } })
    const headers = keyFrom(await pay(seller, `${seller.url}/feed`, { body: { n: 1 } }))
    isDown = true
    const response = await ask(`${seller.url}/feed`, { headers })
    expect(response.status).toBe(400)
    expect(response.headers.get('payment-required')).toBeNull()
  })
})
