/** The client against real servers: ours, and the official one over the same sandbox. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve as listen } from '@hono/node-server'
import { ExactAvmScheme } from '@x402/avm/exact/server'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/hono'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ALGORAND_TESTNET,
  defineAgent,
  defineEndpoint,
  type SvcError,
  type SvcServer,
  serve,
} from '../../src/index.js'
import { gated } from '../support/gate.js'
import { marketForFile, PRICE, PRICE_USD } from './market.js'

const market = marketForFile()
let ours: SvcServer
let official: Server
let ourUrl: string
let officialUrl: string
let runs = 0
const slow = gated()

beforeAll(async () => {
  const { url, seller } = market.sandbox
  const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const
  const agent = defineAgent({
    name: 'Echo',
    handle: 'echo-agent',
    description: 'Says it again',
    payTo: seller.address,
    network: 'testnet',
    endpoints: [
      defineEndpoint({
        name: 'echo',
        price: '$0.01',
        input,
        handler: ({ body }) => ({ said: body.text, run: ++runs }),
      }),
      defineEndpoint({ name: 'now', price: '$0.01', method: 'GET', handler: ({ query }) => ({ query }) }),
      defineEndpoint({
        name: 'window',
        subscription: { price: '$0.05', period: '1d' },
        handler: () => ({ open: true }),
      }),
      slow.endpoint,
      defineEndpoint({
        name: 'broken',
        price: '$0.01',
        handler: () => {
          throw new Error('no luck')
        },
      }),
    ],
  })
  ours = serve(agent, {
    port: 0,
    host: '127.0.0.1',
    facilitatorUrl: url,
    algodUrl: url,
    idempotency: { onLostResponse: 'replay' },
    handleSignals: false,
    onReady: () => {},
    onShutdown: () => {},
  })
  if (!ours.listening) await new Promise(resolve => ours.once('listening', resolve))
  ourUrl = urlOf(ours)

  const facilitator = new x402ResourceServer(new HTTPFacilitatorClient({ url }))
  facilitator.register(ALGORAND_TESTNET, new ExactAvmScheme())
  const accepts = { scheme: 'exact', price: '$0.01', network: ALGORAND_TESTNET, payTo: seller.address }
  const app = new Hono()
  app.use(paymentMiddleware({ 'POST /echo': { accepts } } as never, facilitator))
  app.post('/echo', async context => context.json({ said: await context.req.json() }))
  await new Promise<void>(resolve => {
    official = listen({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve()) as Server
  })
  officialUrl = urlOf(official)
})

afterAll(async () => {
  await ours.shutdown()
  await new Promise(resolve => official.close(resolve))
})

describe('our server', () => {
  it('is discovered, quoted and paid', async () => {
    const { client, spent } = market.payer({ maxPrice: '$0.01' })
    const { endpoints } = await client.discover(ourUrl)
    const { url } = endpoints.find(({ name }) => name === 'echo')!
    expect(client.priceOf((await client.quote(url)).requirements)).toBe(PRICE_USD)
    const result = await client.call(url, { text: 'hello' })
    expect(result).toMatchObject({ data: { said: 'hello' }, status: 200, payment: { usd: PRICE_USD } })
    expect(result.warnings).toBeUndefined()
    expect(spent()).toBe(PRICE)
  })

  it('answers a repeated key again, and only the first call is paid', async () => {
    const { client, spent } = market.payer()
    const call = () => client.call(`${ourUrl}/echo`, { text: 'once' }, { idempotencyKey: 'order-1' })
    const first = await call()
    const second = await call()
    expect(second).toMatchObject({ data: first.data, replayed: true, payment: { txId: first.payment?.txId } })
    expect(spent()).toBe(PRICE)
    // The payment of the second call was handed over as well: it counts while it can land.
    expect(client.spentToday).toBe(2 * PRICE_USD)
  })

  it('gives an answer that was lost to who sends the key of the error again, and is paid once', async () => {
    let isLost = true
    const cutting: typeof fetch = async (url, init) => {
      const reply = await fetch(url, init)
      if (isLost && 'PAYMENT-SIGNATURE' in (init?.headers ?? {})) throw new Error('cut')
      return reply
    }
    const { client, spent } = market.payer({ fetchImpl: cutting, retry: false })
    const call = (options = {}) => client.call(`${ourUrl}/echo`, { text: 'lost' }, options)
    const { detail } = (await call().catch((error: SvcError) => error)) as SvcError
    expect(detail).toMatchObject({ charged: 'yes', idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/) })
    isLost = false
    const { idempotencyKey, txId } = detail as { idempotencyKey: string; txId: string }
    const again = await call({ idempotencyKey })
    expect(again).toMatchObject({ data: { said: 'lost' }, replayed: true, payment: { txId } })
    expect(spent()).toBe(PRICE)
  })

  it('answers over A2A a call whose first attempt a gateway gave up on', async () => {
    const answered: number[] = []
    let given: Promise<Response> | undefined
    const gateway: typeof fetch = async (url, init) => {
      if (!('PAYMENT-SIGNATURE' in (init?.headers ?? {}))) return fetch(url, init)
      // The seller is done with the first attempt before the third, however busy the machine is.
      if (answered.length === 2) await given
      const sent = fetch(url, init)
      given ??= sent
      await slow.entered()
      const reply = answered.length > 0 ? await sent : new Response('Gateway Timeout', { status: 504 })
      if (answered.push(reply.status) > 1) slow.open()
      return reply
    }
    const { client, spent } = market.payer({ fetchImpl: gateway })
    const parts = [{ kind: 'data', data: {} }]
    const message = { kind: 'message', messageId: '1', role: 'user', parts, metadata: { skillId: 'slow' } }
    const request = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
    const { data, attempts } = await client.call(`${ourUrl}/a2a`, request)
    expect({ attempts, answered, data }).toMatchObject({
      attempts: 3,
      answered: [504, 409, 200],
      data: { result: { status: { state: 'completed' } } },
    })
    expect(spent()).toBe(PRICE)
  })

  it('takes a GET', async () => {
    const { client, spent } = market.payer()
    expect((await client.call(`${ourUrl}/now?q=1`)).data).toEqual({ query: { q: '1' } })
    expect(spent()).toBe(PRICE)
  })

  it('sells a window, and opens it', async () => {
    const { client, spent } = market.payer()
    const { expiresAt } = await client.subscribe(`${ourUrl}/window`, {})
    expect(expiresAt).toBeGreaterThan(Date.now())
    expect((await client.call(`${ourUrl}/window`, {})).data).toEqual({ open: true })
    expect(spent()).toBe(5n * PRICE)
  })

  it('does not charge for a failed call or invalid input', async () => {
    const { client, spent } = market.payer()
    await expect(client.call(`${ourUrl}/broken`, {})).rejects.toMatchObject({
      code: 'call_failed',
      detail: { charged: 'no' },
    })
    await expect(client.call(`${ourUrl}/echo`, { text: 1 })).rejects.toMatchObject({ status: 400 })
    expect(spent()).toBe(0n)
    // Invalid input is refused before a payment is asked for; the failed call had one.
    expect(client.spentToday).toBe(PRICE_USD)
  })
})

describe('the official server', () => {
  it('is quoted and paid', async () => {
    const { client, spent } = market.payer({ maxPrice: '$0.01' })
    const result = await client.call(`${officialUrl}/echo`, { text: 'hello' })
    expect(result).toMatchObject({ data: { said: { text: 'hello' } }, payment: { usd: PRICE_USD } })
    expect(result.warnings).toBeUndefined()
    expect(spent()).toBe(PRICE)
  })
})

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
