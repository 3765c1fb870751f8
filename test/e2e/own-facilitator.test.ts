/** An agent that settles by a facilitator in its own process, on the sandbox's node, with balances before and after. */
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { defineAgent, defineEndpoint, type EndpointDef, type ServeOptions, serve } from '../../src/index.js'
import type { ProtocolFacilitator } from '../../src/ports/facilitator.js'
import { listening, moved, rig } from '../facilitator/rig.js'
import { gated } from '../support/gate.js'
import { listen } from '../support/listen.js'
import { officialClient, receiptIn as officialReceiptIn } from '../support/official.js'
import { ask, open, pay, receiptIn, signFor } from '../support/seller.js'
import { bound, presented, quoteAt, sponsorship, wallet } from '../support/wallet.js'

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
  it('before the handler: 503, nothing runs, and strangers are not told where the node is', async () => {
    const { seller, node, url } = await selling()
    const payment = await signFor(seller, url, { body: {} })
    node.set('simulate', 'die')
    const before = runs
    const answer = await ask(url, { body: {}, headers: payment })
    expect(answer.status).toBe(503)
    expect(runs).toBe(before)
    expect(await (await fetch(`${seller.url}/health`)).json()).toMatchObject({
      facilitators: [{ url: expect.any(String), answered: true, lastError: 'verify: node_unavailable' }],
    })
    node.set('simulate', undefined)
    expect((await ask(url, { body: {}, headers: payment })).status).toBe(200)
  })

  it('from the start: the server is not ready until the node answers', async () => {
    const { seller, node } = await selling()
    node.set('params', { status: 502, text: '' })
    const ready = async () => (await fetch(`${seller.url}/ready`)).json()
    expect(await ready()).toMatchObject({ ok: false, why: [{ code: 'facilitator_unavailable' }] })
    node.set('params', undefined)
    expect(await ready()).toEqual({ ok: true })
    // A node that fails later is the next call's matter: a restarted replica would not sell more.
    node.set('params', { status: 502, text: '' })
    expect(await ready()).toEqual({ ok: true })
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

describe('one boolean of a facilitator does not lose an answer that was paid for', () => {
  it("where it lies, confirmed by the 'chain'", async () => {
    const { sandbox, facilitator } = await rig()
    const lying: ProtocolFacilitator = {
      ...facilitator,
      async settle(payload, requirements) {
        const { network } = await facilitator.settle(payload, requirements)
        return { success: false, transaction: '', network, errorReason: 'x', submittedBefore: true }
      },
    }
    const seller = await open([work], {
      sandbox,
      facilitatorUrl: undefined,
      facilitator: lying,
      confirm: 'chain',
    })
    expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
  })

  it('where a hop sends each question twice', async () => {
    const { sandbox, sponsor, facilitator } = await rig()
    const facilitatorUrl = await twice(await listening(facilitator))
    const seller = await open([work], { sandbox, facilitatorUrl })
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
    })
    expect([fees, paid]).toEqual([FEE, PRICE])
  })

  it('where a proxy before the node sends each submission twice', async () => {
    const { seller, node, url } = await selling()
    node.set('submit', 'twice')
    expect((await pay(seller, url, { body: {} })).status).toBe(200)
  })
})

/** A hop before `url` that answers with the second reply. */
function twice(url: string): Promise<string> {
  return listen(async (request, response) => {
    const body = request.method === 'POST' ? await text(request) : undefined
    const headers = Object.fromEntries(
      ['content-type', 'svc-asker'].map(name => [name, String(request.headers[name])]),
    )
    const forward = () => fetch(url + request.url, { method: request.method, body, headers })
    await (await forward()).text()
    const reply = await forward()
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(await reply.text())
  })
}

const FACILITATORS = ['one in process', 'two in process', 'one over REST', 'two over REST'] as const

async function soldBy(
  endpoint: EndpointDef,
  own: ProtocolFacilitator,
  how: (typeof FACILITATORS)[number],
  options: Parameters<typeof open>[1],
) {
  const settling = how.endsWith('REST')
    ? { facilitatorUrl: await listening(own) }
    : { facilitatorUrl: undefined, facilitator: own }
  const seller = await open([endpoint], { ...options, ...settling })
  return { seller, url: `${seller.url}/${endpoint.name}` }
}

describe('two servers without a shared store', () => {
  const ways = FACILITATORS.flatMap(how => [[how, 'facilitator'] as const, [how, 'chain'] as const])
  it.each(ways)('and facilitators: %s, confirmed by the %s', async (how, confirm) => {
    const { sandbox, sponsor, facilitator, make } = await rig()
    const sold = async (own: ProtocolFacilitator) => {
      const { endpoint, ...door } = gated()
      return { ...door, ...(await soldBy(endpoint, own, how, { sandbox, confirm })) }
    }
    const first = await sold(facilitator)
    const second = await sold(how.startsWith('one') ? facilitator : make())
    const headers = await signFor(first.seller, first.url, { body: {} })
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      const asked = [first, second].map(({ url }) => ask(url, { body: {}, headers }))
      await Promise.all([first.entered(), second.entered()])
      first.open()
      expect((await asked[0]!).status).toBe(200)
      second.open()
      const late = await asked[1]!
      // What nobody can say decides the chain, and it does not say for whom a payment landed.
      const isToldApart = confirm === 'facilitator' && how !== 'two over REST'
      expect(late.status).toBe(isToldApart ? 409 : 200)
      if (isToldApart) {
        const error = { code: 'payment_spent', txId: expect.stringMatching(/^[A-Z2-7]{52}$/) }
        expect(await late.json()).toMatchObject({ error })
      }
    })
    expect([fees, paid]).toEqual([FEE, PRICE])
  })
})

describe('two sellers who are paid in one group', () => {
  it.each(FACILITATORS)('both deliver, with facilitators of one sponsor: %s', async how => {
    const { sandbox, sponsor, make } = await rig()
    const payTos = [sandbox.seller.address, sandbox.accounts('another seller').address]
    const shared = make({ payTo: payTos })
    const sold = async (payTo: string) => {
      const { endpoint, ...door } = gated()
      const own = how.startsWith('one') ? shared : make({ payTo: [payTo] })
      return { ...door, ...(await soldBy(endpoint, own, how, { sandbox, about: { payTo } })) }
    }
    const sellers = [await sold(payTos[0]!), await sold(payTos[1]!)]
    const payer = wallet(sandbox, sandbox.wallet.mnemonic)
    // The sponsor pays for one payment, and the payer for the other.
    const paid = payTos.map((payTo, at) => payer.send(payTo, Number(PRICE), { feeMicroAlgos: 1_000 * at }))
    const steps = bound([sponsorship(sandbox, sponsor.address, Number(FEE)), ...paid])
    const usdc = () => payTos.map(address => sandbox.balance(address).usdc ?? 0n)
    const before = usdc()
    const asked = sellers.map(async ({ seller, url }, at) => {
      const headers = presented(steps, at + 1, await quoteAt(seller, '/slow'))
      return ask(url, { body: {}, headers })
    })
    await Promise.all(sellers.map(({ entered }) => entered()))
    for (const [at, { open }] of sellers.entries()) {
      open()
      expect((await asked[at]!).status).toBe(200)
    }
    expect(usdc().map((now, at) => now - before[at]!)).toEqual([PRICE, PRICE])
  })
})
