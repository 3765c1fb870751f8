/** What a window is sold for, and what is said of it. */
import { describe, expect, it } from 'vitest'
import { toolOf } from '../../src/adapters/mcp/tools-of-endpoints.js'
import { windowShown } from '../../src/domain/period.js'
import { defineAgent, defineEndpoint, manifest, SvcError } from '../../src/index.js'
import { endTold } from '../../src/ports/charge.js'

const selling = (subscription: unknown) =>
  defineEndpoint({ name: 'window', subscription: subscription as never, handler: () => 1 })
const terms = { price: '$5', period: '30d' }

describe('the calls of a window', () => {
  it.each([1, 100, 1_000_000_000])('may be %i', calls => {
    expect(selling({ ...terms, calls }).subscription).toEqual({ ...terms, calls })
  })

  it.each([0, -1, 1.5, 1_000_000_001, Number.NaN, Number.POSITIVE_INFINITY, '100', null, 10n])(
    'cannot be %s',
    calls => {
      let refusal: unknown
      try {
        selling({ ...terms, calls })
      } catch (error) {
        refusal = error
      }
      expect(refusal).toBeInstanceOf(SvcError)
      expect(refusal).toMatchObject({
        code: 'invalid_endpoint',
        message: expect.stringMatching(/'window'.*calls is a whole number from 1 to 1000000000/),
      })
    },
  )

  it('may be left out', () => {
    expect(selling(terms).subscription).toEqual(terms)
    expect(selling({ ...terms, calls: undefined }).subscription?.calls).toBeUndefined()
  })
})

describe('a window is shown', () => {
  it.each([
    [{}, ''],
    [{ period: '30d' }, ' for 30d'],
    [{ period: '30d', calls: 100 }, ' for 30d or 100 calls'],
    [{ period: '30d', calls: 1 }, ' for 30d or 1 call'],
    [{ calls: 1 }, ''],
  ])('%j as %j', (window, shown) => expect(windowShown(window)).toBe(shown))

  it('by the manifest, with its calls', () => {
    const agent = defineAgent({
      name: 'Shop',
      handle: 'shop',
      description: 'Sells',
      payTo: 'SVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCSVCS',
      endpoints: [selling({ ...terms, calls: 100 })],
    })
    const [entry] = manifest(agent, 'https://shop.example').endpoints
    expect(entry).toMatchObject({ price: '$5.00', pricing: 'subscription', period: '30d', calls: 100 })
  })

  it('by its tool', () => {
    const { description } = toolOf({
      name: 'w',
      description: '',
      price: '$5.00',
      period: '30d',
      calls: 9,
    }).tool
    expect(description).toBe('Costs $5.00 in USDC for 30d or 9 calls, paid with x402.')
  })
})

describe('an agent is told', () => {
  const subscription = { key: 'key', expiresAtMs: Date.UTC(2030, 0, 1) }
  const sold = { key: 'key', expiresAt: '2030-01-01T00:00:00.000Z' }
  it.each([
    ['nothing of a call without a window', {}, undefined],
    ['the key and the end of a window that was sold', { subscription }, sold],
    ['its calls, where they are counted', { subscription, callsLeft: 0 }, { ...sold, remaining: 0 }],
    ['what is left, in the window', { callsLeft: 7 }, { remaining: 7 }],
  ])('%s', (_, outcome, told) => expect(endTold(outcome).subscription).toEqual(told))
})
