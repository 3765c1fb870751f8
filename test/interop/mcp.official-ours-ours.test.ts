/**
 * The official MCP clients of both generations call our server; the payment is signed by the official x402 client, and the
 * sandbox is the facilitator. No x402 MCP client is published: its wire shapes are asserted literally.
 */
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { x402Client } from '@x402/core/client'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import type { PaymentRequired } from '@x402/core/types'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { LONG_ID, NOTHING, onePayment, SHORT_ID, secretKeyOf, watchLedger } from '../support/official.js'
import { openSeller, type Seller } from '../support/seller.js'

let seller: Seller
beforeAll(async () => {
  seller = await openSeller(
    [
      defineEndpoint({
        name: 'text/shout',
        description: 'Says it louder.',
        price: '$0.01',
        input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
        handler: ({ body }) => ({ shouted: body.text.toUpperCase() }),
      }),
      defineEndpoint({ name: 'hidden', price: '$0.01', listed: false, handler: () => 1 }),
      defineEndpoint({
        name: 'broken',
        price: '$0.01',
        handler: () => {
          throw new Error('no')
        },
      }),
    ],
    { basePath: '/api' },
  )
})
afterAll(() => seller.close())

/** What the four ways to connect have in common. */
interface OfficialMcp {
  listTools(): Promise<{ tools: readonly { name: string; inputSchema: object }[] }>
  callTool(params: {
    name: string
    arguments?: Record<string, unknown>
    _meta?: Record<string, unknown>
  }): Promise<object>
  close(): Promise<void>
}
const INFO = { name: 'test', version: '1.0.0' }
const MCP_URL = () => new URL(`${seller.url}/api/mcp`)

async function generation1(): Promise<OfficialMcp> {
  const client = new Client1(INFO)
  await client.connect(new Transport1(MCP_URL()))
  return client as OfficialMcp
}
async function generation2(
  versionNegotiation?: ConstructorParameters<typeof Client2>[1] extends infer Options
    ? Options extends { versionNegotiation?: infer Negotiation }
      ? Negotiation
      : never
    : never,
): Promise<OfficialMcp> {
  const client = new Client2(INFO, { versionNegotiation })
  await client.connect(new Transport2(MCP_URL()))
  return client as OfficialMcp
}

const CLIENTS: Readonly<Record<string, () => Promise<OfficialMcp>>> = {
  'sdk 1.x': generation1,
  'client 2.x': () => generation2(),
  'client 2.x, auto': () => generation2({ mode: 'auto' }),
  'client 2.x, pinned to 2026-07-28': () => generation2({ mode: { pin: '2026-07-28' } }),
}

interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly _meta?: Record<string, Record<string, unknown>>
}

/** Exactly what the x402 MCP client does with an unpaid result: the object, under this key. */
function signer(account: { address: string; mnemonic: string }) {
  const scheme = new ExactAvmScheme(toClientAvmSigner(secretKeyOf(account)), {
    algodUrl: seller.sandbox.algodUrl,
  })
  const client = new x402Client().register('algorand:*', scheme)
  return async (required: unknown) => ({
    'x402/payment': await client.createPaymentPayload(required as PaymentRequired),
  })
}

describe.each(Object.entries(CLIENTS))('%s', (name, connect) => {
  const account = () => seller.sandbox.accounts(`mcp ${name}`)
  const shout = { name: 'text_shout', arguments: { text: 'hi' } }

  it('lists the tools, and only the listed ones', async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    expect(tools.map(tool => tool.name)).toEqual(['text_shout', 'broken', 'get_manifest', 'search_agents'])
    expect(tools[0]?.inputSchema).toMatchObject({ type: 'object', required: ['text'] })
    const card = (await (await fetch(`${seller.url}/.well-known/agent.json`)).json()) as {
      capabilities: { extensions: { params: { tools: unknown; url: unknown } }[] }
    }
    expect(card.capabilities.extensions[2]?.params).toMatchObject({
      url: MCP_URL().href,
      tools: tools.map(tool => tool.name),
    })
    await client.close()
  })

  it('is quoted in both copies, pays once, and gets data and receipt', async () => {
    const client = await connect()
    // Listing first arms the clients' own checks of what a tool answers.
    await client.listTools()
    const moved = watchLedger(seller.sandbox, account().address)
    const unpaid = (await client.callTool(shout)) as Result
    expect(unpaid.isError).toBe(true)
    expect(unpaid.content).toEqual([{ type: 'text', text: JSON.stringify(unpaid.structuredContent) }])
    expect(unpaid.structuredContent).toMatchObject({
      x402Version: 2,
      resource: { url: `${seller.url}/api/text/shout` },
      accepts: [SHORT_ID, LONG_ID].map(network => ({ scheme: 'exact', amount: '10000', network })),
    })
    expect(PaymentRequiredV2Schema.safeParse(unpaid.structuredContent).success).toBe(true)
    expect(moved()).toEqual(NOTHING)
    const _meta = await signer(account())(unpaid.structuredContent)
    const paid = (await client.callTool({ ...shout, _meta })) as Result
    expect(paid.isError).toBeFalsy()
    expect(paid.content).toEqual([{ type: 'text', text: '{"shouted":"HI"}' }])
    expect(paid.structuredContent).toEqual({ shouted: 'HI' })
    const receipt = paid._meta!['x402/payment-response']!
    expect(receipt).toMatchObject({ success: true, payer: account().address, network: expect.any(String) })
    expect(moved()).toEqual(onePayment(10_000n, receipt.transaction))
    await client.close()
  })

  it('a tool that fails after payment is an error without a challenge, and costs nothing', async () => {
    const client = await connect()
    const moved = watchLedger(seller.sandbox, account().address)
    const { structuredContent } = (await client.callTool({ name: 'broken' })) as Result
    const _meta = await signer(account())(structuredContent)
    const failed = (await client.callTool({ name: 'broken', _meta })) as Result
    expect(failed).toMatchObject({ isError: true, structuredContent: { error: { code: 'handler_error' } } })
    expect(failed.content[0]?.text).not.toContain('x402Version')
    expect(moved()).toEqual(NOTHING)
    await client.close()
  })

  it('a payment that is refused is answered with a second challenge', async () => {
    const client = await connect()
    const refused = (await client.callTool({ ...shout, _meta: { 'x402/payment': 'text' } })) as Result
    expect(refused).toMatchObject({ isError: true, structuredContent: { x402Version: 2 } })
    expect(refused.structuredContent?.error).toMatch(/not an object/)
    await client.close()
  })

  it('bad arguments and unknown tools cost nothing', async () => {
    const client = await connect()
    const bad = (await client.callTool({ name: 'text_shout', arguments: { text: 5 } })) as Result
    expect(bad).toMatchObject({ isError: true, structuredContent: { error: { code: 'invalid_input' } } })
    for (const unknown of ['hidden', 'nothing', '__proto__']) {
      await expect(client.callTool({ name: unknown })).rejects.toMatchObject({ code: -32602 })
    }
    await client.close()
  })

  it('reads the manifest for free', async () => {
    const client = await connect()
    const { structuredContent } = (await client.callTool({ name: 'get_manifest' })) as Result
    expect(structuredContent).toEqual(await (await fetch(`${seller.url}/.well-known/svc.json`)).json())
    await client.close()
  })
})
