/** Our client among strangers: it pays official servers over the official facilitator. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import {
  LONG_ID,
  nameOf,
  OFFICIAL_SERVERS,
  type OfficialFacilitator,
  type OfficialServer,
  type OfficialServerName,
  officialFacilitator,
  onePayment,
  SHORT_ID,
  watchLedger,
} from '../support/official.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

describe.each(
  (Object.keys(OFFICIAL_SERVERS) as OfficialServerName[]).flatMap(name =>
    [SHORT_ID, LONG_ID].map(network => ({ name, network, id: nameOf(network) })),
  ),
)('our client pays an official $name server that quotes $id', ({ name, network, id }) => {
  let facilitator: OfficialFacilitator
  let server: OfficialServer
  beforeAll(async () => {
    facilitator = await officialFacilitator(sandbox, [network])
    server = await OFFICIAL_SERVERS[name]({
      facilitatorUrl: facilitator.url,
      payTo: sandbox.seller.address,
      network,
      routes: {
        'POST /echo': { price: '$0.01', work: input => ({ body: { echo: input } }) },
      },
    })
  })
  afterAll(async () => {
    await server.close()
    await facilitator.close()
  })

  it('ten calls at once, ten payments of equal terms', async () => {
    const { mnemonic, address } = sandbox.accounts(`${name} ${id}`)
    const client = new SvcClient({
      mnemonic,
      network: 'testnet',
      algodUrl: sandbox.algodUrl,
      maxPrice: '$0.01',
    })
    const moved = watchLedger(sandbox, address)
    const calls = Array.from({ length: 10 }, (_, n) => client.call(`${server.url}/echo`, { n }))
    const results = await Promise.all(calls)
    expect(results.map(({ data }) => data)).toEqual(results.map((_, n) => ({ echo: { n } })))
    expect(results.flatMap(({ warnings = [] }) => warnings)).toEqual([])
    expect(moved()).toMatchObject({ paid: 100_000n, received: 100_000n })
    expect(new Set(moved().txIds)).toEqual(new Set(results.map(({ payment }) => payment!.txId)))
    expect(client.spentToday).toBe(0.1)
  })

  it('one call, one group', async () => {
    const { mnemonic, address } = sandbox.accounts(`${name} ${id} once`)
    const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl })
    const moved = watchLedger(sandbox, address)
    const { payment } = await client.call(`${server.url}/echo`, {})
    expect(moved()).toEqual(onePayment(10_000n, payment!.txId))
  })
})
