/** What a stranger can learn for nothing, over HTTP: manifest, OpenAPI document, and the Bazaar's declaration in a 402. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { request } from 'node:http'
import { Validator } from '@seriousme/openapi-schema-validator'
import { validateDiscoveryExtension, validateDiscoveryExtensionSpec } from '@x402/extensions/bazaar'
import { describe, expect, it } from 'vitest'
import { encodeAddress } from '../../src/adapters/algorand/address.js'
import { defineAgent, defineEndpoint, type Manifest, serve, verifyManifest } from '../../src/index.js'
import { answerOf } from '../support/answers.js'
import { ask, challengeIn, open, pay, type Seller } from '../support/seller.js'

const input = {
  type: 'object',
  required: ['text'],
  properties: {
    text: { type: 'string', minLength: 1 },
    max: { type: 'integer', minimum: 40, maximum: 2000 },
  },
} as const
const summarize = defineEndpoint({
  name: 'summarize',
  price: '$0.01',
  input,
  handler: () => ({ summary: 's' }),
})
const lookup = defineEndpoint({ name: 'find/one', method: 'GET', price: '$0.01', input, handler: () => 1 })
const metered = defineEndpoint({ name: 'metered', price: () => '$0.03', handler: () => 1 })
const window = defineEndpoint({
  name: 'window',
  subscription: { price: '$1', period: '1d' },
  handler: () => 1,
})
const hidden = defineEndpoint({ name: 'hidden', price: '$0.01', listed: false, input, handler: () => 1 })

const warnings = () => {
  const messages: string[] = []
  const silent = () => {}
  const logger = {
    debug: silent,
    info: silent,
    error: silent,
    warn: (_: object, text: string) => messages.push(text),
  }
  return { messages, logger: logger as never }
}

async function bazaarIn(seller: Seller, path: string, method = 'POST'): Promise<Record<string, unknown>> {
  const { extensions } = challengeIn(await ask(`${seller.url}${path}`, { method }))
  return extensions?.bazaar as Record<string, unknown>
}

describe('the Bazaar’s declaration', () => {
  it('is in the 402 of every listed endpoint, and passes the official validators', async () => {
    const seller = await open([summarize, lookup, metered, window])
    for (const [path, method] of [['/summarize'], ['/find/one', 'GET'], ['/metered'], ['/window']] as const) {
      const bazaar = await bazaarIn(seller, path, method)
      expect(validateDiscoveryExtension(bazaar as never)).toEqual({ valid: true })
      expect(validateDiscoveryExtensionSpec(bazaar)).toEqual({ valid: true })
    }
    expect(await bazaarIn(seller, '/summarize')).toMatchObject({
      info: { input: { method: 'POST', bodyType: 'json', body: { text: 'example', max: 40 } } },
    })
    expect(await bazaarIn(seller, '/find/one', 'GET')).toMatchObject({
      info: { input: { method: 'GET', queryParams: { text: 'example', max: 40 } } },
    })
  })

  it('lists an endpoint once it was paid for, and what its example says can be sent', async () => {
    const seller = await open([summarize, hidden])
    const { info } = (await bazaarIn(seller, '/summarize')) as { info: { input: { body: unknown } } }
    const listings = async () =>
      (await answerOf(fetch(`${seller.sandbox.facilitatorUrl}/discovery/resources`))).items
    expect(await listings()).toEqual([])

    expect((await pay(seller, `${seller.url}/summarize`, { body: info.input.body })).status).toBe(200)
    expect((await pay(seller, `${seller.url}/hidden`, { body: { text: 'a' } })).status).toBe(200)
    expect(await listings()).toMatchObject([
      { resource: `${seller.url}/summarize`, type: 'http', extensions: { bazaar: { info } } },
    ])
  })

  it('is not made for what is not listed', async () => {
    const seller = await open([hidden])
    const { extensions } = challengeIn(await ask(`${seller.url}/hidden`))
    expect(Object.keys(extensions!)).toEqual(['sign-in-with-x'])
  })

  it('specification 4.4.3: is there, with a warning, also where the schema is large or no example is found', async () => {
    const { messages, logger } = warnings()
    const code = {
      type: 'object',
      required: ['c'],
      properties: { c: { type: 'string', pattern: '^(x7-y){3}$' } },
    }
    const strange = defineEndpoint({
      name: 'strange',
      price: '$0.01',
      input: code as never,
      handler: () => 1,
    })
    const long = { type: 'object', description: 'l'.repeat(4_000) }
    const large = defineEndpoint({ name: 'large', price: '$0.01', input: long as never, handler: () => 1 })
    const seller = await open([strange, large], { logger })
    for (const path of ['/strange', '/large']) {
      const bazaar = await bazaarIn(seller, path)
      expect(validateDiscoveryExtension(bazaar as never)).toEqual({ valid: true })
    }
    expect(messages).toEqual([
      expect.stringMatching(/'strange'.*`examples`/),
      expect.stringMatching(/'large'.*descriptions.*bytes/),
    ])
    expect((await pay(seller, `${seller.url}/strange`, { body: { c: 'x7-yx7-yx7-y' } })).status).toBe(200)
    const { items } = await answerOf(fetch(`${seller.sandbox.facilitatorUrl}/discovery/resources`))
    expect(items).toMatchObject([{ resource: `${seller.url}/strange` }])
  })
})

describe('a quote', () => {
  it('is read by any client, however long the description: the manifest alone has all of it', async () => {
    const description = `${'€'.repeat(499)}😀${'x'.repeat(20_000)}`
    const verbose = defineEndpoint({ name: 'verbose', price: '$0.01', description, handler: () => 1 })
    const seller = await open([verbose])
    const quoted = await ask(`${seller.url}/verbose`)
    expect(challengeIn(quoted).resource).toMatchObject({ description: `${'€'.repeat(499)}😀…` })
    expect((await pay(seller, `${seller.url}/verbose`)).status).toBe(200)
    const manifest = (await (await fetch(`${seller.url}/.well-known/svc.json`)).json()) as Manifest
    expect(manifest.endpoints).toMatchObject([{ description }])
  })
})

describe('the manifest', () => {
  const read = async (url: string, headers: Record<string, string> = {}) =>
    (await (await fetch(`${url}/.well-known/svc.json`, { headers })).json()) as Manifest

  it('names URLs by the scheme and host that a proxy forwards, under the base path', async () => {
    const seller = await open([summarize, hidden], { basePath: '/api' })
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agent.example' }
    const urls = async (base: string, headers?: Record<string, string>) =>
      (await read(base, headers)).endpoints.map(({ url }) => url)
    expect(await urls(seller.url)).toEqual([`${seller.url}/api/summarize`])
    expect(await urls(`${seller.url}/api`)).toEqual([`${seller.url}/api/summarize`])
    expect(await urls(seller.url, forwarded)).toEqual(['https://agent.example/api/summarize'])
  })

  it('names a host with an underscore, as those of containers are', async () => {
    const { text } = await raw(`${(await open([summarize])).url}/.well-known/svc.json`, {
      host: 'my_agent:4021',
    })
    expect((JSON.parse(text) as Manifest).endpoints[0]!.url).toBe('http://my_agent:4021/summarize')
  })

  it('never echoes a header that is no host or scheme', async () => {
    const hostile: Record<string, string>[] = [
      { 'x-forwarded-host': 'evil.example/path' },
      { 'x-forwarded-host': '"><script>alert(1)</script>' },
      { 'x-forwarded-host': 'user@evil.example' },
      { 'x-forwarded-host': 'ev il.example' },
      { 'x-forwarded-host': 'évil.example' },
      { 'x-forwarded-host': '' },
      { 'x-forwarded-proto': 'javascript' },
      { 'x-forwarded-proto': 'https://evil.example' },
      { host: '<evil>' },
      { host: 'evil.example:80:80' },
    ]
    const seller = await open([summarize])
    for (const headers of hostile) {
      for (const path of ['/.well-known/svc.json', '/openapi.json', '/health']) {
        const { text, cache } = await raw(seller.url + path, headers)
        expect(text, JSON.stringify(headers)).not.toMatch(/evil|ev il|vil\.example|<script|javascript|user@/)
        expect(text).toContain(path === '/health' ? '"ok":true' : `"${seller.url}`)
        expect(cache).toBe('no-store')
      }
    }
  })

  it('is remembered for no more hosts than an honest deployment has', async () => {
    const seller = await open([summarize])
    for (let i = 0; i < 100; i++) await read(seller.url, { 'x-forwarded-host': `h${i}.example` })
    const [endpoint] = (await read(seller.url, { 'x-forwarded-host': 'h0.example' })).endpoints
    expect(endpoint?.url).toBe('http://h0.example/summarize')
  })
})

describe('a signed manifest', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const address = addressOf(publicKey)
  const origin = 'https://agent.example'
  const atOrigin = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agent.example' }
  const read = async ({ url }: Seller, headers: Record<string, string> = atOrigin) =>
    (await (await fetch(`${url}/.well-known/svc.json`, { headers })).json()) as Manifest

  it('is signed once, for its own origin alone, and verified by whoever knows the address', async () => {
    let signatures = 0
    const signer = {
      origin,
      address,
      sign(bytes: Uint8Array) {
        signatures++
        return sign(null, bytes, privateKey)
      },
    }
    const seller = await open([summarize], { advanced: { signManifest: signer } })
    const [manifest] = await Promise.all([read(seller), read(seller), read(seller)])
    expect(signatures).toBe(1)
    expect(manifest!.signature).toMatchObject({ alg: 'ed25519', address })
    expect(verifyManifest(manifest!, { address })).toEqual({ ok: true, address })
    expect(verifyManifest(manifest!)).toEqual({ ok: false, reason: 'foreign_signer' })
    expect(verifyManifest({ ...manifest!, payTo: address })).toEqual({ ok: false, reason: 'bad_signature' })

    const elsewhere = await read(seller, { 'x-forwarded-host': 'evil.example' })
    expect(elsewhere).not.toHaveProperty('signature')
    expect(verifyManifest(elsewhere)).toEqual({ ok: false, reason: 'unsigned' })
    expect(signatures).toBe(1)
  })

  it('goes without a signature while the signer fails, and the signer is asked again', async () => {
    const signers = [
      () => {
        throw new Error('locked')
      },
      async () => new Uint8Array(3),
      async (bytes: Uint8Array) => sign(null, bytes, generateKeyPairSync('ed25519').privateKey),
      async (bytes: Uint8Array) => sign(null, bytes, privateKey),
    ]
    const signer = { origin, address, sign: (bytes: Uint8Array) => signers.shift()!(bytes) }
    const seller = await open([summarize], { advanced: { signManifest: signer } })
    for (let i = 0; i < 3; i++) expect(await read(seller)).not.toHaveProperty('signature')
    expect(verifyManifest(await read(seller), { address }).ok).toBe(true)
  })

  it.each([
    [{ alg: 'none', address, value: '' }, 'malformed'],
    [{ alg: 'ed25519', address: 'A'.repeat(58), value: '' }, 'malformed'],
    [{ alg: 'ed25519', address, value: 'AAAA' }, 'bad_signature'],
    [null, 'malformed'],
  ])('is refused with the signature %j: %s', (signature, reason) => {
    const manifest = { payTo: address, signature } as unknown as Manifest
    expect(verifyManifest(manifest)).toEqual({ ok: false, reason })
  })

  it.each([
    { origin: 'https://agent.example/' },
    { origin: 'agent.example' },
    { address: 'A'.repeat(58) },
    { sign: undefined },
  ])('is refused at start: %j', wrong => {
    const signer = { origin, address, sign: () => new Uint8Array(64), ...wrong } as never
    const agent = defineAgent({
      name: 'a',
      handle: 'abc',
      description: 'd',
      payTo: address,
      endpoints: [summarize],
    })
    expect(() => serve(agent, { port: 0, advanced: { signManifest: signer } })).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    )
  })
})

describe('the OpenAPI document', () => {
  it('is served at the root and under the base path, valid, for the host that asks', async () => {
    const seller = await open([summarize, lookup, hidden, metered, window], { basePath: '/api' })
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agent.example' }
    for (const base of [seller.url, `${seller.url}/api`]) {
      const response = await fetch(`${base}/openapi.json`, { headers })
      expect(response.headers.get('content-type')).toMatch('application/json')
      const document = (await response.json()) as { servers: unknown; paths: object }
      expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
      expect(document.servers).toEqual([{ url: 'https://agent.example/api' }])
      expect(Object.keys(document.paths)).toEqual(['/summarize', '/find/one', '/metered', '/window'])
    }
  })
})

describe('an endpoint’s end', () => {
  const old = defineEndpoint({
    name: 'old',
    price: '$0.01',
    deprecated: '2026-01-01',
    sunset: new Date('2027-06-30T12:00:00Z'),
    handler: () => 1,
  })

  it('is announced on quotes, answers and refusals', async () => {
    const seller = await open([old, summarize])
    const responses = [
      await ask(`${seller.url}/old`),
      await pay(seller, `${seller.url}/old`),
      await ask(`${seller.url}/old`, { body: '{' }),
      await ask(`${seller.url}/old`, { headers: { 'idempotency-key': 'with space' } }),
    ]
    for (const { headers } of responses) {
      expect(headers.get('deprecation')).toBe(`@${Date.UTC(2026, 0, 1) / 1_000}`)
      expect(headers.get('sunset')).toBe('Wed, 30 Jun 2027 12:00:00 GMT')
      expect(headers.get('access-control-expose-headers')).toMatch(/Deprecation.*Sunset/)
    }
    expect((await ask(`${seller.url}/summarize`)).headers.get('deprecation')).toBeNull()
  })

  it.each([
    { deprecated: true },
    { deprecated: '2026-02-30' },
    { deprecated: 'soon' },
    { sunset: new Date(Number.NaN) },
    { sunset: '06/30/2027' },
    { deprecated: '2027-01-01', sunset: '2026-12-31' },
  ])('is a real moment, or invalid_endpoint: %j', moments => {
    expect(() =>
      defineEndpoint({ name: 'x', price: '$1', handler: () => 1, ...(moments as object) }),
    ).toThrow(expect.objectContaining({ code: 'invalid_endpoint' }))
  })
})

describe('an address whose checksum does not hold', () => {
  it('is served, and warned of at start', async () => {
    const { messages, logger } = warnings()
    await open([summarize], { payTo: 'A'.repeat(58), logger })
    expect(messages).toEqual([expect.stringMatching(/^payTo A{58}/)])
  })
})

/** A request with headers that `fetch` would not send. */
function raw(url: string, headers: Record<string, string>): Promise<{ text: string; cache: unknown }> {
  const latin1 = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  )
  return new Promise((resolve, reject) => {
    request(url, { headers: latin1, agent: false }, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => resolve({ text, cache: response.headers['cache-control'] }))
    })
      .on('error', reject)
      .end()
  })
}

function addressOf(key: KeyObject): string {
  return encodeAddress(key.export({ format: 'der', type: 'spki' }).subarray(-32))
}
