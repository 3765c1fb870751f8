/** What a seller adds to its quotes, over HTTP: in every quote, in what the facilitator is asked, and in an index. */

import { describe, expect, it } from 'vitest'
import { encodeAddress } from '../../src/adapters/algorand/address.js'
import { type AgentOptions, ALGORAND_TESTNET, defineEndpoint } from '../../src/index.js'
import { fakeFacilitator, json } from '../support/fake-facilitator.js'
import { ask, challengeIn, open, pay, presenting, type Seller, signedIn, signFor } from '../support/seller.js'

const TAG = 'x402-global-challenge'
let runs = 0
const handler = () => ({ run: ++runs })
const plain = defineEndpoint({ name: 'plain', price: '$0.01', handler })
const units = defineEndpoint({
  name: 'units',
  price: ({ body }) => `$0.0${(body as { units?: number }).units ?? 1}`,
  tags: ['text', 'größe', 'a', 'b', 'c', 'd'],
  extra: { weight: 3 },
  handler,
})
const feed = defineEndpoint({ name: 'feed', subscription: { price: '$0.05', period: '1d' }, handler })
const hidden = defineEndpoint({ name: 'hidden', price: '$0.01', listed: false, handler })

const about: Partial<AgentOptions> = {
  serviceName: 'Harbour',
  iconUrl: 'https://harbour.example/icon.png',
  merchant: { name: 'Harbour Data', website: 'https://harbour.example', categories: ['weather'] },
  extra: { tag: TAG, weight: 1, beta: true },
}
const SOLD = [
  { sold: 'a fixed price', path: '/plain', weight: 1, amount: 10_000n },
  { sold: 'a price of the call', path: '/units', body: { units: 3 }, weight: 3, amount: 30_000n },
  { sold: 'a window', path: '/feed', weight: 1, amount: 50_000n, more: { subscriptionPeriod: '1d' } },
]
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc ?? 0n

describe('extra', () => {
  it.each(SOLD)(
    'of $sold is in both entries, and paying them moves the price',
    async ({ path, body, weight, amount, more }) => {
      const seller = await open([plain, units, feed], { about })
      const extra = { tag: TAG, weight, beta: true, ...more, feePayer: seller.sandbox.feePayer }
      const { accepts } = challengeIn(await ask(seller.url + path, { body }))
      expect(accepts.map(entry => entry.extra)).toEqual([extra, extra])
      expect((await pay(seller, seller.url + path, { body })).status).toBe(200)
      expect(received(seller)).toBe(amount)
    },
  )

  it.each(SOLD)(
    'of $sold is what the facilitator is asked, at verify and at settle',
    async ({ path, body, weight, more }) => {
      const feePayer = encodeAddress(new Uint8Array(32))
      const kind = { x402Version: 2, scheme: 'exact', network: ALGORAND_TESTNET, extra: { feePayer } }
      const facilitator = await fakeFacilitator({ '/supported': json({ kinds: [kind] }) })
      const seller = await open([plain, units, feed], { about, facilitatorUrl: facilitator.url })
      const url = seller.url + path
      const ours = { tag: TAG, weight, beta: true, ...more, feePayer }
      // Whatever a payer echoes, and whatever it leaves out, we ask about our own requirements.
      for (const theirs of [ours, {}, undefined, { tag: 'mine', weight: '1', feePayer: 'me', more: [1] }]) {
        const signed = signedIn(await signFor(seller, url, { body }))
        const headers = presenting({ ...signed, accepted: { ...signed.accepted, extra: theirs } })
        const before = facilitator.asked.length
        expect((await ask(url, { body, headers })).status).toBe(200)
        const asked = facilitator.asked.slice(before) as { path: string; body: Envelope }[]
        expect(asked.map(one => [one.path, one.body.paymentRequirements.extra])).toEqual([
          ['/verify', ours],
          ['/settle', ours],
        ])
      }
    },
  )

  it('cannot be changed into other terms by a payer, nor the terms through it', async () => {
    const seller = await open([plain], { about })
    const before = runs
    const signed = signedIn(await signFor(seller, `${seller.url}/plain`))
    const headers = presenting({ ...signed, accepted: { ...signed.accepted, amount: '1' } })
    expect((await ask(`${seller.url}/plain`, { headers })).status).toBe(402)
    expect([runs - before, received(seller)]).toEqual([0, 0n])
  })

  it('and the resource are what an index lists', async () => {
    const seller = await open([units], { about })
    await pay(seller, `${seller.url}/units`, { body: { units: 2 } })
    const listed = await fetch(`${seller.sandbox.url}/discovery/resources`)
    const { items } = (await listed.json()) as { items: readonly Record<string, unknown>[] }
    expect(items).toMatchObject([
      {
        resource: `${seller.url}/units`,
        serviceName: 'Harbour',
        iconUrl: 'https://harbour.example/icon.png',
        tags: ['text', 'a', 'b', 'c', 'd'],
        accepts: [{ amount: '20000', extra: { tag: TAG, weight: 3, beta: true } }],
      },
    ])
  })
})

interface Envelope {
  readonly paymentRequirements: { readonly extra: unknown }
}

describe('a quote', () => {
  it('names service, icon and tags, and carries the merchant, listed or not', async () => {
    const seller = await open([plain, units, hidden], { about })
    const quotes = await Promise.all(
      ['plain', 'units', 'hidden'].map(async name => challengeIn(await ask(`${seller.url}/${name}`))),
    )
    const service = { serviceName: 'Harbour', iconUrl: about.iconUrl }
    for (const { resource, extensions } of quotes) {
      expect(resource).toMatchObject(service)
      expect(extensions!['x402-merchant']).toMatchObject({
        info: about.merchant,
        schema: { required: ['name'] },
      })
    }
    expect(quotes.map(({ resource }) => resource.tags)).toEqual([
      undefined,
      ['text', 'a', 'b', 'c', 'd'],
      undefined,
    ])
    expect(quotes.map(({ extensions }) => 'bazaar' in extensions!)).toEqual([true, true, false])
  })

  it('names the agent as the service, and no merchant, where nothing is said', async () => {
    const seller = await open([hidden])
    const { resource, extensions } = challengeIn(await ask(`${seller.url}/hidden`))
    expect(resource).toEqual({
      url: `${seller.url}/hidden`,
      description: '',
      mimeType: 'application/json',
      serviceName: 'Test agent',
    })
    expect(Object.keys(extensions!)).toEqual(['sign-in-with-x'])
  })
})

describe('a warning at start', () => {
  const warned = async (endpoints: Parameters<typeof open>[0], options: Partial<AgentOptions> = {}) => {
    const warnings: string[] = []
    const silent = () => {}
    // On a busy machine it is told of its node, too.
    const warn = (_: object, text: string) => void (text.includes('node') || warnings.push(text))
    const logger = { debug: silent, info: silent, error: silent, warn }
    const seller = await open(endpoints, { about: options, logger: logger as never })
    const { header } = await quoteHeader(seller, endpoints[0]!.name)
    return { warnings, bytes: header.length }
  }
  const quoteHeader = async (seller: Seller, name: string) => ({
    header: (await ask(`${seller.url}/${name}`)).headers.get('payment-required')!,
  })

  it('is not given for quotes that are shown and read whole', async () => {
    expect((await warned([plain, feed], about)).warnings).toEqual([])
  })

  it('says which tags no index shows', async () => {
    expect((await warned([units])).warnings).toEqual([
      expect.stringMatching(/'units' leave out the tags größe: /),
    ])
  })

  it('says that a name is none of a service', async () => {
    expect((await warned([plain], { name: 'Größe' })).warnings).toEqual([
      expect.stringMatching(/Set serviceName$/),
    ])
  })

  it.each([
    ['a header of less than 8 KiB', 2_100, 0],
    ['a header of more than 8 KiB', 2_500, 1],
  ])('is given for %s as it should be', async (_, length, count) => {
    const { warnings, bytes } = await warned([plain], { extra: { text: 'x'.repeat(length) } })
    expect(bytes > 8_192).toBe(count === 1)
    expect(warnings).toEqual(
      count === 0 ? [] : [expect.stringMatching(/'plain' is a header of about \d+ bytes.*more than 8192/)],
    )
  })
})
