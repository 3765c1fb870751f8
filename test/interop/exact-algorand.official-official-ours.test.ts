/** The official client pays official servers; the sandbox is the facilitator that both of them believe. */
import { HTTPFacilitatorClient } from '@x402/core/server'
import { declareDiscoveryExtension, validateDiscoveryExtension, withBazaar } from '@x402/extensions/bazaar'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import {
  LONG_ID,
  NOTHING,
  nameOf,
  OFFICIAL_SERVERS,
  type OfficialServer,
  type OfficialServerName,
  officialClient,
  onePayment,
  quoteIn,
  receiptIn,
  SHORT_ID,
  statusIn,
  watchLedger,
} from '../support/official.js'

let worked = 0
const echo = {
  price: '$0.01',
  extensions: declareDiscoveryExtension({
    bodyType: 'json',
    input: { text: 'hello' },
    inputSchema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  }) as Record<string, unknown>,
  work({ text }: Record<string, unknown>) {
    worked++
    return { body: { echo: text } }
  },
}
const hello: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ text: 'hello' }),
}

let sandbox: Sandbox
beforeAll(async () => {
  // The official facilitator client prints every EXTENSION-RESPONSES that it gets.
  vi.spyOn(console, 'log').mockImplementation(() => {})
  sandbox = await startSandbox()
})
afterAll(async () => {
  vi.restoreAllMocks()
  await sandbox.close()
})

describe.each(
  (Object.keys(OFFICIAL_SERVERS) as OfficialServerName[]).flatMap(name =>
    [SHORT_ID, LONG_ID].map(network => ({ name, network, id: nameOf(network) })),
  ),
)('an official $name server that quotes $id, over the sandbox', ({ name, network, id }) => {
  let server: OfficialServer
  beforeAll(async () => {
    const { facilitatorUrl, seller } = sandbox
    server = await OFFICIAL_SERVERS[name]({
      facilitatorUrl,
      payTo: seller.address,
      network,
      routes: { 'POST /echo': echo },
    })
  })
  afterAll(() => server.close())

  it('is paid once', async () => {
    const client = officialClient(sandbox, sandbox.accounts(`${name} ${id}`))
    const moved = watchLedger(sandbox, client.address)
    const paid = await client.pay(`${server.url}/echo`, hello)
    expect([paid.status, await statusIn(paid.clone())]).toEqual([200, 'settled'])
    expect(await paid.json()).toEqual({ echo: 'hello' })
    const receipt = receiptIn(paid)
    expect(receipt).toMatchObject({ success: true, network, payer: client.address })
    expect(moved()).toEqual(onePayment(10_000n, receipt.transaction))

    const runs = worked
    const again = await fetch(client.sent.at(-1)!)
    expect(again.status).toBe(402)
    expect(quoteIn(again).error).toBe('invalid_exact_avm_simulation_failed')
    expect([worked - runs, moved()]).toEqual([0, onePayment(10_000n, receipt.transaction)])
  })

  it('is told of a payer who cannot pay', async () => {
    const account = sandbox.accounts(`${name} ${id} frozen`)
    sandbox.freeze(account.address, true)
    const client = officialClient(sandbox, account)
    const moved = watchLedger(sandbox, account.address)
    const runs = worked
    const refused = await client.pay(`${server.url}/echo`, hello)
    expect(refused.status).toBe(402)
    expect(quoteIn(refused).error).toBe('invalid_exact_avm_simulation_failed')
    expect([worked - runs, moved()]).toEqual([0, NOTHING])
  })

  it('is told of a settlement that was refused', async () => {
    const client = officialClient(sandbox, sandbox.accounts(`${name} ${id} unsettled`))
    const moved = watchLedger(sandbox, client.address)
    sandbox.faults.set('settle', 'refuse', { times: 1 })
    const refused = await client.pay(`${server.url}/echo`, hello)
    expect([refused.status, await statusIn(refused.clone())]).toEqual([402, 'settle_failed'])
    expect(receiptIn(refused)).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
    expect(moved()).toEqual(NOTHING)
  })

  it('is found in the sandbox’s Bazaar by the official client of it', async () => {
    const bazaar = withBazaar(new HTTPFacilitatorClient({ url: sandbox.facilitatorUrl })).extensions.bazaar
    const { items } = await bazaar.listResources({ type: 'http', limit: 100 })
    const found = items.find(({ resource }) => resource === `${server.url}/echo`)!
    expect(found).toMatchObject({ type: 'http', x402Version: 2, accepts: [{ network, amount: '10000' }] })
    const declared = found.extensions!.bazaar as Parameters<typeof validateDiscoveryExtension>[0]
    expect(validateDiscoveryExtension(declared)).toEqual({ valid: true })
    expect(declared.info.input).toMatchObject({ type: 'http', method: 'POST', body: { text: 'hello' } })
  })
})
