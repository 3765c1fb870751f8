/** The official client pays our server; the sandbox is the facilitator. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint, SvcError } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { gated } from '../support/gate.js'
import {
  LONG_ID,
  NOTHING,
  officialClient,
  onePayment,
  quoteIn,
  receiptIn,
  SHORT_ID,
  statusIn,
  watchLedger,
} from '../support/official.js'
import { openSeller, type Seller } from '../support/seller.js'

const textInput = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string' } },
} as const

let handled = 0
const slow = gated()
const endpoints = [
  defineEndpoint({
    name: 'echo',
    description: 'Says it again.',
    price: '$0.01',
    input: textInput,
    handler({ body, payment }) {
      handled++
      return { echo: body.text, payment }
    },
  }),
  defineEndpoint({
    name: 'letters',
    price: ({ body: { text = '' } }) => `$${(text.length * 0.001).toFixed(3)}`,
    input: textInput,
    handler: ({ body, payment }) => ({ letters: body.text.length, usd: payment.usd }),
  }),
  defineEndpoint({
    name: 'square',
    method: 'GET',
    price: '$0.002',
    input: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
    handler: ({ query }) => ({ square: Number(query.n) ** 2 }),
  }),
  defineEndpoint({
    name: 'dollar',
    method: 'GET',
    price: ({ query }) => (query.much ? '$1' : '$0.000001'),
    handler: () => 'thanks',
  }),
  defineEndpoint({
    name: 'broken',
    price: '$0.01',
    handler() {
      handled++
      throw new SvcError('no model today', 'model_down', 502)
    },
  }),
  slow.endpoint,
  defineEndpoint({
    name: 'feed',
    subscription: { price: '$0.50', period: '1h' },
    handler: () => ({ news: 'none' }),
  }),
]

let sandbox: Sandbox
let seller: Seller
beforeAll(async () => {
  sandbox = await startSandbox()
  seller = await openSeller(endpoints, { sandbox, idempotency: {} })
})
afterAll(async () => {
  await seller.close()
  await sandbox.close()
})

const posted = (body: unknown, headers?: Record<string, string>): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

describe('the official client pays our server', () => {
  it.each([
    { sold: 'a fixed price by POST', path: '/echo', body: { text: 'hello' }, amount: 10_000n },
    { sold: 'a function price by POST', path: '/letters', body: { text: 'seven s' }, amount: 7_000n },
    { sold: 'a fixed price by GET', path: '/square?n=12', amount: 2_000n },
    { sold: 'a function price by GET', path: '/dollar?much=1', amount: 1_000_000n },
    { sold: 'the smallest price there is', path: '/dollar', amount: 1n },
  ])('$sold', async ({ sold, path, body, amount }) => {
    const client = officialClient(sandbox, sandbox.accounts(sold), SHORT_ID)
    const moved = watchLedger(sandbox, client.address)
    const init = body && posted(body)

    const quoted = await fetch(seller.url + path, init)
    expect(quoted.status).toBe(402)
    expect(quoteIn(quoted)).toEqual({
      x402Version: 2,
      error: 'Payment required',
      resource: {
        url: `${seller.url}${path.split('?')[0]}`,
        description: expect.any(String),
        mimeType: 'application/json',
        serviceName: 'Test agent',
      },
      accepts: [SHORT_ID, LONG_ID].map(network => ({
        scheme: 'exact',
        network,
        amount: String(amount),
        asset: '10458941',
        payTo: sandbox.seller.address,
        maxTimeoutSeconds: 300,
        extra: { feePayer: sandbox.feePayer },
      })),
      extensions: {
        bazaar: expect.any(Object),
        'payment-identifier': expect.any(Object),
        'sign-in-with-x': expect.any(Object),
      },
    })
    expect(moved()).toEqual(NOTHING)

    const paid = await client.pay(seller.url + path, init)
    expect(paid.status).toBe(200)
    const receipt = receiptIn(paid)
    expect(receipt).toEqual({
      success: true,
      transaction: expect.stringMatching(/^[A-Z2-7]{52}$/),
      network: SHORT_ID,
      payer: client.address,
      txId: receipt.transaction,
      amount: String(amount),
      asset: '10458941',
    })
    expect(moved()).toEqual(onePayment(amount, receipt.transaction))
    expect(await statusIn(paid)).toBe('settled')
    expect(client.sent).toHaveLength(2)
    expect(seller.ended.at(-1)).toMatchObject({
      final: 'settled',
      charged: 'yes',
      txId: receipt.transaction,
      payer: client.address,
      mismatch: undefined,
    })
  })

  it('sells a window, which later calls show the key of', async () => {
    const client = officialClient(sandbox, sandbox.accounts('subscriber'))
    const moved = watchLedger(sandbox, client.address)
    const bought = await client.pay(`${seller.url}/feed`, { method: 'POST' })
    const key = bought.headers.get('x-svc-subscription')!
    const once = onePayment(500_000n, receiptIn(bought).transaction)
    expect([bought.status, moved()]).toEqual([200, once])

    const covered = await client.pay(`${seller.url}/feed`, {
      method: 'POST',
      headers: { 'x-svc-subscription': key },
    })
    expect([covered.status, await covered.json()]).toEqual([200, { news: 'none' }])
    expect(moved()).toEqual(once)
  })

  it('is charged once for one Idempotency-Key, whatever it signs', async () => {
    const client = officialClient(sandbox, sandbox.accounts('repeater'))
    const moved = watchLedger(sandbox, client.address)
    const call = () =>
      client.pay(`${seller.url}/echo`, posted({ text: 'again' }, { 'idempotency-key': 'once-only' }))
    const first = await call()
    const second = await call()
    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(receiptIn(second)).toEqual(receiptIn(first))
    expect(await second.json()).toEqual(await first.json())
    expect(moved()).toEqual(onePayment(10_000n, receiptIn(first).transaction))
  })

  it('pays for ten calls at once, each for itself', async () => {
    const client = officialClient(sandbox, sandbox.accounts('crowd'))
    const moved = watchLedger(sandbox, client.address)
    // At ten prices, because the official client's equal payments within one millisecond are one transaction.
    const calls = Array.from({ length: 10 }, (_, n) =>
      client.pay(`${seller.url}/letters`, posted({ text: 'x'.repeat(n + 1) })),
    )
    const answers = await Promise.all(calls)
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await Promise.all(answers.map(answer => answer.json()))).toMatchObject(
      Array.from({ length: 10 }, (_, n) => ({ letters: n + 1 })),
    )
    expect(moved()).toMatchObject({ paid: 55_000n, received: 55_000n })
    expect(new Set(moved().txIds)).toEqual(new Set(answers.map(answer => receiptIn(answer).transaction)))
  })
})

describe('our server refuses the official client', () => {
  it.each([
    { who: 'a payer who has too little', credit: { usdc: 9_999n }, reason: 'underflow on subtracting 10000' },
    {
      who: 'a payer who never opted in',
      credit: { microAlgos: 1_000_000n },
      reason: 'asset 10458941 missing from',
    },
    { who: 'a payer who never existed', credit: undefined, reason: 'asset 10458941 missing from' },
  ])('$who: told why, nothing run, nothing moved', async ({ who, credit, reason }) => {
    // An account of another sandbox is one that this ledger has never heard of.
    const elsewhere = await startSandbox({ seed: who })
    const account = elsewhere.wallet
    await elsewhere.close()
    if (credit) sandbox.fund(account.address, credit)
    const client = officialClient(sandbox, account)
    const moved = watchLedger(sandbox, client.address)
    const runs = handled

    const refused = await client.pay(`${seller.url}/echo`, posted({ text: 'please' }))
    expect(refused.status).toBe(402)
    const { error, accepts } = quoteIn(refused)
    expect(error).toContain('invalid_exact_avm_simulation_failed')
    expect(error).toContain(reason)
    expect(accepts.map(({ network }) => network)).toEqual([SHORT_ID, LONG_ID])
    expect(refused.headers.get('payment-response')).toBeNull()
    expect(await statusIn(refused)).toBe('payment_required')
    expect([handled - runs, moved()]).toEqual([0, NOTHING])
    expect(client.sent).toHaveLength(2)
  })

  it('a failed handler costs nothing, and the same payment can still be used', async () => {
    const client = officialClient(sandbox, sandbox.accounts('unlucky'))
    const moved = watchLedger(sandbox, client.address)
    const failed = await client.pay(`${seller.url}/broken`, posted({}))
    expect(failed.status).toBe(502)
    expect(await failed.json()).toMatchObject({ error: { code: 'model_down' } })
    expect(failed.headers.get('payment-response')).toBeNull()
    expect(moved()).toEqual(NOTHING)

    const payment = client.sent.at(-1)!.headers.get('payment-signature')!
    const reused = await fetch(
      `${seller.url}/echo`,
      posted({ text: 'then this' }, { 'payment-signature': payment }),
    )
    expect(reused.status).toBe(200)
    expect(moved()).toEqual(onePayment(10_000n, receiptIn(reused).transaction))
  })

  it('invalid input costs nothing, and is said before the price', async () => {
    const client = officialClient(sandbox, sandbox.accounts('careless'))
    const moved = watchLedger(sandbox, client.address)
    const refused = await client.pay(`${seller.url}/echo`, posted({ text: 7 }))
    expect([refused.status, client.sent.length, moved()]).toEqual([400, 1, NOTHING])
  })

  it('a refusal to settle is a 402 with a receipt that says so', async () => {
    const client = officialClient(sandbox, sandbox.accounts('unsettled'))
    const moved = watchLedger(sandbox, client.address)
    sandbox.faults.set('settle', 'refuse', { times: 1 })
    const refused = await client.pay(`${seller.url}/echo`, posted({ text: 'hello' }))
    expect(refused.status).toBe(402)
    expect(receiptIn(refused)).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
    expect(await statusIn(refused)).toBe('settle_failed')
    expect([client.sent.length, moved()]).toEqual([2, NOTHING])
  })

  it('the same payment again: 409, and nobody is asked to settle it', async () => {
    const client = officialClient(sandbox, sandbox.accounts('replayer'))
    const moved = watchLedger(sandbox, client.address)
    const paid = await client.pay(`${seller.url}/echo`, posted({ text: 'once' }))
    const { transaction } = receiptIn(paid)
    const runs = handled

    // Left standing, these are the proof that neither was asked anything.
    sandbox.faults.set('verify', '500', { times: 1 })
    sandbox.faults.set('settle', '500', { times: 1 })
    const again = await fetch(client.sent.at(-1)!)
    expect(sandbox.faults.list().map(({ stage, times }) => [stage, times])).toEqual([
      ['verify', 1],
      ['settle', 1],
    ])
    sandbox.faults.clear()

    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ error: { code: 'payment_spent', txId: transaction } })
    expect(again.headers.get('payment-required')).toBeNull()
    expect([handled - runs, moved()]).toEqual([0, onePayment(10_000n, transaction)])
  })

  it('the same payment meanwhile: 409, and the first is served', async () => {
    const client = officialClient(sandbox, sandbox.accounts('hasty'))
    const moved = watchLedger(sandbox, client.address)
    const first = client.pay(`${seller.url}/slow`, posted({}))
    await slow.entered()
    const meanwhile = await fetch(client.sent.at(-1)!)
    expect(meanwhile.status).toBe(409)
    expect(await meanwhile.json()).toMatchObject({ error: { code: 'payment_in_use' } })
    slow.open()
    const served = await first
    expect(served.status).toBe(200)
    expect(moved()).toEqual(onePayment(10_000n, receiptIn(served).transaction))
  })

  it('a payment for less than the price of the body that it comes with', async () => {
    const client = officialClient(sandbox, sandbox.accounts('cheapskate'))
    const moved = watchLedger(sandbox, client.address)
    sandbox.faults.set('verify', 'refuse', { times: 1 })
    await client.pay(`${seller.url}/letters`, posted({ text: 'a' }))
    const payment = client.sent.at(-1)!.headers.get('payment-signature')!
    const refused = await fetch(
      `${seller.url}/letters`,
      posted({ text: 'a much longer text' }, { 'payment-signature': payment }),
    )
    expect(refused.status).toBe(402)
    expect(quoteIn(refused).accepts[0]!.amount).toBe('18000')
    expect(moved()).toEqual(NOTHING)
  })
})
