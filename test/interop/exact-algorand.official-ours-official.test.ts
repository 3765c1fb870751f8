/** The official client pays our server; the official facilitator judges and settles. Only what is in between is ours. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import {
  LISTINGS,
  NOTHING,
  nameOf,
  type OfficialFacilitator,
  officialClient,
  officialFacilitator,
  onePayment,
  quoteIn,
  receiptIn,
  SHORT_ID,
  statusIn,
  watchLedger,
} from '../support/official.js'
import { openSeller, type Seller } from '../support/seller.js'

let handled = 0
const endpoints = [
  defineEndpoint({
    name: 'echo',
    price: '$0.01',
    handler({ body }) {
      handled++
      return { echo: body }
    },
  }),
  defineEndpoint({
    name: 'square',
    method: 'GET',
    price: ({ query }) => `$0.0${query.n}`,
    handler: ({ query }) => ({ square: Number(query.n) ** 2 }),
  }),
  defineEndpoint({
    name: 'broken',
    price: '$0.01',
    handler() {
      throw new Error('no model today')
    },
  }),
]
const posted: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"text":"hello"}',
}

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

describe.each(LISTINGS.map(listed => ({ listed, names: listed.map(nameOf).join(' and ') })))(
  'the official client, our server, an official facilitator that lists $names',
  ({ listed, names }) => {
    let facilitator: OfficialFacilitator
    let seller: Seller
    beforeAll(async () => {
      facilitator = await officialFacilitator(sandbox, listed)
      seller = await openSeller(endpoints, { sandbox, facilitatorUrl: facilitator.url })
    })
    afterAll(async () => {
      await seller.close()
      await facilitator.close()
    })
    const clientOf = (name: string) => officialClient(sandbox, sandbox.accounts(`${names} ${name}`), SHORT_ID)
    const askedFor = (path: string) => facilitator.asked.filter(asked => asked.path === path).length

    it.each([
      { sold: 'a fixed price by POST', path: '/echo', init: posted, amount: 10_000n },
      { sold: 'a function price by GET', path: '/square?n=7', init: undefined, amount: 70_000n },
    ])('$sold', async ({ sold, path, init, amount }) => {
      const client = clientOf(sold)
      const moved = watchLedger(sandbox, client.address)
      const quoted = quoteIn(await fetch(seller.url + path, init))
      expect(quoted.accepts).toMatchObject([
        { network: SHORT_ID, amount: String(amount), extra: { feePayer: facilitator.sponsor } },
      ])
      const paid = await client.pay(seller.url + path, init)
      expect([paid.status, await statusIn(paid.clone())]).toEqual([200, 'settled'])
      const receipt = receiptIn(paid)
      expect(receipt).toMatchObject({
        success: true,
        network: SHORT_ID,
        payer: client.address,
        amount: String(amount),
      })
      expect(moved()).toEqual(onePayment(amount, receipt.transaction))
    })

    it('the same payment again: 409, settled once', async () => {
      const client = clientOf('replayer')
      const moved = watchLedger(sandbox, client.address)
      const [settles, runs] = [askedFor('/settle'), handled]
      const paid = await client.pay(`${seller.url}/echo`, posted)
      const { transaction } = receiptIn(paid)
      const again = await fetch(client.sent.at(-1)!)
      expect(again.status).toBe(409)
      expect(await again.json()).toMatchObject({ error: { code: 'payment_spent', txId: transaction } })
      expect([askedFor('/settle') - settles, handled - runs]).toEqual([1, 1])
      expect(moved()).toEqual(onePayment(10_000n, transaction))
    })

    it('the same payment at another replica that shares nothing: the ledger’s no is a 409, not a new quote', async () => {
      const client = clientOf('wanderer')
      const moved = watchLedger(sandbox, client.address)
      const stranger = await openSeller(endpoints, { sandbox, facilitatorUrl: facilitator.url })
      const paid = await client.pay(`${seller.url}/echo`, posted)
      const runs = handled
      const payment = client.sent.at(-1)!.headers.get('payment-signature')!
      const headers = { 'content-type': 'application/json', 'payment-signature': payment }
      const again = await fetch(`${stranger.url}/echo`, { ...posted, headers })
      await stranger.close()
      expect(again.status).toBe(409)
      expect(again.headers.get('payment-required')).toBeNull()
      expect([handled - runs, moved()]).toEqual([0, onePayment(10_000n, receiptIn(paid).transaction)])
    })

    it('a failed handler costs nothing and settles nothing', async () => {
      const client = clientOf('unlucky')
      const moved = watchLedger(sandbox, client.address)
      const settles = askedFor('/settle')
      const failed = await client.pay(`${seller.url}/broken`, posted)
      expect([failed.status, failed.headers.get('payment-response')]).toEqual([500, null])
      expect([askedFor('/settle') - settles, moved()]).toEqual([0, NOTHING])
    })

    it('a payer who cannot pay: told the official reason, nothing run', async () => {
      const client = clientOf('frozen')
      sandbox.freeze(client.address, true)
      const moved = watchLedger(sandbox, client.address)
      const runs = handled
      const refused = await client.pay(`${seller.url}/echo`, posted)
      expect([refused.status, await statusIn(refused.clone())]).toEqual([402, 'payment_required'])
      expect(quoteIn(refused).error).toMatch(
        /^invalid_exact_avm_simulation_failed: .*asset 10458941 frozen in/,
      )
      expect([handled - runs, moved()]).toEqual([0, NOTHING])
    })
  },
)
