/** Python's x402-avm client pays our server, over our sandbox's facilitator and over x402-avm's own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { LONG_ID, NOTHING, onePayment, SHORT_ID, watchLedger } from '../../test/support/official.js'
import { openSeller, type Seller } from '../../test/support/seller.js'
import { runPeer, startPeer } from './python-peer.js'

interface Told {
  readonly status: number
  readonly body: unknown
  /** Where it threw instead of returning an answer. */
  readonly error?: string
  readonly receipt: { readonly transaction: string; readonly network: string } | null
}

const endpoints = [
  defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => ({ echo: body }) }),
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

const FACILITATORS = ['the sandbox’s', 'x402-avm’s'] as const
const LIBRARIES = ['httpx', 'requests'] as const

describe.each(FACILITATORS)('x402-avm’s client, our server, %s facilitator', whose => {
  let sandbox: Sandbox
  let seller: Seller
  let facilitator: { readonly url: string; close(): Promise<void> } | undefined
  beforeAll(async () => {
    sandbox = await startSandbox()
    if (whose !== 'the sandbox’s') {
      const { mnemonic } = sandbox.accounts('python sponsor')
      facilitator = await startPeer<{ url: string }>('current', 'facilitator.py', {
        mnemonic,
        algodUrl: sandbox.algodUrl,
      })
    }
    const facilitatorUrl = facilitator?.url ?? sandbox.facilitatorUrl
    seller = await openSeller(endpoints, { sandbox, facilitatorUrl })
  })
  afterAll(async () => {
    await seller.close()
    await facilitator?.close()
    await sandbox.close()
  })

  const pay = async (
    library: string,
    path: string,
    request: { method: string; body?: unknown; network?: string },
  ) => {
    const { address, mnemonic } = sandbox.accounts(`${library} ${path}`)
    const moved = watchLedger(sandbox, address)
    const task = { library, url: seller.url + path, mnemonic, algodUrl: sandbox.algodUrl, ...request }
    return { told: await runPeer<Told>('current', 'pay_http.py', task), moved }
  }

  describe.each(LIBRARIES)('with %s', library => {
    it('a fixed price by POST', async () => {
      const { told, moved } = await pay(library, '/echo', { method: 'POST', body: { text: 'hello' } })
      expect(told).toMatchObject({ status: 200, body: { echo: { text: 'hello' } } })
      // The only spelling of the network that it knows, so the receipt speaks it too.
      expect(told.receipt?.network).toBe(LONG_ID)
      expect(moved()).toEqual(onePayment(10_000n, told.receipt?.transaction))
    })

    it('a function price by GET', async () => {
      const { told, moved } = await pay(library, '/square?n=7', { method: 'GET' })
      expect(told).toMatchObject({ status: 200, body: { square: 49 } })
      expect(moved()).toEqual(onePayment(70_000n, told.receipt?.transaction))
    })

    it('registered for algorand:*, as its README does, takes the first entry and does not know it', async () => {
      const { told, moved } = await pay(library, '/echo', { method: 'POST', body: {}, network: 'algorand:*' })
      expect(told.error).toContain(`Unsupported CAIP-2 network: ${SHORT_ID}`)
      expect(moved()).toEqual(NOTHING)
    })

    it('a failed handler costs nothing', async () => {
      const { told, moved } = await pay(library, '/broken', { method: 'POST', body: {} })
      expect([told.status, told.receipt, moved()]).toEqual([500, null, NOTHING])
    })
  })
})
