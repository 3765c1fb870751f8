/** The Python A2A SDK, of both generations, reads our card, and pays for a message where its HTTP client can. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALGORAND_TESTNET } from '../../src/domain/network.js'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { onePayment, watchLedger } from '../../test/support/official.js'
import { openSeller, type Seller } from '../../test/support/seller.js'
import type { Environment } from './environments.js'
import { runPeer } from './python-peer.js'

interface Task {
  readonly status: {
    readonly state: string
    readonly message: { readonly metadata: Record<string, unknown> }
  }
  readonly artifacts: readonly { readonly parts: readonly unknown[] }[]
}

interface Told {
  readonly sdk: string
  readonly plain: { readonly task?: Task; readonly error?: string }
  readonly paying: { readonly task?: Task; readonly error?: string }
}

let sandbox: Sandbox
let seller: Seller
let runs = 0
beforeAll(async () => {
  sandbox = await startSandbox()
  const shout = defineEndpoint({
    name: 'shout',
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

const SDKS: readonly { sdk: string; environment: Environment; state: string }[] = [
  { sdk: '0.3.26', environment: 'older', state: 'completed' },
  { sdk: '1.3.0', environment: 'current', state: 'TASK_STATE_COMPLETED' },
]

describe('the Python A2A SDK, our server', () => {
  it.each(SDKS)('$sdk: throws on a 402 by itself, and pays through x402-avm’s HTTP client', async peer => {
    const { address, mnemonic } = sandbox.accounts(`a2a ${peer.sdk}`)
    const moved = watchLedger(sandbox, address)
    const before = runs
    const told = await runPeer<Told>(peer.environment, 'pay_a2a.py', {
      url: seller.url,
      skill: 'shout',
      input: { text: 'hello' },
      mnemonic,
      algodUrl: sandbox.algodUrl,
    })
    expect(told.sdk).toBe(peer.sdk)
    // It does not read the body of a 402, so what is asked for is lost.
    expect(told.plain.error).toMatch(/402/)
    expect(told.paying.error).toBeUndefined()
    const { status, artifacts } = told.paying.task!
    expect(status.state).toBe(peer.state)
    expect(JSON.stringify(artifacts)).toContain('HELLO')
    const { metadata } = status.message
    expect(metadata['x402.payment.status']).toBe('payment-completed')
    const [receipt] = metadata['x402.payment.receipts'] as { transaction: string }[]
    expect([runs, moved()]).toEqual([before + 1, onePayment(10_000n, receipt?.transaction)])
  })
})

interface Extension {
  readonly x402: string
  readonly imported: { readonly value?: string; readonly error?: string }
  readonly networks: { readonly value?: readonly string[] }
  readonly quote: { readonly value?: unknown; readonly error?: string }
}

describe('the Python package of the A2A extension', () => {
  const ask = async (environment: Environment) => {
    const accepts = [
      {
        ...quote,
        maxAmountRequired: '10000',
        resource: 'https://agent.example',
        description: '',
        mimeType: '',
      },
    ]
    return runPeer<Extension>(environment, 'a2a_x402.py', { quote: { x402Version: 1, accepts, error: '' } })
  }
  const quote = {
    scheme: 'exact',
    network: ALGORAND_TESTNET,
    payTo: 'XGH36MRSAEXGEKEMEAQTBTN2YZ23PMPHMISIBHDMJJH5NK7XY4DLVYKZR4',
    maxTimeoutSeconds: 60,
    asset: '10458941',
  }

  it('cannot be imported with x402 2, which has no version 1 any more', async () => {
    const told = await ask('a2a-extension-x402-2')
    expect(told).toMatchObject({
      x402: '2.25.0',
      imported: { error: "ModuleNotFoundError: No module named 'x402.types'" },
    })
  })

  it('knows version 1 and four networks with the last x402 that it works with, and refuses Algorand', async () => {
    const told = await ask('a2a-extension')
    expect(told).toMatchObject({
      x402: '1.0.0',
      imported: { value: 'https://github.com/google-a2a/a2a-x402/v0.1' },
      networks: { value: ['base', 'base-sepolia', 'avalanche-fuji', 'avalanche'] },
    })
    expect(told.quote.error).toMatch(/accepts\.0\.network/)
  })
})
