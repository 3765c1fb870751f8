/** Which entry of a quote is payable, and what a quote says it is for. */
import { describe, expect, it } from 'vitest'
import { estimateOf } from '../../src/app/client/call-paid.js'
import { unfitRequest } from '../../src/app/client/check-before-signing.js'
import type { HttpReply } from '../../src/app/client/http-reply.js'
import {
  agentAt,
  balanceByCall,
  balanceOffer,
  challengeOf,
  foreignOrigin,
  isQuote,
  keepsKeys,
  payableEntry,
  selectRequirements,
} from '../../src/app/client/read-quote.js'
import { CAIP2, TESTNET, USDC_ASSET_ID } from '../../src/domain/network.js'
import { BALANCE_EXTENSION, encodeHeader, type PaymentRequired } from '../../src/domain/x402.js'
import vectors from '../vectors/payments.json' with { type: 'json' }

const [vector] = vectors.payments
const PAY_TO = vector!.facilitatorBody.paymentRequirements.payTo

const entry = (changes: object = {}) => ({
  scheme: 'exact',
  network: CAIP2.testnet,
  asset: String(USDC_ASSET_ID.testnet),
  amount: '10000',
  payTo: PAY_TO,
  maxTimeoutSeconds: 60,
  ...changes,
})
const challenge = (accepts: readonly unknown[], changes: object = {}) =>
  ({ x402Version: 2, accepts, ...changes }) as PaymentRequired

describe('an entry', () => {
  it.each([
    ['as it should be', {}],
    ['of one unit', { amount: '1' }],
    ['without anything extra', { extra: null }],
    ['with a sponsor', { extra: { feePayer: PAY_TO } }],
    ['that names no sponsor', { extra: { feePayer: null } }],
    ['that is paid after the work', { extra: { paymentFlow: 'authorization' } }],
    ['under the network’s other name', { network: `algorand:${TESTNET.genesisHash}` }],
  ])('%s is payable', (_, changes) => {
    expect(payableEntry(challenge([entry(changes)]), TESTNET)).toEqual(entry(changes))
  })

  it.each([
    ['for nothing', { amount: '0' }],
    ['of another scheme', { scheme: 'upto' }],
    ['on another network', { network: CAIP2.mainnet }],
    ['in another asset', { asset: String(USDC_ASSET_ID.mainnet) }],
    ['to nobody', { payTo: 'A'.repeat(58) }],
    ['with a sponsor that is none', { extra: { feePayer: 'A'.repeat(58) } }],
    ['that is paid before the work', { extra: { paymentFlow: 'upfront' } }],
  ])('%s is passed over', (_, changes) => {
    expect(payableEntry(challenge([entry(changes)]), TESTNET)).toBeUndefined()
    expect(payableEntry(challenge([entry(changes), entry()]), TESTNET)).toEqual(entry())
  })
})

describe('a quote', () => {
  const asked = new URL('https://seller.example/a')
  const quoted = (body: object): HttpReply => ({
    status: 402,
    headers: new Headers(),
    bytes: Buffer.from(JSON.stringify(body)),
    oversized: false,
  })

  it('is of the origin that it names, where it names another one', () => {
    const of = (url: unknown) => foreignOrigin(challenge([], { resource: { url } }), asked)
    expect(of('https://seller.example/b')).toBeUndefined()
    expect(of('https://other.example/a')).toBe('https://other.example')
    for (const unread of [undefined, 5, 'no address', ['https://other.example/a']]) {
      expect(of(unread)).toBeUndefined()
    }
  })

  it('is a 402 of the address that was asked, not of one behind a redirect', () => {
    const reply = quoted(challenge([entry()]))
    expect(isQuote(reply)).toBe(true)
    expect(isQuote({ ...reply, location: 'https://other.example/a' })).toBe(false)
    expect(isQuote({ ...reply, status: 200 })).toBe(false)
  })

  it('is not estimated as refused where the limits cannot be read', async () => {
    const down = new Error('the ledger is down')
    const limits = { refusalOf: () => Promise.reject(down) }
    const settings = {
      network: TESTNET,
      strictResource: false,
      limits,
      balances: { quoted: () => undefined },
    }
    const request = { url: asked, method: 'POST', headers: {} }
    await expect(estimateOf(request, challenge([entry()]), settings as never)).rejects.toBe(down)
  })

  it('that offers no way to pay says so', () => {
    const terms = { network: TESTNET, strictResource: false } as const
    expect(() => selectRequirements(asked, challengeOf(quoted(challenge([]))), terms)).toThrow(
      expect.objectContaining({
        code: 'unreadable_quote',
        status: 402,
        message:
          'The quote of https://seller.example offers no way to pay exactly in USDC on testnet; nothing was paid',
      }),
    )
  })

  it('for other networks names them, each once', () => {
    const accepts = [CAIP2.mainnet, CAIP2.mainnet, 'eip155:8453'].map(network => entry({ network }))
    const terms = { network: TESTNET, strictResource: false } as const
    expect(() => selectRequirements(asked, challengeOf(quoted(challenge(accepts))), terms)).toThrow(
      "on testnet (it is for mainnet, 'eip155:8453'); nothing was paid",
    )
    const dear = [entry({ asset: '1' }), ...accepts]
    expect(() => selectRequirements(asked, challengeOf(quoted(challenge(dear))), terms)).toThrow(
      'on testnet; nothing was paid',
    )
  })

  it('for a resource elsewhere is warned of, and refused where the caller is strict', () => {
    const elsewhere = quoted(challenge([entry()], { resource: { url: 'https://other.example/a' } }))
    const message = 'The quote of https://seller.example is for a resource at https://other.example'
    const { warnings } = selectRequirements(asked, challengeOf(elsewhere), {
      network: TESTNET,
      strictResource: false,
    })
    expect(warnings).toEqual([{ code: 'resource_elsewhere', message }])
    expect(() =>
      selectRequirements(asked, challengeOf(elsewhere), { network: TESTNET, strictResource: true }),
    ).toThrow(
      expect.objectContaining({
        code: 'resource_elsewhere',
        status: 402,
        message: `${message}; nothing was paid`,
      }),
    )
  })
})

describe('the balance of a quote', () => {
  const url = new URL('https://seller.example/agent/calls/a')
  const SOLD_AT = 'https://seller.example/agent/balance'
  const offered = (info: object, accepts: readonly unknown[] = [entry()]) =>
    balanceOffer(url, challenge(accepts, { extensions: { [BALANCE_EXTENSION]: { info } } }), TESTNET)

  it('pays for the call what the call costs by itself, where nothing else is said', () => {
    for (const only of [undefined, false, 'true'])
      expect(offered({ endpoint: SOLD_AT, only, price: '300' })).toEqual({
        agent: SOLD_AT,
        accepted: entry(),
      })
    expect(agentAt(SOLD_AT)).toBe('https://seller.example/agent')
  })

  it('that alone pays for the call takes the price that is said of the call, not that of the balance', () => {
    expect(offered({ endpoint: SOLD_AT, only: true, price: '300' })).toEqual({
      agent: SOLD_AT,
      accepted: entry({ amount: '300' }),
      only: 10_000n,
    })
    for (const price of [undefined, '0.3', '-1'])
      expect(() => offered({ endpoint: SOLD_AT, only: true, price })).toThrow(
        expect.objectContaining({
          code: 'unreadable_quote',
          status: 402,
          message:
            'The quote of https://seller.example does not say what the call costs on a balance; nothing was paid',
        }),
      )
  })

  it.each([
    5,
    'no address',
    'https://other.example/agent/balance',
    'https://seller.example/another/balance',
    'https://seller.example/agent/calls/a/balance',
  ])('is none where another agent may sell it: at %s', endpoint => {
    expect(offered({ endpoint, only: true, price: '300' })).toBeUndefined()
  })

  it('is none where nothing is payable, or nothing is quoted', () => {
    expect(offered({ endpoint: SOLD_AT }, [])).toBeUndefined()
    expect(balanceOffer(url, undefined, TESTNET)).toBeUndefined()
    // Made a text, it would read as one address.
    expect(offered({ endpoint: [SOLD_AT], only: true, price: '300' })).toBeUndefined()
  })
})

describe('a balance at the address that is called', () => {
  const url = new URL('https://seller.example/agent/balance?x=1')

  it('is not bought by a call, which would not keep its key, and the refusal says what would', () => {
    const sold = entry({ extra: { balancePeriod: '90d' } })
    expect(balanceByCall(url, sold as never)).toMatchObject({
      code: 'invalid_request',
      status: 402,
      message:
        "https://seller.example sells a balance here: topUp('https://seller.example/agent', …), or svc balance --buy, keeps its key; nothing was paid",
    })
  })

  it('is none where the quote is of a call, or can not be paid', () => {
    for (const other of [entry(), entry({ extra: {} }), entry({ extra: null }), undefined])
      expect(balanceByCall(url, other as never)).toBeUndefined()
  })
})

describe('the entry that is paid', () => {
  const dear = entry({ amount: '20000' })
  const week = entry({ amount: '100', extra: { subscriptionPeriod: '1w' } })
  const hour = entry({ amount: '50', extra: { subscriptionPeriod: '1h' } })

  it.each([
    ['the cheapest of a call', undefined, [dear, week, entry(), dear], entry()],
    [
      'the first of those that cost the same',
      undefined,
      [{ ...entry(), note: 1 }, entry()],
      { ...entry(), note: 1 },
    ],
    ['a window where no call is sold', 'call', [week, hour], hour],
    ['the cheapest window where one is wanted', 'window', [entry({ amount: '1' }), week, hour], hour],
    ['a call where a window is wanted and none is sold', 'window', [dear, entry()], entry()],
  ] as const)('is %s', (_, wanted, accepts, paid) => {
    expect(payableEntry(challenge(accepts), TESTNET, wanted)).toMatchObject(paid)
    const terms = { network: TESTNET, strictResource: false, ...(wanted && { wanted }) }
    expect(
      selectRequirements(new URL('https://seller.example/a'), challenge(accepts), terms).accepted,
    ).toMatchObject(paid)
  })

  it('is none of another version of the protocol', () => {
    expect(payableEntry(challenge([entry()], { x402Version: 1 }), TESTNET)).toBeUndefined()
  })
})

describe('the challenge of a 402', () => {
  const reply = (header: object | string | undefined, body: unknown): HttpReply => ({
    status: 402,
    headers: new Headers({
      ...(header !== undefined && {
        'payment-required': typeof header === 'string' ? header : encodeHeader(header),
      }),
    }),
    bytes: Buffer.from(JSON.stringify(body)),
    oversized: false,
  })
  const [one, other] = [challenge([entry()]), challenge([entry({ amount: '1' })])]

  it('is in its header, and in its body where the header holds none', () => {
    expect(challengeOf(reply(one, other))).toEqual(one)
    for (const none of [undefined, 'no base64', {}, { accepts: {} }])
      expect(challengeOf(reply(none, other))).toEqual(other)
    expect(challengeOf(reply(undefined, []))).toBeUndefined()
  })

  it('lists at most a hundred ways to pay', () => {
    const listing = (count: number) => challenge(Array.from({ length: count }, () => entry()))
    expect(challengeOf(reply(undefined, listing(100)))!.accepts).toHaveLength(100)
    expect(challengeOf(reply(undefined, listing(101)))).toBeUndefined()
    expect(challengeOf(reply(listing(101), one))).toEqual(one)
  })
})

describe('a seller keeps answers by their keys', () => {
  it('where its quote says so', () => {
    const says = (extensions: unknown) => keepsKeys(challenge([entry()], { extensions }))
    expect(says({ 'payment-identifier': {} })).toBe(true)
    for (const extensions of [undefined, {}, 'payment-identifier', { 'payment-identifier': true }])
      expect(says(extensions)).toBe(false)
  })
})

describe('a request that is quoted, and would be refused once it is paid', () => {
  const URL_ASKED = 'https://seller.example/a'
  const declared = (input: object, parts: object = {}) => ({
    resource: { url: URL_ASKED },
    extensions: {
      bazaar: {
        info: { input: { type: 'http', ...input } },
        schema: { properties: { input: { properties: parts } } },
      },
    },
  })
  const post = declared({ method: 'POST' }, { body: { required: ['text', 'max'] } })
  const get = declared({ method: 'GET' }, { queryParams: { required: ['q'] } })
  const lists = declared({ method: 'GET' }, { queryParams: { required: ['ids', 'filter'] } })
  const properties = { q: {}, limit: { default: 10 } }
  const withDefault = declared({ method: 'GET' }, { queryParams: { required: ['q', 'limit'], properties } })
  const body = '{}'
  it.each<[string, string, { method: string; body?: string }, object]>([
    ['by another method', "it takes 'POST', and this is a GET", { method: 'GET' }, post],
    ['without its body', "it needs a body with 'text, max'", { method: 'POST' }, post],
    ['without its query', "its query needs 'q'", { method: 'GET' }, get],
    ['without several of its query', "its query needs 'ids, filter'", { method: 'GET' }, lists],
    ['without all but a default', "its query needs 'q'", { method: 'GET' }, withDefault],
  ])('is told: %s', (_, why, asked, changes) => {
    const refused = unfitRequest({ url: new URL(URL_ASKED), ...asked }, challenge([entry()], changes))
    expect(refused).toMatchObject({ code: 'invalid_request', status: 402 })
    expect(refused!.message).toContain(`: ${why}; nothing was paid`)
  })

  it('is told where its query has another field', () => {
    const asked = { url: new URL(`${URL_ASKED}?other=1&question=2`), method: 'GET' }
    expect(unfitRequest(asked, challenge([entry()], get))!.message).toContain("its query needs 'q'")
  })

  it.each<[string, { method: string; body?: string }, string, object]>([
    [
      'of a quote that names no address',
      { method: 'GET' },
      URL_ASKED,
      { ...post, resource: { url: 'none' } },
    ],
    ['of a quote that names nothing', { method: 'GET' }, URL_ASKED, { ...post, resource: undefined }],
    ['as it is declared', { method: 'POST', body }, URL_ASKED, post],
    ['with its query', { method: 'GET' }, `${URL_ASKED}?q=`, get],
    [
      'with a list and an object in its query',
      { method: 'GET' },
      `${URL_ASKED}?ids[]=1&filter[name]=x`,
      lists,
    ],
    ['where what it lacks has a default', { method: 'GET' }, `${URL_ASKED}?q=x`, withDefault],
    [
      'of an endpoint that needs no body',
      { method: 'POST' },
      URL_ASKED,
      declared({ method: 'POST' }, { body: {} }),
    ],
    ['at an address that sells many', { method: 'POST', body }, 'https://seller.example/a2a', get],
    ['of a tool', { method: 'POST' }, URL_ASKED, declared({ type: 'mcp', method: 'GET' })],
    ['where nothing is declared', { method: 'GET' }, URL_ASKED, { resource: { url: URL_ASKED } }],
    [
      'where nonsense is',
      { method: 'GET' },
      URL_ASKED,
      declared({ method: 5 }, { body: 5, queryParams: { required: [1] } }),
    ],
  ])('is none: %s', (_, asked, url, changes) => {
    expect(unfitRequest({ url: new URL(url), ...asked }, challenge([entry()], changes))).toBeUndefined()
  })
})
