/** Our client pays official servers; the sandbox is the facilitator. */
import type { HTTPRequestContext } from '@x402/core/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient, SvcError } from '../../src/client.js'
import { type Sandbox, type SandboxAccount, startSandbox } from '../../src/sandbox.js'
import {
  LONG_ID,
  NOTHING,
  nameOf,
  OFFICIAL_SERVERS,
  type OfficialServer,
  type OfficialServerName,
  type OfficialServerOptions,
  onePayment,
  SHORT_ID,
  watchLedger,
} from '../support/official.js'

let worked = 0
const work = (body: unknown, status?: number) => {
  worked++
  return { body, status }
}
const routes = {
  'POST /echo': { price: '$0.01', work: ({ text }: Record<string, unknown>) => work({ echo: text }) },
  'GET /square': {
    price: '$0.002',
    work: ({ n }: Record<string, unknown>) => work({ square: Number(n) ** 2 }),
  },
  'POST /priced': {
    price: async ({ adapter }: HTTPRequestContext) => {
      const { cents } = (await adapter.getBody!()) as { cents: number }
      return `$${cents / 100}`
    },
    work: ({ cents }: Record<string, unknown>) => work({ cents }),
  },
  'POST /broken': { price: '$0.01', work: () => work({ error: 'no model today' }, 502) },
} satisfies OfficialServerOptions['routes']

const servers = Object.keys(OFFICIAL_SERVERS) as OfficialServerName[]

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

/** USD: the seller has the signed payment, so it counts until the chain proves that it cannot land. */
const HANDED_OVER = 0.01

function clientOf(account: SandboxAccount, limits: { maxPrice?: string } = {}): SvcClient {
  const { mnemonic } = account
  return new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl, ...limits })
}

async function failureOf(call: Promise<unknown>): Promise<SvcError> {
  const error = await call.then(
    () => undefined,
    reason => reason,
  )
  expect(error).toBeInstanceOf(SvcError)
  return error
}

describe.each(
  servers.flatMap(name => [SHORT_ID, LONG_ID].map(network => ({ name, network, id: nameOf(network) }))),
)('our client pays an official $name server that quotes $id', ({ name, network, id }) => {
  let server: OfficialServer
  beforeAll(async () => {
    const payTo = sandbox.seller.address
    server = await OFFICIAL_SERVERS[name]({
      facilitatorUrl: sandbox.facilitatorUrl,
      payTo,
      network,
      routes,
    })
  })
  afterAll(() => server.close())

  it.each([
    {
      sold: 'a fixed price by POST',
      path: '/echo',
      body: { text: 'hello' },
      data: { echo: 'hello' },
      amount: 10_000n,
    },
    {
      sold: 'a price function by POST',
      path: '/priced',
      body: { cents: 7 },
      data: { cents: 7 },
      amount: 70_000n,
    },
    { sold: 'a fixed price by GET', path: '/square?n=12', data: { square: 144 }, amount: 2_000n },
  ])('$sold', async ({ sold, path, body, data, amount }) => {
    const client = clientOf(sandbox.accounts(`${name} ${id} ${sold}`))
    const moved = watchLedger(sandbox, client.address!)
    const options = body ? {} : { method: 'GET' }

    const quote = await client.quote(server.url + path, body, options)
    expect(quote).toMatchObject({ paymentRequired: true, status: 402 })
    expect(quote.requirements!.accepts).toEqual([
      {
        scheme: 'exact',
        network,
        amount: String(amount),
        asset: '10458941',
        payTo: sandbox.seller.address,
        maxTimeoutSeconds: expect.any(Number),
        extra: expect.objectContaining({ feePayer: sandbox.feePayer }),
      },
    ])
    const usd = Number(amount) / 1e6
    expect(client.priceOf(quote.requirements)).toBe(usd)
    expect(moved()).toEqual(NOTHING)

    const result = await client.call(server.url + path, body, options)
    expect(result).toEqual({
      data,
      status: 200,
      attempts: 1,
      payment: {
        txId: expect.stringMatching(/^[A-Z2-7]{52}$/),
        amount: String(amount),
        usd,
        asset: '10458941',
      },
    })
    expect(moved()).toEqual(onePayment(amount, result.payment!.txId))
    expect(client.spentToday).toBe(usd)
  })
})

describe.each(servers)('our client and an official %s server part without a payment', name => {
  let server: OfficialServer
  beforeAll(async () => {
    const { facilitatorUrl, seller } = sandbox
    server = await OFFICIAL_SERVERS[name]({ facilitatorUrl, payTo: seller.address, routes })
  })
  afterAll(() => server.close())

  it('the price is above maxPrice: nothing is signed', async () => {
    const { mnemonic, address } = sandbox.accounts(`${name} thrifty`)
    const seen: Request[] = []
    const client = new SvcClient({
      mnemonic,
      network: 'testnet',
      algodUrl: sandbox.algodUrl,
      maxPrice: '$0.009999',
      fetchImpl(input, init) {
        seen.push(new Request(input as string, init as RequestInit))
        return fetch(input, init)
      },
    })
    const moved = watchLedger(sandbox, address)
    const runs = worked
    const failure = await failureOf(client.call(`${server.url}/echo`, { text: 'hello' }))
    expect(failure.code).toBe('price_above_max')
    expect(seen.map(({ headers }) => headers.has('payment-signature'))).toEqual([false])
    expect([worked - runs, moved(), client.spentToday]).toEqual([0, NOTHING, 0])
  })

  it('the work fails: nothing moves, and it counts while it can land', async () => {
    const client = clientOf(sandbox.accounts(`${name} unlucky`))
    const moved = watchLedger(sandbox, client.address!)
    const failure = await failureOf(client.call(`${server.url}/broken`, {}))
    expect(failure).toMatchObject({ code: 'call_failed', status: 502 })
    // A 502 without a code of ours may be a gateway's, which has lost the answer of a call that was charged.
    expect(failure.detail).toMatchObject({ charged: 'maybe', body: { error: 'no model today' } })
    expect([moved(), client.spentToday]).toEqual([NOTHING, HANDED_OVER])
  })

  it('the payer cannot pay: told why, nothing run', async () => {
    const account = sandbox.accounts(`${name} frozen`)
    sandbox.freeze(account.address, true)
    const client = clientOf(account)
    const moved = watchLedger(sandbox, account.address)
    const runs = worked
    const failure = await failureOf(client.call(`${server.url}/echo`, { text: 'hello' }))
    expect(failure).toMatchObject({ code: 'call_failed', status: 402, detail: { charged: 'no' } })
    expect(failure.message).toContain('invalid_exact_avm_simulation_failed')
    expect([worked - runs, moved(), client.spentToday]).toEqual([0, NOTHING, HANDED_OVER])
  })

  it('the facilitator does not settle: told why, not charged', async () => {
    const client = clientOf(sandbox.accounts(`${name} unsettled`))
    const moved = watchLedger(sandbox, client.address!)
    sandbox.faults.set('settle', 'refuse', { times: 1 })
    const failure = await failureOf(client.call(`${server.url}/echo`, { text: 'hello' }))
    expect(failure).toMatchObject({ code: 'call_failed', status: 402, detail: { charged: 'no' } })
    expect(failure.message).toContain('insufficient_funds')
    expect([moved(), client.spentToday]).toEqual([NOTHING, HANDED_OVER])
  })

  it('the settlement’s answer is lost: said to be charged, because the chain says so', async () => {
    const client = clientOf(sandbox.accounts(`${name} lost`))
    const moved = watchLedger(sandbox, client.address!)
    sandbox.faults.set('settle', 'die-after', { times: 1 })
    const failure = await failureOf(client.call(`${server.url}/echo`, { text: 'hello' }))
    const { charged, txId } = failure.detail as { charged: string; txId: string }
    expect([failure.code, charged]).toEqual(['call_failed', 'yes'])
    expect(moved()).toEqual(onePayment(10_000n, txId))
    expect(client.spentToday).toBe(0.01)
  })
})
