import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RECEIVED_DEPTH_MAX } from '../../src/domain/json.js'
import { CAIP2, isIdOf, MAINNET, networkIdsOf, TESTNET } from '../../src/domain/network.js'
import {
  decodeHeader,
  encodeHeader,
  type PaymentRequirements,
  presentedPayment,
  readRequirements,
  sameTerms,
  speltAs,
} from '../../src/domain/x402.js'

const terms: PaymentRequirements = {
  scheme: 'exact',
  network: CAIP2.testnet,
  amount: '10000',
  asset: '10458941',
  payTo: 'A'.repeat(58),
  maxTimeoutSeconds: 300,
  extra: { feePayer: 'B'.repeat(58) },
}

describe('a header', () => {
  it('carries any JSON object and gives it back', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), object => {
        const wire: unknown = JSON.parse(JSON.stringify(object))
        expect(decodeHeader(encodeHeader(object))).toEqual(wire)
      }),
    )
  })

  it('is printable ASCII, whatever the text', () => {
    expect(encodeHeader({ text: '☃\r\nX: 1' })).toMatch(/^[A-Za-z0-9+/]+=*$/)
  })

  it.each([
    ['nothing', ''],
    ['raw JSON', '{"x402Version":2}'],
    ['white space', ` ${encodeHeader({})}`],
    ['a line break', `${encodeHeader({})}\n`],
    [
      'URL-safe base64',
      Buffer.from('{"a":"~~~???"}').toString('base64').replaceAll('+', '-').replaceAll('/', '_').concat('-'),
    ],
    ['too much padding', `${Buffer.from('{"a":12}').toString('base64')}===`],
    ['an array', encodeHeader([])],
    ['a string', encodeHeader('x')],
    ['null', encodeHeader(null)],
    ['a number', encodeHeader(2)],
    ['broken JSON', Buffer.from('{"a":').toString('base64')],
    ['no text', Buffer.from([0xff, 0xfe]).toString('base64')],
  ])('of %s is unreadable', (_, text) => expect(decodeHeader(text)).toBeUndefined())

  it('is read or unreadable, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), text => {
        const read = decodeHeader(text)
        expect(read === undefined || typeof read === 'object').toBe(true)
      }),
    )
  })

  it('is standard base64, with any padding and any rest of bits, and nothing else', () => {
    const letter = fc.constantFrom(...'ABCXYZabcxyz0189+/=-_ \u0141\u00e9')
    const spelt = fc.tuple(fc.string({ unit: letter, maxLength: 3 }), fc.nat(3)).map(([more, cut]) => {
      const text = encodeHeader({ a: 12 })
      return text.slice(0, text.length - cut) + more
    })
    let read = 0
    fc.assert(
      fc.property(spelt, text => {
        const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text)
        let expected: unknown
        try {
          if (isBase64) expected = JSON.parse(Buffer.from(text, 'base64').toString())
        } catch {
          // No JSON.
        }
        if (expected !== undefined) read++
        expect(decodeHeader(text)).toEqual(expected)
      }),
    )
    expect(read).toBeGreaterThan(0)
  })

  it('cannot reach a prototype', () => {
    const read = decodeHeader(Buffer.from('{"__proto__":{"polluted":true}}').toString('base64'))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })
})

describe('a presented payment', () => {
  const nested = (depth: number): object => (depth === 1 ? {} : { in: nested(depth - 1) })

  it.each([
    ['objects', nested(RECEIVED_DEPTH_MAX), nested(RECEIVED_DEPTH_MAX + 1)],
    [
      'lists',
      { in: JSON.parse('['.repeat(RECEIVED_DEPTH_MAX - 1) + ']'.repeat(RECEIVED_DEPTH_MAX - 1)) },
      { in: JSON.parse('['.repeat(RECEIVED_DEPTH_MAX) + ']'.repeat(RECEIVED_DEPTH_MAX)) },
    ],
  ])('nests no deeper than what is received may: %s', (_, deepest, deeper) => {
    expect(presentedPayment(deepest, 'it').kind).toBe('read')
    expect(presentedPayment(deeper, 'it').kind).toBe('malformed')
  })

  it('of a hundred thousand levels is refused, and ends no process', () => {
    const header = Buffer.from(`{"a":${'['.repeat(49_000)}${']'.repeat(49_000)}}`).toString('base64')
    expect(presentedPayment(decodeHeader(header), 'it').kind).toBe('malformed')
  })
})

describe('terms', () => {
  it('are the same under both ids of one network, and whatever else is said', () => {
    expect(sameTerms({ ...terms }, terms, TESTNET)).toBe(true)
    expect(sameTerms({ ...terms, network: TESTNET.wholeHashId }, terms, TESTNET)).toBe(true)
    expect(sameTerms({ ...terms, maxTimeoutSeconds: 1, extra: {}, more: 1 }, terms, TESTNET)).toBe(true)
  })

  it.each([
    { scheme: 'upto' },
    { network: CAIP2.mainnet },
    { network: 'algorand:unknown' },
    { network: undefined },
    { amount: '1' },
    { amount: 10_000 },
    { amount: '010000' },
    { asset: 10_458_941 },
    { asset: '0' },
    { payTo: 'B'.repeat(58) },
    { payTo: undefined },
  ])('are others with %o', over => expect(sameTerms({ ...terms, ...over }, terms, TESTNET)).toBe(false))
})

describe('our requirements', () => {
  const ids = [...networkIdsOf(MAINNET, 'both'), ...networkIdsOf(TESTNET, 'both')]
  const anyNetwork = fc.oneof(
    fc.constantFrom<unknown>(...ids, undefined, 'algorand:*', 'eip155:1'),
    fc.string(),
  )
  const anyAccepted = fc.oneof(
    fc.jsonValue(),
    fc.record({ network: anyNetwork, amount: fc.string(), payTo: fc.string(), extra: fc.jsonValue() }),
    fc.record({ network: anyNetwork }).map(over => ({ ...terms, ...over })),
  )

  it('take nothing of the payer’s but the spelling of their own network', () => {
    fc.assert(
      fc.property(anyAccepted, fc.constantFrom(...networkIdsOf(TESTNET, 'both')), (accepted, network) => {
        const ours = { ...terms, network }
        const spelt = speltAs(accepted, ours, TESTNET)
        expect({ ...spelt, network }).toEqual(ours)
        expect(isIdOf(TESTNET, spelt.network)).toBe(true)
        const theirs = (accepted as { network?: unknown } | null)?.network
        expect(spelt.network).toBe(isIdOf(TESTNET, theirs) ? theirs : network)
      }),
    )
  })

  it('match what a payer echoes of either entry, and the match does not depend on the spelling', () => {
    fc.assert(
      fc.property(anyAccepted, accepted => {
        const entries = networkIdsOf(TESTNET, 'both').map(network => ({ ...terms, network }))
        const [one, other] = entries.map(entry => sameTerms({ ...(accepted as object) }, entry, TESTNET))
        expect(one).toBe(other)
        for (const entry of entries)
          expect(sameTerms(JSON.parse(JSON.stringify(entry)), terms, TESTNET)).toBe(true)
      }),
    )
  })

  it('are the same object where the payer spells as they do', () => {
    for (const accepted of [undefined, null, [], {}, terms, { network: MAINNET.wholeHashId }])
      expect(speltAs(accepted, terms, TESTNET)).toBe(terms)
  })
})

describe('an entry of a quote', () => {
  it('is read where a payer can rely on it', () => {
    expect(readRequirements(terms)).toEqual(terms)
    expect(readRequirements({ ...terms, extra: undefined })).toBeDefined()
    expect(readRequirements({ ...terms, extra: null })).toBeDefined()
  })

  it.each([
    { scheme: undefined },
    { network: 1 },
    { amount: 10_000 },
    { amount: '-1' },
    { amount: '1.5' },
    { amount: '1e4' },
    { amount: undefined },
    { asset: 10_458_941 },
    { payTo: null },
    { maxTimeoutSeconds: '300' },
    { maxTimeoutSeconds: 0 },
    { maxTimeoutSeconds: -1 },
    { maxTimeoutSeconds: Number.NaN },
    { maxTimeoutSeconds: undefined },
    { extra: 'x' },
    { extra: [] },
  ])('is unreadable with %o', over => expect(readRequirements({ ...terms, ...over })).toBeUndefined())

  it.each([[undefined], [null], ['x'], [1], [[]], [[terms]]])('%o is none', value => {
    expect(readRequirements(value)).toBeUndefined()
  })
})
