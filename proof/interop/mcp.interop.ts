/** The Python MCP SDK, of both generations, lists our tools and pays for one with x402-avm's signature. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { onePayment, watchLedger } from '../../test/support/official.js'
import { openSeller, type Seller } from '../../test/support/seller.js'
import type { Environment } from './environments.js'
import { runPeer } from './python-peer.js'

interface Shown {
  readonly isError: boolean
  readonly structured: { readonly accepts?: readonly unknown[] } & Record<string, unknown>
  readonly text: string
  readonly receipt?: { readonly success: boolean; readonly transaction: string }
}

interface Told {
  readonly sdk: string
  readonly tools: readonly string[]
  readonly unpaid: Shown
  readonly paid: Shown
  readonly again: Shown
}

const PEERS: readonly { sdk: string; mode: string; environment: Environment }[] = [
  { sdk: '2.3.0', mode: 'auto', environment: 'current' },
  { sdk: '2.3.0', mode: 'legacy', environment: 'current' },
  { sdk: '1.30.0', mode: 'legacy', environment: 'older' },
]

describe('the Python MCP SDK, our server', () => {
  let sandbox: Sandbox
  let seller: Seller
  let runs = 0
  beforeAll(async () => {
    sandbox = await startSandbox()
    const shout = defineEndpoint({
      name: 'shout',
      description: 'Says it louder.',
      price: '$0.01',
      input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
      handler: ({ body }) => ({ run: ++runs, text: String(body.text).toUpperCase() }),
    })
    seller = await openSeller([shout], { sandbox })
  })
  afterAll(async () => {
    await seller.close()
    await sandbox.close()
  })

  it.each(PEERS)('$sdk, mode $mode: lists, is asked to pay, pays, and pays once', async peer => {
    const { address, mnemonic } = sandbox.accounts(`mcp ${peer.sdk} ${peer.mode}`)
    const moved = watchLedger(sandbox, address)
    const before = runs
    const told = await runPeer<Told>(peer.environment, 'pay_mcp.py', {
      url: `${seller.url}/mcp`,
      mode: peer.mode,
      tool: 'shout',
      arguments: { text: 'hello' },
      mnemonic,
      algodUrl: sandbox.algodUrl,
    })
    expect(told.sdk).toBe(peer.sdk)
    expect(told.tools).toContain('shout')
    expect([told.unpaid.isError, told.unpaid.structured]).toEqual([true, JSON.parse(told.unpaid.text)])
    expect([told.paid.isError, told.paid.structured]).toEqual([false, { run: before + 1, text: 'HELLO' }])
    expect([told.again.isError, runs]).toEqual([true, before + 1])
    expect(moved()).toEqual(onePayment(10_000n, told.paid.receipt?.transaction))
  })
})
