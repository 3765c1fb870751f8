/** An agent that settles by a facilitator in its own process, on the sandbox's node, with balances before and after. */
import { describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { defineAgent, defineEndpoint, type ServeOptions, serve } from '../../src/index.js'
import type { ProtocolFacilitator } from '../../src/ports/protocol-facilitator.js'
import { listening, moved, rig } from '../facilitator/rig.js'
import { officialClient, receiptIn as officialReceiptIn } from '../support/official.js'
import { ask, open, pay, receiptIn, signFor } from '../support/seller.js'

const FEE = 2_000n
const PRICE = 10_000n

let runs = 0
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) })

async function selling(options: Partial<ServeOptions> = {}, facilitatorOptions = {}) {
  const own = await rig(facilitatorOptions)
  const { sandbox, facilitator } = own
  const seller = await open([work], { sandbox, facilitatorUrl: undefined, facilitator, ...options })
  return { ...own, seller, url: `${seller.url}/work` }
}

describe('a facilitator in process', () => {
  it('our client pays: one payment, one fee of the sponsor', async () => {
    const { sandbox, sponsor, url } = await selling()
    const client = new SvcClient({
      mnemonic: sandbox.wallet.mnemonic,
      network: 'testnet',
      algodUrl: sandbox.algodUrl,
      maxPrice: '$0.01',
      maxPerDay: '$1',
    })
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      expect(await client.call(url, {})).toMatchObject({ status: 200 })
    })
    expect([fees, paid]).toEqual([FEE, PRICE])
  })

  it('the official client pays', async () => {
    const { sandbox, sponsor, url } = await selling()
    const client = officialClient(sandbox, sandbox.wallet)
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      const answer = await client.pay(url, { method: 'POST', body: '{}' })
      expect(answer.status).toBe(200)
      expect(officialReceiptIn(answer)).toMatchObject({ success: true })
    })
    expect([fees, paid]).toEqual([FEE, PRICE])
  })

  it('is shown by health and the manifest without a secret, and stays open when the server closes', async () => {
    const { seller, facilitator, sponsor, pay: sign } = await selling()
    const health = await (await fetch(`${seller.url}/health`)).json()
    expect(health).toMatchObject({ ok: true, facilitator: `in-process:${sponsor.address}` })
    await seller.close()
    const { payload, requirements } = await sign()
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
  })

  it('does not let an agent start that is paid elsewhere, or that names a second facilitator', async () => {
    const { sandbox, facilitator } = await rig()
    const about = {
      name: 'A',
      handle: 'test-agent',
      description: 'Tests.',
      network: 'testnet',
      endpoints: [work],
    } as const
    const start = (payTo: string, options = {}) =>
      serve(defineAgent({ ...about, payTo }), { facilitator, ...options })
    expect(() => start(sandbox.wallet.address)).toThrow(
      expect.objectContaining({ code: 'invalid_facilitator' }),
    )
    const both = { facilitatorUrl: sandbox.url }
    expect(() => start(sandbox.seller.address, both)).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    )
    expect(() => start(sandbox.seller.address, { network: 'mainnet' })).toThrow(
      expect.objectContaining({ code: 'invalid_facilitator' }),
    )
    expect(() => start(sandbox.seller.address, { facilitator: {} })).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    )
  })
})

describe('a node that fails', () => {
  it('before the handler: 503, and nothing runs', async () => {
    const { seller, node, url } = await selling()
    const payment = await signFor(seller, url, { body: {} })
    node.set('simulate', 'die')
    const before = runs
    const answer = await ask(url, { body: {}, headers: payment })
    expect(answer.status).toBe(503)
    expect(runs).toBe(before)
    node.set('simulate', undefined)
    expect((await ask(url, { body: {}, headers: payment })).status).toBe(200)
  })

  it('as it submits: the answer comes once the chain has the payment, charged once', async () => {
    const { seller, sandbox, sponsor, node, url } = await selling()
    node.set('submit', 'die-after')
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      const answer = await pay(seller, url, { body: {} })
      expect(answer.status).toBe(200)
      expect(receiptIn(answer)).toMatchObject({ success: true })
    })
    expect([fees, paid]).toEqual([FEE, PRICE])
  })

  it('with the process, after it submitted: the next process does not deliver again', async () => {
    const { seller, sandbox, make, url } = await selling()
    const payment = await signFor(seller, url, { body: {} })
    expect((await ask(url, { body: {}, headers: payment })).status).toBe(200)
    const next = await open([work], { sandbox, facilitatorUrl: undefined, facilitator: make() })
    const answer = await ask(`${next.url}/work`, { body: {}, headers: payment })
    expect(answer.status).toBe(409)
    expect(await answer.json()).toMatchObject({ error: { code: 'payment_spent' } })
  })
})

describe('two servers without a shared store', () => {
  const ways = ['one facilitator', 'two facilitators', 'one over REST', 'two over REST'].flatMap(how => [
    [how, 'facilitator'] as const,
    [how, 'chain'] as const,
  ])
  it.each(ways)('and %s, confirmed by the %s: one payment is delivered for once', async (how, confirm) => {
    let arrived = 0
    let open2 = () => {}
    const both = new Promise<void>(resolve => {
      open2 = resolve
    })
    const slow = defineEndpoint({
      name: 'work',
      price: '$0.01',
      async handler() {
        if (++arrived === 2) open2()
        await both
        return {}
      },
    })
    const { sandbox, sponsor, facilitator, make } = await rig()
    const other = how.startsWith('one') ? facilitator : make()
    const sold = async (own: ProtocolFacilitator) =>
      open([slow], {
        sandbox,
        confirm,
        ...(how.endsWith('REST')
          ? { facilitatorUrl: await listening(own) }
          : { facilitatorUrl: undefined, facilitator: own }),
      })
    const first = await sold(facilitator)
    const second = await sold(other)
    const payment = await signFor(first, `${first.url}/work`, { body: {} })
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      const answers = await Promise.all(
        [first, second].map(({ url }) => ask(`${url}/work`, { body: {}, headers: payment })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
      const refused = await answers.find(({ status }) => status === 409)!.json()
      expect(refused).toMatchObject({
        error: { code: 'payment_spent', txId: expect.stringMatching(/^[A-Z2-7]{52}$/) },
      })
    })
    expect(arrived).toBe(2)
    expect([fees, paid]).toEqual([FEE, PRICE])
  })
})
