/** Answers that were paid for on a balance or by itself, asked for again after a deploy or after a balance was bought. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { SvcClient } from '../../src/client.js'
import { A2A_X402_URI } from '../../src/domain/agent-card.js'
import { defineEndpoint } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { EVERY_DOOR } from '../support/doors.js'
import { ACTIVATED, begun, send } from '../support/payment-tasks.js'
import { ask, open, pay, type Seller } from '../support/seller.js'

const about = { balance: { amounts: ['$0.02', '$0.01'], period: '1h' } }

let keys = 0
async function bought(seller: Seller) {
  const sale = await pay(seller, `${seller.url}/balance`, { body: { amount: '$0.02' } })
  const key = sale.headers.get('x-svc-balance-key')!
  return (at: string) =>
    ask(`${seller.url}/${at}`, {
      body: {},
      headers: { 'x-svc-balance-key': key, 'idempotency-key': `answer-key-${keys++}` },
    })
}
function buyer({ sandbox }: Seller, options = {}) {
  const { address, mnemonic } = sandbox.accounts(`answer buyer ${keys++}`)
  const before = sandbox.balance(address).usdc!
  const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl, ...options })
  return { client, spent: () => before - sandbox.balance(address).usdc! }
}

/** A way to a seller on which the answers to requests with this header get lost; the seller behind it can be another after a deploy. */
async function wayTo(first: Seller) {
  const way = { to: first, loses: '', url: '', close: async () => {} }
  const server = createServer((message, response) => {
    const { method, headers } = message
    const asked = request(way.to.url + message.url, { method, headers }, answer => {
      if (way.loses in headers) return answer.resume().on('end', () => response.destroy())
      return answer.pipe(response.writeHead(answer.statusCode!, answer.headers))
    })
    message.pipe(asked)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  way.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  way.close = async () => void server.close().closeAllConnections()
  return closing(way)
}

function counter(terms: object = {}) {
  let runs = 0
  const handler = () => ({ runs: ++runs })
  const endpoint = (changes: object = {}) =>
    defineEndpoint({ name: 'work', price: '$0.01', handler, ...terms, ...changes })
  return { endpoint, runs: () => runs }
}

describe('an answer that was paid for', () => {
  const OWN = { idempotencyKey: 'one-call-of-the-caller-s-own-making' }

  it.each([
    ['takes no balance any more', { balance: false }, about],
    ['sells no balances any more', {}, {}],
  ])('is had by its key after a deploy, where its endpoint %s', async (_, changes, after) => {
    const { endpoint, runs } = counter()
    const stores = { charges: memoryChargeStore() }
    const seller = await open([endpoint()], { about, stores })
    const way = await wayTo(seller)
    const { client, spent } = buyer(seller, { retry: { attempts: 1 } })
    await client.topUp(way.url, '$0.02')
    way.loses = 'x-svc-balance-key'
    const call = (options = {}) => client.call(`${way.url}/work`, {}, options)
    await expect(call(OWN)).rejects.toMatchObject({ detail: { charged: 'maybe' } })
    way.loses = ''
    way.to = await open([endpoint(changes)], { about: after, stores, sandbox: seller.sandbox })
    // This one learns that there is no offer, and pays by itself.
    expect((await call()).payment).toMatchObject({ usd: 0.01 })
    expect(await call(OWN)).toMatchObject({ data: { runs: 1 }, charged: '10000' })
    expect([runs(), spent()]).toEqual([2, 30_000n])
  })

  it.each(Object.entries(EVERY_DOOR))(
    'on a balance is had at %s by its key after a deploy that takes balances away',
    async (_, door) => {
      const { endpoint, runs } = counter()
      const stores = { charges: memoryChargeStore() }
      const seller = await open([endpoint()], { about, stores })
      const sale = await pay(seller, `${seller.url}/balance`, { body: { amount: '$0.02' } })
      const headers = {
        'a2a-extensions': A2A_X402_URI,
        'x-svc-balance-key': sale.headers.get('x-svc-balance-key')!,
      }
      // Without a key of its own no call takes from a balance, and no task waits for one.
      const call = { skill: 'work', input: { text: 'hello' }, headers }
      expect(await door(seller.url, call)).toMatchObject({ code: 'idempotency_key_required' })
      const named = { ...call, headers: { ...headers, 'idempotency-key': 'answer-key-at-a-door' } }
      expect(await door(seller.url, named)).toMatchObject({ code: 'ok', data: { runs: 1 } })
      const next = await open([endpoint()], { stores, sandbox: seller.sandbox })
      const again = { code: 'ok', data: { runs: 1 }, replayed: true, balance: { charged: '10000' } }
      expect(await door(next.url, named)).toMatchObject(again)
      expect(runs()).toBe(1)
    },
  )

  it('of a task is bought by its payment, and not beside the key of a balance', async () => {
    const { endpoint, runs } = counter()
    const stores = { charges: memoryChargeStore() }
    const seller = await open([endpoint()], { about, stores })
    const sale = await pay(seller, `${seller.url}/balance`, { body: { amount: '$0.02' } })
    const headers = { ...ACTIVATED, 'x-svc-balance-key': sale.headers.get('x-svc-balance-key')! }
    const task = await begun(seller)
    expect(await send(seller.url, task.paid, headers)).toMatchObject({ is: 'payment_and_balance' })
    expect(await send(seller.url, task.paid)).toMatchObject({ is: 'completed', data: { runs: 1 } })
    const next = await open([endpoint()], { stores, sandbox: seller.sandbox })
    const after = await begun(next)
    expect(await send(next.url, after.paid, headers)).toMatchObject({ is: 'completed', data: { runs: 2 } })
    expect([runs(), seller.sandbox.balance(seller.sandbox.seller.address).usdc]).toEqual([2, 40_000n])
  })

  it('opens nothing to others, and takes nothing, where an endpoint takes no balance', async () => {
    const { endpoint, runs } = counter({ balance: false })
    const seller = await open([endpoint(), counter().endpoint({ name: 'other' })], { about })
    const call = await bought(seller)
    expect((await call('work')).status).toBe(402)
    const paid = await pay(seller, `${seller.url}/work`, {
      body: {},
      headers: { 'x-svc-balance-key': 'svc_x' },
    })
    expect([paid.status, runs()]).toEqual([200, 1])
    const after = await call('other')
    expect(after.headers.get('x-svc-balance')).toBe('10000')
  })

  it.each(['call', 'fetch'] as const)(
    'by itself is not paid for on a balance that is bought meanwhile: %s',
    async how => {
      const { endpoint, runs } = counter()
      const seller = await open([endpoint()], { about, idempotency: {} })
      const way = await wayTo(seller)
      const { client, spent } = buyer(seller, { retry: { attempts: 1 } })
      const asked = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
      const call = async (options = {}) => {
        if (how === 'call') return (await client.call(`${way.url}/work`, {}, options)).data
        return (await client.fetch(`${way.url}/work`, asked)).json()
      }
      way.loses = 'payment-signature'
      const { charged, idempotencyKey } = await call().then(Object, ({ detail }) => detail)
      expect(charged).toBe('yes')
      way.loses = ''
      await client.topUp(way.url, '$0.02')
      expect(await call({ idempotencyKey })).toEqual({ runs: 1 })
      expect([runs(), spent()]).toEqual([1, 30_000n])
      expect(await client.balances()).toMatchObject([{ left: '20000' }])
    },
  )
})
