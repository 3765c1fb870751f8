/** What a seller adds to quotes: own fields of `extra`, and how indexes show the seller. None of it can make a quote unreadable. */
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { sanitizeResourceServiceMetadata, validateDiscoveryExtension } from '@x402/extensions/bazaar'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { agent } from '../../src/domain/agent.js'
import { endpoint } from '../../src/domain/endpoint.js'
import { merchantExtension, quotedTags } from '../../src/domain/quote-fields.js'
import { refusedWith } from './refusal.js'

const work = { name: 'work', price: '$0.01', handler: () => 1 }
const about = {
  name: 'Agent',
  handle: 'agent',
  description: 'Works',
  payTo: 'A'.repeat(58),
  endpoints: [work],
}
const anAgent = (over: object = {}) => agent({ ...about, ...over } as never)
const anEndpoint = (over: object = {}) => endpoint({ ...work, ...over } as never)

describe('extra', () => {
  const definitions = [
    ['an agent', anAgent, 'invalid_agent'],
    ['an endpoint', anEndpoint, 'invalid_endpoint'],
  ] as const

  describe.each(definitions)('of %s', (_, define, code) => {
    it('is kept, and nobody can change it afterwards', () => {
      const extra: Record<string, unknown> = {
        tag: 'x402-global-challenge',
        weight: -1.5,
        beta: false,
        none: '',
      }
      const checked = define({ extra })
      expect(checked.extra).toEqual({ tag: 'x402-global-challenge', weight: -1.5, beta: false, none: '' })
      extra.feePayer = 'me'
      expect(checked.extra).not.toHaveProperty('feePayer')
      expect(Object.isFrozen(checked.extra)).toBe(true)
      expect(define({ extra: {} }).extra).toBeUndefined()
      expect(define().extra).toBeUndefined()
    })

    const reserved = ['feePayer', 'decimals', 'name', 'version', 'paymentFlow', 'assetTransferMethod']
    it.each([...reserved, 'subscriptionPeriod', 'subscriptionCalls'])(
      'does not override %s, which has a meaning',
      name =>
        refusedWith(code, () => define({ extra: { tag: 'a', [name]: 'x' } }), new RegExp(`extra\\.${name}`)),
    )

    it.each<[unknown]>([
      [undefined],
      [null],
      [Number.NaN],
      [Number.POSITIVE_INFINITY],
      [1n],
      [{}],
      [['a']],
      [new Date(0)],
      [() => 'a'],
      [Symbol('a')],
    ])('has no value %o', value => refusedWith(code, () => define({ extra: { tag: value } }), /extra\.tag/))

    it.each<[unknown]>([['tag'], [null], [['tag']], [1], [true]])('is not %o', extra =>
      refusedWith(code, () => define({ extra }), /extra/),
    )

    it('has no field without a name', () => refusedWith(code, () => define({ extra: { '': 1 } })))
  })

  it('says what it was given after a journey as JSON', () => {
    const values = fc.oneof(fc.string(), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }))
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).map(name => `x-${name}`),
          values,
        ),
        extra => {
          const { extra: checked = {} } = anEndpoint({ extra })
          expect(JSON.parse(JSON.stringify(checked))).toEqual(JSON.parse(JSON.stringify(extra)))
        },
      ),
    )
  })
})

describe('how indexes show the service', () => {
  it('is the agent’s name where it fits, or what is given', () => {
    expect(anAgent().serviceName).toBe('Agent')
    expect(anAgent({ serviceName: 'Other' }).serviceName).toBe('Other')
    for (const name of ['Übersetzer', 'x'.repeat(33), 'a\nb']) {
      expect(anAgent({ name })).not.toHaveProperty('serviceName')
      expect(anAgent({ name, serviceName: 'Words' }).serviceName).toBe('Words')
    }
  })

  it.each([
    { serviceName: '' },
    { serviceName: 'x'.repeat(33) },
    { serviceName: 'Über' },
    { serviceName: 'a\n' },
    { serviceName: 1 },
    { iconUrl: '' },
    { iconUrl: '/icon.png' },
    { iconUrl: 'data:image/png;base64,AA==' },
    { iconUrl: 'javascript:alert(1)' },
    { iconUrl: 'https://user:pass@a.example/i.png' },
    { iconUrl: `https://a.example/${'x'.repeat(2_048)}` },
    { iconUrl: 'https://a.example/a b.png' },
    { iconUrl: new URL('https://a.example') },
    { merchant: 'Harbour' },
    { merchant: {} },
    { merchant: { name: '' } },
    { merchant: { name: 'a', website: 'a.example' } },
    { merchant: { name: 'a', logo: 'ftp://a.example/logo' } },
    { merchant: { name: 'a', categories: 'weather' } },
    { merchant: { name: 'a', categories: [''] } },
    { merchant: { name: 'a', categories: [1] } },
    { merchant: { name: 'a', web: 'https://a.example' } },
  ])('cannot be %o', over => refusedWith('invalid_agent', () => anAgent(over)))

  it('are the first five tags that fit, each once', () => {
    const tags = ['text', 'Text', '', 'größe', 'x'.repeat(33), 'a', 'b', 'c', 'd', 'e']
    expect(quotedTags(tags)).toEqual(['text', 'a', 'b', 'c', 'd'])
    expect(quotedTags([])).toEqual([])
  })

  it('loses nothing in an official index, and the official schema reads it, whatever is given', () => {
    const given = fc.record({
      name: fc.string({ minLength: 1, unit: 'binary' }),
      serviceName: fc.option(fc.stringMatching(/^[\x20-\x7e]{1,32}$/), { nil: undefined }),
      iconUrl: fc.option(fc.webUrl({ validSchemes: ['https'] }), { nil: undefined }),
      tags: fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a-zA-Z]{1,3}$/))),
    })
    fc.assert(
      fc.property(given, ({ tags, ...over }) => {
        const { serviceName, iconUrl } = anAgent(over)
        const shown = { serviceName, iconUrl, tags: [...quotedTags(tags)] }
        const resource = { url: 'https://a.example/work', ...shown }
        const indexed: Record<string, unknown> = {
          tags: [],
          ...sanitizeResourceServiceMetadata(resource as never),
        }
        // An index shows no icon of an IP address or of this machine.
        expect({ ...indexed, iconUrl: undefined }).toEqual({ ...shown, iconUrl: undefined })
        const entry = { scheme: 'exact', network: 'algorand:x', amount: '1', asset: '1', payTo: 'A' }
        const accepts = [{ ...entry, maxTimeoutSeconds: 60, extra: {} }]
        expect(PaymentRequiredV2Schema.parse({ x402Version: 2, resource, accepts }).resource).toEqual(
          resource,
        )
      }),
    )
  })
})

describe('the merchant', () => {
  const merchant = {
    name: 'Harbour Data',
    website: 'https://harbour.example',
    logo: 'https://harbour.example/logo.png',
    categories: ['weather'],
  }

  it.each([merchant, { name: 'Harbour Data' }])(
    'is an extension that satisfies its own schema: %o',
    given => {
      const extension = merchantExtension(anAgent({ merchant: given }).merchant)!['x402-merchant']
      expect(extension).toMatchObject({ info: given, schema: { type: 'object' } })
      expect(validateDiscoveryExtension(extension as never)).toEqual({ valid: true })
    },
  )

  it('is no extension where none is given', () => {
    expect(merchantExtension(anAgent().merchant)).toBeUndefined()
  })

  it('cannot be changed after it was checked', () => {
    const given = { ...merchant, categories: ['weather'] }
    const checked = anAgent({ merchant: given }).merchant
    given.categories.push('more')
    given.name = 'Other'
    expect(checked).toEqual(merchant)
    expect([checked, checked!.categories].every(Object.isFrozen)).toBe(true)
  })
})
