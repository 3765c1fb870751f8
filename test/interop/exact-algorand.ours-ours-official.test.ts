/** Our client pays our server; the official facilitator judges and settles, whichever of the network's ids it lists. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient, SvcError } from '../../src/client.js'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import {
  LISTINGS,
  NOTHING,
  nameOf,
  type OfficialFacilitator,
  officialFacilitator,
  onePayment,
  SHORT_ID,
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
]

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

describe.each(LISTINGS.map(listed => ({ listed, names: listed.map(nameOf).join(' and ') })))(
  'our client, our server, an official facilitator that lists $names',
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
    const clientOf = (name: string) =>
      new SvcClient({
        mnemonic: sandbox.accounts(`${names} ${name}`).mnemonic,
        network: 'testnet',
        algodUrl: sandbox.algodUrl,
      })

    it.each([
      {
        sold: 'a fixed price by POST',
        path: '/echo',
        body: { a: 1 },
        data: { echo: { a: 1 } },
        amount: 10_000n,
      },
      { sold: 'a function price by GET', path: '/square?n=7', data: { square: 49 }, amount: 70_000n },
    ])('$sold', async ({ sold, path, body, data, amount }) => {
      const client = clientOf(sold)
      const moved = watchLedger(sandbox, client.address!)
      const asked = facilitator.asked.length
      const options = body ? {} : { method: 'GET' }
      const { requirements } = await client.quote(seller.url + path, body, options)
      expect(requirements!.accepts).toMatchObject([
        { network: SHORT_ID, amount: String(amount), extra: { feePayer: facilitator.sponsor } },
      ])

      const result = await client.call(seller.url + path, body, options)
      expect(result).toEqual({
        data,
        status: 200,
        attempts: 1,
        payment: {
          txId: result.payment!.txId,
          amount: String(amount),
          usd: Number(amount) / 1e6,
          asset: '10458941',
        },
      })
      expect(moved()).toEqual(onePayment(amount, result.payment!.txId))
      // It is spoken to in its own spelling, in both places; the first that it lists will do.
      const networks = [listed[0], listed[0]]
      expect(facilitator.asked.slice(asked)).toEqual([
        { path: '/verify', networks },
        { path: '/settle', networks },
      ])
      expect(seller.ended.at(-1)).toMatchObject({ final: 'settled', mismatch: undefined })
    })

    it('refuses a payer who cannot pay, before any work', async () => {
      const client = clientOf('frozen')
      sandbox.freeze(client.address!, true)
      const moved = watchLedger(sandbox, client.address!)
      const runs = handled
      const failure = await client.call(`${seller.url}/echo`, {}).catch(error => error)
      expect(failure).toBeInstanceOf(SvcError)
      expect(failure).toMatchObject({ code: 'call_failed', status: 402, detail: { charged: 'no' } })
      expect(failure.message).toContain('asset 10458941 frozen in')
      expect([handled - runs, moved(), client.spentToday]).toEqual([0, NOTHING, 0])
    })
  },
)
