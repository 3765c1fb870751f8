/** The official client pays our server; the official facilitator judges and settles. Only what is in between is ours. */
import { expect, it } from 'vitest'
import { closing } from '../support/closing.js'
import {
  LONG_ID,
  NOTHING,
  nameOf,
  officialClient,
  onePayment,
  quoteIn,
  receiptIn,
  SHORT_ID,
  statusIn,
  watchLedger,
} from '../support/official.js'
import { describeListings } from './listings.js'

const posted: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"text":"hello"}',
}

describeListings('the official client, our server, an official facilitator that lists $names', scene => {
  const clientOf = (name: string, network = SHORT_ID) => {
    const { sandbox } = scene()
    return officialClient(sandbox, sandbox.accounts(name), network)
  }
  const settles = () => scene().facilitator.asked.filter(({ path }) => path === '/settle').length

  const sales = [
    { sold: 'a fixed price by POST', path: '/echo', init: posted, amount: 10_000n, weight: 3 },
    { sold: 'a function price by GET', path: '/square?n=7', init: undefined, amount: 70_000n, weight: 2.5 },
  ]
  const spelt = [SHORT_ID, LONG_ID].flatMap(network =>
    sales.map(sale => ({ ...sale, network, as: nameOf(network) })),
  )
  it.each(spelt)(
    '$sold, to a client that knows only $as',
    async ({ sold, path, init, amount, weight, network }) => {
      const { sandbox, facilitator, listed, seller } = scene()
      const client = clientOf(`${sold} ${network}`, network)
      const asked = facilitator.asked.length
      const moved = watchLedger(sandbox, client.address)
      const extra = { feePayer: facilitator.sponsor, tag: 'x402-global-challenge', weight, beta: true }
      const quoted = quoteIn(await fetch(seller.url + path, init))
      expect(quoted.accepts).toMatchObject([
        { network: SHORT_ID, amount: String(amount), extra },
        { network: LONG_ID, amount: String(amount), extra },
      ])
      const paid = await client.pay(seller.url + path, init)
      expect([paid.status, await statusIn(paid.clone())]).toEqual([200, 'settled'])
      const receipt = receiptIn(paid)
      expect(receipt).toMatchObject({
        success: true,
        network,
        payer: client.address,
        amount: String(amount),
      })
      expect(moved()).toEqual(onePayment(amount, receipt.transaction))
      // The facilitator is asked in its own spelling, whatever the client paid in.
      const networks = [listed[0], listed[0]]
      expect(facilitator.asked.slice(asked)).toEqual(['/verify', '/settle'].map(path => ({ path, networks })))
      expect(facilitator.requirements.slice(asked).map(one => one.extra)).toEqual([extra, extra])
    },
  )

  it('the same payment again: 409, settled once', async () => {
    const { sandbox, seller, runs } = scene()
    const client = clientOf('replayer')
    const moved = watchLedger(sandbox, client.address)
    const before = { settles: settles(), runs: runs() }
    const paid = await client.pay(`${seller.url}/echo`, posted)
    const { transaction } = receiptIn(paid)
    const again = await fetch(client.sent.at(-1)!)
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ error: { code: 'payment_spent', txId: transaction } })
    expect([settles() - before.settles, runs() - before.runs]).toEqual([1, 1])
    expect(moved()).toEqual(onePayment(10_000n, transaction))
  })

  it('the same payment at another replica that shares nothing: the ledger’s no is a 409, not a new quote', async () => {
    const { sandbox, seller, runs } = scene()
    const client = clientOf('wanderer')
    const moved = watchLedger(sandbox, client.address)
    const stranger = closing(await seller.replica())
    const paid = await client.pay(`${seller.url}/echo`, posted)
    const before = runs()
    const payment = client.sent.at(-1)!.headers.get('payment-signature')!
    const headers = { 'content-type': 'application/json', 'payment-signature': payment }
    const again = await fetch(`${stranger.url}/echo`, { ...posted, headers })
    expect(again.status).toBe(409)
    expect(again.headers.get('payment-required')).toBeNull()
    expect([runs() - before, moved()]).toEqual([0, onePayment(10_000n, receiptIn(paid).transaction)])
  })

  it('a failed handler costs nothing and settles nothing', async () => {
    const { sandbox, seller } = scene()
    const client = clientOf('unlucky')
    const moved = watchLedger(sandbox, client.address)
    const before = settles()
    const failed = await client.pay(`${seller.url}/broken`, posted)
    expect([failed.status, failed.headers.get('payment-response')]).toEqual([500, null])
    expect([settles() - before, moved()]).toEqual([0, NOTHING])
  })

  it('a payer who cannot pay: told the official reason, nothing run', async () => {
    const { sandbox, seller, runs } = scene()
    const client = clientOf('frozen')
    sandbox.freeze(client.address, true)
    const moved = watchLedger(sandbox, client.address)
    const before = runs()
    const refused = await client.pay(`${seller.url}/echo`, posted)
    expect([refused.status, await statusIn(refused.clone())]).toEqual([402, 'payment_required'])
    expect(quoteIn(refused).error).toMatch(/^invalid_exact_avm_simulation_failed: .*asset 10458941 frozen in/)
    expect([runs() - before, moved()]).toEqual([0, NOTHING])
  })
})
