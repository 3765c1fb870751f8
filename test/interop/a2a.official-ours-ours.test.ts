/** The official A2A clients, of both generations and in every mode, call and pay our server; the sandbox is the facilitator. */
import * as a2a03 from 'a2a-js-0.3/client'
import * as a2a10 from 'a2a-js-1'
import * as a2a10Client from 'a2a-js-1/client'
import { JsonRpcTransportError } from 'a2a-js-1/errors'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { LONG_ID, NOTHING, officialClient, onePayment, SHORT_ID, watchLedger } from '../support/official.js'
import { openSeller, type Seller } from '../support/seller.js'

const shout = defineEndpoint({
  name: 'text/shout',
  description: 'Says it louder.',
  price: '$0.01',
  input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  tags: ['text'],
  handler: ({ body }) => ({ shouted: body.text.toUpperCase() }),
})
const count = defineEndpoint({
  name: 'count',
  price: '$0.02',
  input: { type: 'object', required: ['of'], properties: { of: { type: 'array' } } },
  handler: ({ body }) => ({ count: (body.of as unknown[]).length }),
})

let seller: Seller
beforeAll(async () => {
  seller = await openSeller([shout, count])
})
afterAll(() => seller.close())

/** What a test asks, and what it reads from the client's own objects. */
interface Ask {
  readonly parts: readonly Record<string, unknown>[]
  readonly skillId?: string
}
interface Done {
  readonly state: string
  readonly texts: readonly string[]
  readonly data: readonly unknown[]
  readonly metadata: Record<string, unknown> | undefined
}
interface Refused {
  readonly code: number
  readonly data: Record<string, unknown>
}
type Parts03 = Parameters<a2a03.Client['sendMessage']>[0]['message']['parts']
interface OfficialA2a {
  send(fetchImpl: typeof fetch, ask: Ask): Promise<Done>
  refusalIn(error: unknown): Refused
}

function generation03(): OfficialA2a {
  return {
    async send(fetchImpl, { parts, skillId }) {
      const factory = new a2a03.ClientFactory({
        transports: [new a2a03.JsonRpcTransportFactory({ fetchImpl })],
      })
      const client = await factory.createFromUrl(seller.url)
      const sent = parts.map(part => ({ kind: 'data' in part ? 'data' : 'text', ...part }))
      const message = { kind: 'message', messageId: 'm1', role: 'user', metadata: { skillId } } as const
      const result = await client.sendMessage({ message: { ...message, parts: sent as Parts03 } })
      if (result.kind !== 'task') throw new Error('no task')
      const artifactParts = result.artifacts![0]!.parts
      return {
        state: result.status.state,
        texts: artifactParts.flatMap(part => (part.kind === 'text' ? [part.text] : [])),
        data: artifactParts.flatMap(part => (part.kind === 'data' ? [part.data] : [])),
        metadata: result.status.message?.metadata,
      }
    },
    refusalIn: error => (error as { errorResponse: { error: Refused } }).errorResponse.error,
  }
}

function generation10(legacyCompat: { enabled: boolean } | undefined, cardPath?: string): OfficialA2a {
  return {
    async send(fetchImpl, { parts, skillId }) {
      const factory = new a2a10Client.ClientFactory({
        transports: [new a2a10Client.JsonRpcTransportFactory({ fetchImpl, legacyCompat })],
        cardResolver: new a2a10Client.DefaultAgentCardResolver({ legacyCompat }),
      })
      const client = await factory.createFromUrl(seller.url, cardPath)
      const message = { messageId: 'm1', role: 'ROLE_USER', parts, metadata: { skillId } }
      const result = await client.sendMessage(a2a10.SendMessageRequest.fromJSON({ message }))
      if (!('status' in result)) throw new Error('no task')
      const contents = result.artifacts[0]!.parts.map(({ content }) => content)
      return {
        state: a2a10.taskStateToJSON(result.status!.state),
        texts: contents.flatMap(content => (content?.$case === 'text' ? [content.value] : [])),
        data: contents.flatMap(content => (content?.$case === 'data' ? [content.value] : [])),
        metadata: result.status?.message?.metadata,
      }
    },
    refusalIn(error) {
      const { envelopeCode: code, data } = error as JsonRpcTransportError
      return { code, data: data as unknown as Record<string, unknown> }
    },
  }
}

const CLIENTS: Readonly<Record<string, OfficialA2a>> = {
  '0.3': generation03(),
  '1.x': generation10(undefined),
  '1.x in compat mode': generation10({ enabled: true }),
  '1.x from agent.json': generation10(undefined, '/.well-known/agent.json'),
}

describe.each(Object.entries(CLIENTS))('@a2a-js/sdk %s', (name, client) => {
  const paying = () => officialClient(seller.sandbox, seller.sandbox.accounts(`a2a ${name}`))

  it('with a plain fetch is told the price, and moves nothing', async () => {
    const moved = watchLedger(seller.sandbox, seller.sandbox.wallet.address)
    const error = await client.send(fetch, { parts: [{ text: 'hi' }] }).catch((cause: unknown) => cause)
    expect(client.refusalIn(error)).toMatchObject({
      code: -32010,
      data: {
        protocol: 'x402',
        requirements: {
          x402Version: 2,
          accepts: [SHORT_ID, LONG_ID].map(network => ({ amount: '10000', network })),
        },
        retryWith: 'PAYMENT-SIGNATURE',
        alsoAccepted: ['X-PAYMENT'],
        restEquivalent: '/text/shout',
      },
    })
    expect(moved()).toEqual(NOTHING)
  })

  it('with a paying fetch completes a task, and money moves once', async () => {
    const payer = paying()
    const moved = watchLedger(seller.sandbox, payer.address)
    const done = await client.send(payer.pay, { parts: [{ text: 'hi' }] })
    expect(done.state).toMatch(/completed/i)
    expect(done.texts).toEqual(['{"shouted":"HI"}'])
    expect(done.data).toEqual([{ shouted: 'HI' }])
    const { 'x402.payment.status': paid, 'x402.payment.receipts': receipts } = done.metadata!
    const [receipt] = receipts as [Record<string, unknown>]
    expect(paid).toBe('payment-completed')
    expect(receipt).toMatchObject({ success: true, payer: payer.address, amount: '10000' })
    expect(moved()).toEqual(onePayment(10_000n, receipt.transaction))
    expect(payer.sent).toHaveLength(2)
  })

  it('names a skill and gives it data', async () => {
    const payer = paying()
    const moved = watchLedger(seller.sandbox, payer.address)
    const done = await client.send(payer.pay, { skillId: 'count', parts: [{ data: { of: [1, 2, 3] } }] })
    expect(done.data).toEqual([{ count: 3 }])
    expect(moved()).toMatchObject({ paid: 20_000n, received: 20_000n })
  })

  it('is told what is wrong with its input before anything is signed', async () => {
    const payer = paying()
    const moved = watchLedger(seller.sandbox, payer.address)
    const asks = [{ parts: [{ data: { text: 5 } }] }, { skillId: 'none', parts: [{ text: 'x' }] }]
    for (const ask of asks) {
      const error = await client.send(payer.pay, ask).catch((cause: unknown) => cause)
      expect(client.refusalIn(error).code).toBe(-32602)
    }
    expect(moved()).toEqual(NOTHING)
  })
})

it('the card reads the same at both paths, and every extension reaches the caller', async () => {
  const [old, current] = await Promise.all(
    ['agent.json', 'agent-card.json'].map(async path =>
      (await fetch(`${seller.url}/.well-known/${path}`)).text(),
    ),
  )
  expect(old).toBe(current)
  const card = await new a2a10Client.DefaultAgentCardResolver().resolve(seller.url)
  expect(card.capabilities?.extensions.map(({ uri }) => uri)).toEqual([
    ...['x402', 'registry', 'mcp'].map(name => `https://svc.example/a2a/ext/${name}/v1`),
    'https://github.com/google-a2a/a2a-x402/v0.1',
  ])
  expect(card.capabilities?.extensions[0]?.params?.prices).toEqual([
    { skill: 'text/shout', amount: '10000', price: '$0.01', pricing: 'fixed' },
    { skill: 'count', amount: '20000', price: '$0.02', pricing: 'fixed' },
  ])
})

it('other codes reach the caller of 1.x with their data', async () => {
  const payer = officialClient(seller.sandbox, seller.sandbox.accounts('twice'))
  const factory = new a2a10Client.ClientFactory({
    transports: [new a2a10Client.JsonRpcTransportFactory({ fetchImpl: payer.pay })],
  })
  const client = await factory.createFromUrl(seller.url)
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'x' }] }
  await client.sendMessage(a2a10.SendMessageRequest.fromJSON({ message }))
  const replay = payer.sent.at(-1)!
  const again = new a2a10Client.ClientFactory({
    transports: [new a2a10Client.JsonRpcTransportFactory({ fetchImpl: () => fetch(replay.clone()) })],
  })
  const replaying = await again.createFromUrl(seller.url)
  const error = await replaying
    .sendMessage(a2a10.SendMessageRequest.fromJSON({ message }))
    .catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(JsonRpcTransportError)
  expect(error).toMatchObject({ envelopeCode: -32000, data: { code: 'payment_spent' } })
})
