/** What an endpoint asks: the terms of a quote, the challenge that is encoded once, and what a price function says. */
import { describe, expect, it, vi } from 'vitest'
import type { EndpointEntry } from '../../src/app/charge/charge-deps.js'
import { quotedPrice } from '../../src/app/charge/effects/price.js'
import { type Terms, type TermsOptions, termsOf, UNPAID } from '../../src/app/charge/payment-challenge.js'
import { type EndpointDef, endpoint } from '../../src/domain/endpoint.js'
import { CAIP2, PUBLIC_NETWORKS, TESTNET, USDC_ASSET_ID } from '../../src/domain/network.js'
import { decodeHeader, type PaymentRequirements } from '../../src/domain/x402.js'
import { PAYMENT, type Scene, scene } from '../support/charge-fixture.js'

const OPTIONS = { network: TESTNET, payTo: 'SELLER', maxTimeoutSeconds: 60, networkIds: 'both' } as const
const SUPPORTED = { network: CAIP2.testnet, feePayer: 'SPONSOR' }
const URL = 'https://a.example'

function terms(
  def: Partial<EndpointDef> = {},
  extensions?: Record<string, unknown>,
  options: Partial<TermsOptions> = {},
): Terms {
  return termsOf(
    { name: 'work', description: 'Works.', amount: '10000', ...def } as EndpointDef,
    { ...OPTIONS, ...options },
    extensions,
  )
}

/** The two entries of a quote. */
const offered = (asked: PaymentRequirements) => [asked, { ...asked, network: TESTNET.wholeHashId }]

/** What a quote declares about proofs of the payer. */
const signIn = (uri: string, domain: string, chainIds = [CAIP2.testnet, TESTNET.wholeHashId]) => ({
  info: { domain, uri, version: '1', nonce: '0000000000000000', issuedAt: '1970-01-01T00:00:00Z' },
  supportedChains: chainIds.map(chainId => ({ chainId, type: 'ed25519' })),
  schema: { type: 'object', required: expect.arrayContaining(['domain', 'requestId', 'signature']) },
})

describe('terms', () => {
  it('ask for the price in USDC, for the seller, on our network', () => {
    expect(terms().requirements(10_000n, undefined)).toEqual({
      scheme: 'exact',
      network: CAIP2.testnet,
      amount: '10000',
      asset: String(USDC_ASSET_ID.testnet),
      payTo: 'SELLER',
      maxTimeoutSeconds: 60,
      extra: {},
    })
  })

  it.each([
    [{ price: '$0.01' }, '10000'],
    [{ subscription: { price: '$2', period: '1h' } }, '2000000'],
    [{ price: () => '$1' }, undefined],
  ])('of %j are those of the amount %s', (def, amount) => {
    expect(endpoint({ name: 'work', handler: () => 1, ...def }).amount).toBe(amount)
  })

  it('name who pays the fee only while the facilitator offers to', () => {
    const { requirements } = terms()
    const extras = [undefined, SUPPORTED, { network: CAIP2.testnet }, undefined].flatMap(supported => [
      requirements(10_000n, supported).extra,
      requirements(7n, supported).extra,
    ])
    const sponsored = { feePayer: 'SPONSOR' }
    expect(extras).toEqual([{}, {}, sponsored, sponsored, {}, {}, {}, {}])
  })

  it('of a fixed price are one object as long as the facilitator says the same, whatever else is asked for', () => {
    const { requirements } = terms()
    const first = requirements(10_000n, SUPPORTED)
    expect(requirements(7n, SUPPORTED).amount).toBe('7')
    expect(requirements(10_000n, SUPPORTED)).toBe(first)
    expect(requirements(10_000n, { ...SUPPORTED })).not.toBe(first)
  })
})

describe('a challenge', () => {
  it('says what is paid for and how, in the header as well', () => {
    const { challenge, requirements } = terms({}, { bazaar: { info: 1 } })
    const { required, header } = challenge(URL, requirements(10_000n, undefined), 'why')
    expect(required).toEqual({
      x402Version: 2,
      error: 'why',
      resource: { url: `${URL}/work`, description: 'Works.', mimeType: 'application/json' },
      accepts: offered(requirements(10_000n, undefined)),
      extensions: { bazaar: { info: 1 }, 'sign-in-with-x': signIn(URL, 'a.example') },
    })
    expect(decodeHeader(header)).toEqual(required)
    const plain = terms()
    expect(plain.challenge(URL, plain.requirements(1n, undefined), 'why').required.extensions).toEqual({
      'sign-in-with-x': signIn(URL, 'a.example'),
    })
  })

  it.each([
    ['/items/:id', URL, '/items/:id'],
    ['/items/:id', `${URL}/v1`, '/v1/items/:id'],
    ['/items/:id', `${URL}/v1/`, '/v1/items/:id'],
    ['/items/all', URL, undefined],
    ['/items/:id/*', URL, undefined],
  ])('of the path %s at %s lists all paths of its pattern as %s', (path, baseUrl, routeTemplate) => {
    const bazaar = { info: 1 }
    const said = (extensions: Record<string, unknown>) => {
      const { challenge, requirements } = terms({ path }, extensions)
      return challenge(baseUrl, requirements(10_000n, undefined), UNPAID).required.extensions!
    }
    const listed = said({ bazaar, other: 2 })
    expect(listed).toMatchObject({ other: 2 })
    expect(listed.bazaar).toEqual(routeTemplate === undefined ? bazaar : { ...bazaar, routeTemplate })
    expect(said({ other: 2 })).not.toHaveProperty('bazaar')
  })

  it('is for the path of the call, and names its service and its tags where it has any', () => {
    const path = '/items/:id'
    const said = (def: Partial<EndpointDef>, options?: Partial<TermsOptions>) => {
      const { challenge, requirements } = terms({ path, ...def }, {}, options)
      const asked = requirements(10_000n, undefined)
      challenge(URL, asked, UNPAID, '/items/6')
      return challenge(URL, asked, UNPAID, '/items/7').required.resource
    }
    const resource = { url: `${URL}/items/7`, description: 'Works.', mimeType: 'application/json' }
    expect(said({})).toEqual(resource)
    expect(said({ tags: [] })).toEqual(resource)
    const service = { serviceName: 'Works' }
    expect(said({ tags: ['a', 'b'] }, { service })).toEqual({ ...resource, ...service, tags: ['a', 'b'] })
  })

  describe('of an agent that sells balances', () => {
    const balance = { amounts: ['$0.2', '$1'], period: '90d' }
    const said = (def: Partial<EndpointDef>) => {
      const { challenge, requirements } = terms(def, {}, { balance })
      return challenge(URL, requirements(10_000n, undefined), UNPAID).required
    }
    const info = { endpoint: `${URL}/balance`, header: 'x-svc-balance-key', period: '90d' }
    const amounts = ['200000', '1000000']

    it('says which they are, and asks for the price of the call', () => {
      const { accepts, extensions, resource } = said({})
      expect(extensions!['svc-balance']).toMatchObject({ info: { ...info, amounts } })
      expect((extensions!['svc-balance'] as { info: object }).info).not.toHaveProperty('only')
      expect(accepts.map(entry => entry.amount)).toEqual(['10000', '10000'])
      expect(accepts.map(entry => entry.extra)).toEqual([{}, {}])
      expect(resource.url).toBe(`${URL}/work`)
    })

    it('sells the smallest, at its own address, where nothing else pays for the call', () => {
      const { accepts, extensions, resource } = said({ only: 'balance' })
      expect(extensions!['svc-balance']).toMatchObject({
        info: { ...info, amounts, only: true, price: '10000' },
      })
      expect(accepts.map(entry => entry.amount)).toEqual(['200000', '200000'])
      expect(resource.url).toBe(`${URL}/balance`)
    })

    it('says how long one lasts where it is sold, and nothing where none pays', () => {
      const sale = said({ sells: 'balance' } as Partial<EndpointDef>)
      expect(sale.accepts.map(entry => entry.extra)).toEqual(Array(2).fill({ balancePeriod: '90d' }))
      expect(sale.extensions).not.toHaveProperty('svc-balance')
      expect(said({ balance: false }).extensions).not.toHaveProperty('svc-balance')
    })
  })

  it('declares proofs for the address that they are compared with, on the chains that it offers', () => {
    const def = { name: 'work', description: '', amount: '10000' } as EndpointDef
    const declared = (options: Partial<Parameters<typeof termsOf>[1]>, baseUrl = URL) => {
      const { challenge, requirements } = termsOf(def, { ...OPTIONS, ...options })
      return challenge(baseUrl, requirements(10_000n, undefined), UNPAID).required.extensions![
        'sign-in-with-x'
      ]
    }
    expect(declared({}, 'http://127.0.0.1:8080')).toEqual(signIn('http://127.0.0.1:8080', '127.0.0.1:8080'))
    const publicUrl = 'https://public.example'
    expect(declared({ publicUrl })).toEqual(signIn(publicUrl, 'public.example'))
    expect(declared({ networkIds: 'short' })).toEqual(signIn(URL, 'a.example', [CAIP2.testnet]))
  })

  it.each(['mainnet', 'testnet'] as const)('offers both spellings of %s, or only that of CAIP-2', network => {
    const ids = (networkIds: 'short' | 'both', amount: bigint | undefined, paidIn: string) => {
      const def = { name: 'work', description: '', amount } as EndpointDef
      const { challenge, requirements } = termsOf(def, {
        ...OPTIONS,
        network: PUBLIC_NETWORKS[network],
        networkIds,
      })
      const paid = { ...requirements(10_000n, SUPPORTED), network: paidIn }
      return challenge(URL, paid, UNPAID).required.accepts.map(entry => entry.network)
    }
    const both = [CAIP2[network], PUBLIC_NETWORKS[network].wholeHashId]
    for (const amount of [10_000n, undefined])
      for (const paidIn of both) {
        expect(ids('both', amount, paidIn)).toEqual(both)
        expect(ids('short', amount, paidIn)).toEqual(both.slice(0, 1))
      }
  })

  it('of a fixed price is encoded once for each base URL', () => {
    const { challenge, requirements } = terms()
    const asked = requirements(10_000n, undefined)
    const first = challenge(URL, asked, UNPAID)
    expect(challenge('https://b.example', asked, UNPAID).required.resource.url).toBe('https://b.example/work')
    challenge(URL, requirements(7n, undefined), UNPAID)
    expect(challenge(URL, asked, UNPAID)).toBe(first)
  })

  it('is never one of other terms or for another reason', () => {
    const { challenge, requirements } = terms()
    const before = requirements(10_000n, undefined)
    challenge(URL, before, UNPAID)
    const after = requirements(10_000n, SUPPORTED)
    expect(challenge(URL, after, UNPAID).required.accepts).toEqual(offered(after))
    expect(challenge(URL, before, UNPAID).required.accepts).toEqual(offered(before))
    expect(challenge(URL, requirements(7n, SUPPORTED), UNPAID).required.accepts[0]!.amount).toBe('7')
    expect(challenge(URL, after, 'expired').required.error).toBe('expired')
    expect(challenge(URL, after, UNPAID).required).toMatchObject({ error: UNPAID, accepts: offered(after) })
  })

  it('is not kept for more base URLs than an honest seller has', () => {
    const { challenge, requirements } = terms()
    const asked = requirements(10_000n, undefined)
    const at = (host: number) => challenge(`https://${host}.example`, asked, UNPAID)
    const first = at(0)
    for (let host = 1; host < 64; host++) at(host)
    expect(at(0)).toBe(first)
    at(64)
    expect(at(0)).not.toBe(first)
    expect(at(64)).toBe(at(64))
  })

  it.each([
    ['x'.repeat(500), 'x'.repeat(500)],
    ['x'.repeat(501), `${'x'.repeat(500)}…`],
    ['😀'.repeat(500), '😀'.repeat(500)],
    ['😀'.repeat(501), `${'😀'.repeat(500)}…`],
  ])(
    'shortens a description by whole characters, so that clients can read the header',
    (description, said) => {
      const { challenge, requirements } = terms({ description })
      const { required } = challenge(URL, requirements(10_000n, undefined), UNPAID)
      expect(required.resource.description).toBe(said)
    },
  )
})

type PriceOf = (asked: { body: unknown; headers: object; query: unknown }) => string | Promise<string>

const INPUT = {
  type: 'object',
  properties: { words: { type: 'number', examples: [3] } },
  required: ['words'],
}

function asking(price: PriceOf, def: object = {}, { call, ...given }: Scene = {}) {
  const priceOf = vi.fn(price)
  const it = scene({
    endpoint: { def: { name: 'work', method: 'POST', input: INPUT, price: priceOf, ...def } as never },
    ...given,
    call: { input: {}, ...call },
  })
  const asked = () => priceOf.mock.calls.map(([what]) => what)
  return { call: it.call, asked }
}

/** Of the words that are asked for; it throws where there are none. */
const byWords: PriceOf = ({ body }) => `$${(body as { words: number }).words.toFixed(2)}`

describe('a price function', () => {
  it('is asked about the input as it was checked, and about the request', async () => {
    const request = { headers: { a: '1' }, query: { b: '2' } }
    const { call, asked } = asking(byWords, {}, { request, call: { input: { words: 2 } } })
    expect(await quotedPrice(call)).toBe(2_000_000n)
    expect(asked()).toEqual([{ body: { words: 2 }, ...request, params: {} }])
  })

  it('may take its time', async () => {
    expect(await quotedPrice(asking(async () => '$0.5').call)).toBe(500_000n)
  })

  it.each<[string, string, object, unknown]>([
    ['POST', 'body', { b: '2' }, { body: { words: 3 }, headers: {}, query: { b: '2' }, params: {} }],
    ['GET', 'query', {}, { body: { words: 3 }, headers: {}, query: { words: 3 }, params: {} }],
  ])('that a probe by %s gives nothing to work with is asked about an example in its %s', async (...row) => {
    const [method, , query, about] = row
    const { call, asked } = asking(byWords, { method }, { request: { query: query as never } })
    expect(await quotedPrice(call)).toBe(3_000_000n)
    expect(asked()).toHaveLength(2)
    expect(asked()[1]).toEqual(about)
  })

  it('that has a price for a probe as it is is asked about no example', async () => {
    const { call, asked } = asking(() => '$1')
    expect(await quotedPrice(call)).toBe(1_000_000n)
    expect(asked()).toHaveLength(1)
  })

  it.each<[string, Scene['request']]>([
    ['pays', { payment: PAYMENT }],
    ['brings a payment that cannot be read', { payment: { kind: 'malformed', why: 'not JSON' } }],
    ['brings input', { body: { kind: 'read', value: {} } }],
    ['brings input that cannot be read', { body: { kind: 'malformed', why: 'not JSON' } }],
  ])('never prices a call that %s by an example', async (_, request) => {
    const { call, asked } = asking(byWords, {}, { request: request! })
    await expect(quotedPrice(call)).rejects.toThrow(TypeError)
    expect(asked()).toHaveLength(1)
  })

  it.each<[string, PriceOf]>([
    ['no price', () => 'for free'],
    ['nothing', () => undefined as never],
    ['no price, in time', async () => '$0'],
  ])('that says %s gives none, of an example either', async (_, price) => {
    await expect(quotedPrice(asking(price).call)).rejects.toMatchObject({ code: 'invalid_price' })
  })

  it('that throws of every input throws, also where the endpoint accepts no example', async () => {
    const cause = new Error('no price today')
    const price = () => {
      throw cause
    }
    await expect(quotedPrice(asking(price).call)).rejects.toBe(cause)
    const check = () => ({ invalid: { field: '', message: 'no' } })
    const { call, asked } = asking(price, {}, { endpoint: {} })
    const endpoint = {
      ...call.endpoint,
      def: asking(price).call.endpoint.def,
      check,
    } as unknown as EndpointEntry
    await expect(quotedPrice({ ...call, endpoint })).rejects.toBe(cause)
    expect(asked()).toEqual([])
  })

  it('cannot spoil the example for the next call, and the example is looked for once', async () => {
    const check = vi.fn((value: unknown) => ({ value }))
    const { call } = asking(asked => {
      const price = byWords(asked)
      ;(asked.body as { words: number }).words = 9
      return price
    }, {})
    Object.assign(call.endpoint, { check })
    expect(await quotedPrice(call)).toBe(3_000_000n)
    expect(await quotedPrice(call)).toBe(3_000_000n)
    expect(check).toHaveBeenCalledTimes(1)
  })

  it('never prices a call on a balance by an example', async () => {
    const balance = { id: 'one', reserved: undefined, left: undefined, said: undefined, charged: undefined }
    const { call, asked } = asking(byWords, {}, { call: { balance: { ...balance, isInDoubt: false } } })
    await expect(quotedPrice(call)).rejects.toThrow(TypeError)
    expect(asked()).toHaveLength(1)
  })

  /** An endpoint with these examples: of them its check accepts those that are whole numbers, and says what becomes of each. */
  function exemplified(examples: readonly unknown[], def: object, checked = (words: number) => ({ words })) {
    const { call, asked } = asking(byWords, def)
    const check = vi.fn(async (sent: unknown) => {
      const { words } = sent as { words: unknown }
      return typeof words === 'number' ? { value: checked(words) } : { invalid: { field: '', message: 'no' } }
    })
    Object.assign(call.endpoint, { check, examples: () => examples })
    return { call, asked, check }
  }

  it('is asked about the first example that the endpoint accepts', async () => {
    const { call } = exemplified([{ words: 'many' }, { words: 4 }, { words: 5 }], {})
    expect(await quotedPrice(call)).toBe(4_000_000n)
  })

  it('is asked about an example as its schema fills it, and as a library returns it, made anew each time', async () => {
    const double = (words: number) => ({ words: 2 * words })
    const { asked, call } = exemplified([{ words: 1 }], { method: 'GET' }, double)
    expect(await quotedPrice(call)).toBe(2_000_000n)
    expect(asked().at(-1)).toMatchObject({ body: { words: 2 }, query: { words: 2 } })
    const library = exemplified([{ words: 1 }], { method: 'GET', inputSchema: {} }, double)
    for (let count = 0; count < 2; count++) expect(await quotedPrice(library.call)).toBe(2_000_000n)
    expect(library.asked().at(-1)).toMatchObject({ body: { words: 2 }, query: { words: 1 } })
    expect(library.check).toHaveBeenCalledTimes(3)
    expect(library.asked().at(-1)!.body).not.toBe(library.asked().at(-3)!.body)
  })

  it('is asked about an example as it is sent, where its library refuses it since, or there is no check', async () => {
    const since = exemplified([{ words: 1 }], { inputSchema: {} })
    since.check.mockResolvedValueOnce({ value: { words: 7 } })
    since.check.mockResolvedValueOnce({ invalid: { field: '', message: 'no' } })
    expect(await quotedPrice(since.call)).toBe(1_000_000n)
    const none = exemplified([{ words: 1 }], { inputSchema: {} })
    Object.assign(none.call.endpoint, { check: undefined })
    expect(await quotedPrice(none.call)).toBe(1_000_000n)
  })

  it('may have an example the next time, where its library failed at first', async () => {
    const { call, check } = exemplified([{ words: 1 }], { inputSchema: {} })
    check.mockRejectedValueOnce(new Error('broken'))
    await expect(quotedPrice(call)).rejects.toThrow('broken')
    expect(await quotedPrice(call)).toBe(1_000_000n)
  })
})
