/** `String(value)` throws for `{"toString": 0}`. What strangers wrote is read without it. */
import { describe, expect, it } from 'vitest'
import { readIndexPage } from '../../src/bazaar/read-index-page.js'
import { priceOf } from '../../src/domain/price-for-display.js'
import { verifyAgent } from '../../src/registry/verify-agent.js'

const TRAP = JSON.parse('{"toString": 0, "valueOf": 0}')

describe('a value without a text', () => {
  it('in an index of resources costs no other entry its place', () => {
    const entry = (url: string, more = {}) => ({ resource: url, accepts: [{ amount: '1' }], ...more })
    const items = [
      entry('https://a.example/', { accepts: [{ amount: TRAP }] }),
      entry('https://b.example/', { lastUpdated: TRAP }),
      entry('https://c.example/', { lastUpdated: [TRAP], accepts: [{ maxAmountRequired: [TRAP] }] }),
      entry('https://d.example/'),
    ]
    const page = readIndexPage({ items })
    expect(page?.resources.map(({ resourceUrl }) => resourceUrl)).toEqual(
      items.map(({ resource }) => resource),
    )
    expect(page?.resources.map(({ accepts }) => priceOf(accepts))).toEqual([null, 0.000001, null, 0.000001])
  })

  it('as an asset is not USDC', () => {
    expect(priceOf({ amount: '1', asset: TRAP })).toBeNull()
    expect(priceOf({ amount: '1', asset: TRAP, network: 'algorand-mainnet' })).toBeNull()
    expect(priceOf({ amount: TRAP })).toBeNull()
  })

  it('as the application that a card names is another registry’s', async () => {
    const uri = 'https://svc.example/a2a/ext/registry/v1'
    const extensions = [{ uri, params: { identityApp: TRAP, agentId: 7 } }]
    const verdict = await verifyAgent('https://a.example/.well-known/agent.json', {
      registry: { apps: { identityApp: 5 }, byId: async () => undefined },
      fetchImpl: async () => Response.json({ capabilities: { extensions } }),
    })
    expect(verdict).toMatchObject({ verified: false, reason: 'other_registry' })
  })
})
