/** Our client pays our server; the official facilitator judges and settles, whichever of the network's ids it lists. */
import { expect, it } from 'vitest'
import { SvcClient, SvcError } from '../../src/client.js'
import { LONG_ID, NOTHING, onePayment, SHORT_ID, watchLedger } from '../support/official.js'
import { describeListings } from './listings.js'

describeListings('our client, our server, an official facilitator that lists $names', scene => {
  const clientOf = (name: string) => {
    const { accounts, algodUrl } = scene().sandbox
    return new SvcClient({ mnemonic: accounts(name).mnemonic, network: 'testnet', algodUrl })
  }

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
    const { listed, sandbox, facilitator, seller } = scene()
    const client = clientOf(sold)
    const moved = watchLedger(sandbox, client.address!)
    const asked = facilitator.asked.length
    const options = body ? {} : { method: 'GET' }
    const { requirements } = await client.quote(seller.url + path, body, options)
    expect(requirements!.accepts).toMatchObject([
      { network: SHORT_ID, amount: String(amount), extra: { feePayer: facilitator.sponsor } },
      { network: LONG_ID, amount: String(amount), extra: { feePayer: facilitator.sponsor } },
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
    const { sandbox, seller, runs } = scene()
    const client = clientOf('frozen')
    sandbox.freeze(client.address!, true)
    const moved = watchLedger(sandbox, client.address!)
    const before = runs()
    const failure = await client.call(`${seller.url}/echo`, {}).catch(error => error)
    expect(failure).toBeInstanceOf(SvcError)
    expect(failure).toMatchObject({ code: 'call_failed', status: 402, detail: { charged: 'no' } })
    expect(failure.message).toContain('asset 10458941 frozen in')
    // The seller has the signed payment, so it counts until the chain proves that it cannot land.
    expect([runs() - before, moved(), client.spentToday]).toEqual([0, NOTHING, 0.01])
  })
})
