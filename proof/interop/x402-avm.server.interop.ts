/** Our client pays servers of Python's x402-avm, over our sandbox's facilitator and over x402-avm's own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { LONG_ID, NOTHING, onePayment, SHORT_ID, watchLedger } from '../../test/support/official.js'
import { startPeer } from './python-peer.js'

interface Peer {
  readonly url: string
  close(): Promise<void>
}

const PAIRS = ['fastapi', 'flask'].flatMap(framework =>
  ['the sandbox’s', 'x402-avm’s'].map(whose => ({ framework, whose })),
)

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const sellWith = (framework: string, facilitatorUrl: string, network: string) =>
  startPeer<{ url: string }>('current', 'sell.py', {
    framework,
    facilitatorUrl,
    network,
    payTo: sandbox.seller.address,
  })

describe.each(PAIRS)('our client, $framework with x402-avm, $whose facilitator', ({ framework, whose }) => {
  let facilitator: Peer | undefined
  let server: Peer
  beforeAll(async () => {
    if (whose !== 'the sandbox’s') {
      const { mnemonic } = sandbox.accounts('python sponsor')
      const task = { mnemonic, algodUrl: sandbox.algodUrl }
      facilitator = await startPeer<{ url: string }>('current', 'facilitator.py', task)
    }
    server = await sellWith(framework, facilitator?.url ?? sandbox.facilitatorUrl, LONG_ID)
  })
  afterAll(async () => {
    await server.close()
    await facilitator?.close()
  })

  const buyer = (name: string) => {
    const { address, mnemonic } = sandbox.accounts(`${framework} ${whose} ${name}`)
    const caps = { maxPrice: '$0.01', maxPerDay: '$1' } as const
    const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl, ...caps })
    return { client, moved: watchLedger(sandbox, address) }
  }

  it('POST', async () => {
    const { client, moved } = buyer('POST')
    const { data, payment } = await client.call(`${server.url}/echo`, { text: 'hello' })
    expect(data).toEqual({ echo: { text: 'hello' } })
    expect(moved()).toEqual(onePayment(10_000n, payment?.txId))
  })

  it('GET', async () => {
    const { client, moved } = buyer('GET')
    const { data, payment } = await client.call(`${server.url}/square?n=7`, undefined, { method: 'GET' })
    expect(data).toEqual({ square: 49 })
    expect(moved()).toEqual(onePayment(10_000n, payment?.txId))
  })

  it('a failed handler is not charged', async () => {
    const { client, moved } = buyer('broken')
    await expect(client.call(`${server.url}/broken`, {})).rejects.toMatchObject({ status: 500 })
    expect(moved()).toEqual(NOTHING)
  })
})

describe('x402-avm’s server with the 32-character id', () => {
  it.each(['fastapi', 'flask'])('cannot sell: %s answers 500 to everybody', async framework => {
    const server = await sellWith(framework, sandbox.facilitatorUrl, SHORT_ID)
    const response = await fetch(`${server.url}/square?n=7`).finally(() => server.close())
    expect(response.status).toBe(500)
  })
})
