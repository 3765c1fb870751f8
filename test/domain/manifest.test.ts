import { describe, expect, it } from 'vitest'
import { agent } from '../../src/domain/agent.js'
import { endpoint } from '../../src/domain/endpoint.js'
import { manifest, manifestX402 } from '../../src/domain/manifest.js'
import { MAINNET } from '../../src/domain/network.js'

const handler = () => ({})
const input = { type: 'object', required: ['text'] } as const
const shop = agent({
  name: 'Shop',
  handle: 'shop',
  description: 'Sells',
  payTo: 'A'.repeat(58),
  network: 'testnet',
  skills: ['text'],
  endpoints: [
    endpoint({ name: 'fixed', price: '0.1', description: 'Fixed', input, tags: ['t'], handler }),
    endpoint({ name: 'hinted', price: () => '$1', priceHint: 'from $1', handler }),
    endpoint({ name: 'dynamic', price: () => '$1', handler }),
    endpoint({ name: 'news/daily', subscription: { price: '$5', period: '30d' }, method: 'GET', handler }),
    endpoint({ name: 'hidden', price: '$9', listed: false, handler }),
  ],
})

describe('the manifest', () => {
  const shown = manifest(shop, 'https://shop.example/api')

  it('says who is paid where', () => {
    const { endpoints, ...head } = shown
    expect(head).toEqual({
      name: 'Shop',
      handle: 'shop',
      description: 'Sells',
      version: '0.1.0',
      skills: ['text'],
      network: 'testnet',
      payTo: 'A'.repeat(58),
    })
    expect(endpoints.map(({ name }) => name)).toEqual(['fixed', 'hinted', 'dynamic', 'news/daily'])
  })

  it('shows each endpoint with absolute URL, schema and price in dollars', () => {
    expect(shown.endpoints[0]).toEqual({
      name: 'fixed',
      description: 'Fixed',
      url: 'https://shop.example/api/fixed',
      method: 'POST',
      price: '$0.10',
      pricing: 'fixed',
      input,
      tags: ['t'],
    })
    expect(shown.endpoints[3]).toEqual({
      name: 'news/daily',
      description: '',
      url: 'https://shop.example/api/news/daily',
      method: 'GET',
      price: '$5.00',
      pricing: 'subscription',
      period: '30d',
      input: {},
      tags: [],
    })
  })

  it('shows a worked-out price by its hint, else as dynamic', () => {
    expect(shown.endpoints[1]).toMatchObject({ price: 'from $1', pricing: 'dynamic' })
    expect(shown.endpoints[2]).toMatchObject({ price: 'dynamic', pricing: 'dynamic' })
  })

  it('is the same under a base URL with a trailing slash', () => {
    expect(manifest(shop, 'https://shop.example/api//')).toEqual(shown)
  })

  it('is a copy nobody needs a handler for: it survives JSON', () => {
    expect(JSON.parse(JSON.stringify(shown))).toEqual(shown)
  })

  it('gets the x402 block from the server', () => {
    expect(shown).not.toHaveProperty('x402')
    expect(manifestX402(MAINNET, 'https://f.example')).toEqual({
      facilitator: 'https://f.example',
      network: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k',
      asset: { id: 31566704, symbol: 'USDC', decimals: 6 },
    })
  })
})
