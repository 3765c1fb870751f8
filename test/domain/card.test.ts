/** The agent card: one document for both generations of clients. */
import { describe, expect, it } from 'vitest'
import { agentCard, type CardOptions, skillPrice } from '../../src/domain/agent-card.js'
import { defineAgent, defineEndpoint } from '../../src/index.js'

const handler = () => 1
const agent = defineAgent({
  name: 'Demo',
  handle: 'demo',
  description: 'Sells text.',
  payTo: 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM',
  network: 'testnet',
  endpoints: [
    defineEndpoint({ name: 'summarize', description: 'Shortens.', price: '$0.01', tags: ['text'], handler }),
    defineEndpoint({ name: 'by/length', price: () => '$0.02', priceHint: 'from $0.02', handler }),
    defineEndpoint({ name: 'feed', subscription: { price: '$1.5', period: '30d' }, handler }),
    defineEndpoint({ name: 'hidden', price: '$9', listed: false, handler }),
  ],
})
const options: CardOptions = {
  rootUrl: 'https://agent.example',
  baseUrl: 'https://agent.example/api',
  facilitatorUrl: 'https://facilitator.example',
  extBase: 'https://ext.example/',
  registry: {},
  tools: ['summarize', 'get_manifest'],
}
const card = agentCard(agent, options)
const paramsOf = (at: number, from = card) => from.capabilities.extensions[at]!.params

describe('the card', () => {
  it('has what clients of 0.3 and of 1.0 read', () => {
    expect(card).toMatchObject({
      protocolVersion: '0.3.0',
      url: 'https://agent.example/a2a',
      preferredTransport: 'JSONRPC',
      supportedInterfaces: [{ protocolVersion: '1.0' }, { protocolVersion: '0.3' }],
      capabilities: { streaming: false, pushNotifications: false },
    })
    expect(card.supportedInterfaces.every(({ url }) => url === card.url)).toBe(true)
  })

  it('has a skill for each listed endpoint, with tags and modes', () => {
    expect(card.skills.map(({ id }) => id)).toEqual(['summarize', 'by/length', 'feed'])
    expect(card.skills[0]).toMatchObject({
      description: 'Shortens.',
      tags: ['text'],
      outputModes: ['application/json'],
    })
    expect(JSON.stringify(card)).not.toContain('hidden')
  })

  it('has three extensions of its own and that of x402, none of which is required', () => {
    const { extensions } = card.capabilities
    expect(extensions.map(({ uri }) => uri)).toEqual([
      ...['x402', 'registry', 'mcp'].map(name => `https://ext.example/a2a/ext/${name}/v1`),
      'https://github.com/google-a2a/a2a-x402/v0.1',
    ])
    expect(extensions.some(({ required }) => required)).toBe(false)
  })

  it('prices skills in base units, and says null where a price is worked out per call', () => {
    expect(paramsOf(0)).toMatchObject({
      facilitator: 'https://facilitator.example',
      network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
      payTo: agent.payTo,
      asset: { id: 10458941, decimals: 6 },
      prices: [
        { skill: 'summarize', pricing: 'fixed', amount: '10000' },
        { skill: 'by/length', pricing: 'dynamic', amount: null, price: 'from $0.02' },
        { skill: 'feed', pricing: 'subscription', amount: '1500000', period: '30d' },
      ],
    })
    expect(skillPrice(agent.endpoints[3]!)).toMatchObject({ amount: '9000000' })
  })

  it('claims the identity that it was given, and null where none', () => {
    const none = { agentId: null, identityApp: null, reputationApp: null, validationApp: null }
    expect(paramsOf(1)).toMatchObject(none)
    const registry = { agentId: 7, identityApp: 1, reputationApp: 2, validationApp: 3 }
    expect(paramsOf(1, agentCard(agent, { ...options, registry }))).toMatchObject(registry)
  })

  it('names the MCP server under the base path, and its tools', () => {
    expect(paramsOf(2)).toMatchObject({ url: 'https://agent.example/api/mcp', tools: options.tools })
  })
})
