/** What must not work, over the wire: each answer is a clear JSON refusal, no handler runs, nothing is charged, and the server lives. */
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { rawRequest, sendRaw } from '../support/raw-http.js'
import { ask, challengeIn, open, openSeller, pay, type Seller, signFor } from '../support/seller.js'

let runs = 0
const endpoint = defineEndpoint({
  name: 'text/shout',
  price: '$0.01',
  input: { type: 'object', properties: { text: { type: 'string' } } },
  handler() {
    runs++
    return { ok: true }
  },
})
const lookUp = defineEndpoint({
  name: 'look-up',
  price: '$0.01',
  method: 'GET',
  input: {
    type: 'object',
    required: ['n'],
    properties: { n: { type: 'integer' } },
    additionalProperties: false,
  },
  handler({ body }) {
    runs++
    return body
  },
})

let seller: Seller
beforeAll(async () => {
  seller = await openSeller([endpoint, lookUp])
})
afterEach(async () => {
  expect(runs, 'no handler ran').toBe(0)
  expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc, 'nothing was charged').toBe(0n)
  expect((await ask(`${seller.url}/health`, { method: 'GET' })).status, 'the server lives').toBe(200)
})
afterAll(() => seller.close())

async function expectError(response: Response, status: number, code: string) {
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  expect(error.code).toBe(code)
  expect(error.message.length).toBeGreaterThan(10)
}

describe('methods', () => {
  const paid = () => `${seller.url}/text/shout`

  it('HEAD, PUT, PATCH, DELETE and GET on a paid POST route are 405 with Allow, also with a payment', async () => {
    const payment = await signFor(seller, paid())
    for (const method of ['HEAD', 'PUT', 'PATCH', 'DELETE', 'GET']) {
      const response = await ask(paid(), { method, headers: payment })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('POST, OPTIONS')
    }
  })

  it('HEAD on a paid GET route is 405, not a run without its answer', async () => {
    const payment = await signFor(seller, `${seller.url}/look-up?n=1`, { method: 'GET' })
    expect((await ask(`${seller.url}/look-up?n=1`, { method: 'HEAD', headers: payment })).status).toBe(405)
  })

  it('TRACE and made-up methods are refused', async () => {
    for (const method of ['TRACE', 'PROPFIND', 'get', 'POSTX']) {
      const { status } = await sendRaw(seller.url, rawRequest(method, '/text/shout'))
      expect([400, 405]).toContain(status)
    }
  })

  it('a method override in a header or a query overrides nothing', async () => {
    const response = await ask(`${paid()}?_method=GET`, {
      headers: { 'x-http-method-override': 'GET', 'x-method-override': 'OPTIONS' },
    })
    expect(response.status).toBe(402)
  })

  it('OPTIONS is free, says what is allowed, and lets pages send and read the payment headers', async () => {
    const response = await ask(paid(), {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('allow')).toBe('POST, OPTIONS')
    expect(response.headers.get('access-control-allow-methods')).toContain('POST')
    expect(response.headers.get('access-control-allow-headers')).toMatch(/PAYMENT-SIGNATURE/i)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const quoted = await ask(paid(), { headers: { origin: 'https://page.example' } })
    expect(quoted.headers.get('access-control-expose-headers')).toMatch(/PAYMENT-REQUIRED.*PAYMENT-RESPONSE/)
  })
})

describe('paths', () => {
  const strange = [
    '//text/shout',
    '/text//shout',
    '/text/shout/',
    '/Text/shout',
    '/text/%73hout',
    '/text%2fshout',
    '/text/shout;x=1',
    '/text\\shout',
    '/text/shout%00',
    '/text/shout%ff',
    '/./text/shout',
    '/x/../text/shout',
    '/text/shout#x',
    'http://agent.test/text/shout',
    'http://evil.test//text/shout',
    '*',
    'text/shout',
  ]
  for (const target of strange) {
    it(`${target} is not a way around the payment`, async () => {
      const { status, body } = await sendRaw(seller.url, rawRequest('POST', target))
      expect([400, 402, 404]).toContain(status)
      expect(body === '{}' || JSON.parse(body).error.code.length > 0).toBe(true)
    })
  }

  it('an unknown path is told of the document that has all paths', async () => {
    const told = await (await ask(`${seller.url}/v1/agents`)).text()
    const [path] = /\/\.well-known\/[\w.-]+\w/.exec(told)!
    expect(await (await fetch(seller.url + path)).json()).toMatchObject({ endpoints: expect.anything() })
  })

  it('an unknown path is 404 not_found, for every method', async () => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
      await expectError(await ask(`${seller.url}/v1/agents`, { method }), 404, 'not_found')
    }
  })
})

describe('bodies, each with a payment that would be taken', () => {
  const paid = () => `${seller.url}/text/shout`
  const send = async (body: string | Buffer, headers: Record<string, string> = {}) =>
    fetch(paid(), { method: 'POST', body, headers: { ...(await signFor(seller, paid())), ...headers } })

  const malformed = {
    'not JSON': '{"text": ',
    'a lone word': 'undefined',
    NaN: '{"n": NaN}',
    'white space': '   ',
    'trailing data': '{} {}',
    'a byte order mark in the middle': '{\uFEFF"text": "x"}',
    '200,000 nested arrays': `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
    '65 nested objects': `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`,
    __proto__: '{"__proto__": {"admin": true}}',
    '__proto__, escaped': '{"\\u005f_proto__": {"admin": true}}',
    '__proto__, deep': '{"a": [{"b": {"__proto__": []}}]}',
    'constructor.prototype': '{"constructor": {"prototype": {"admin": true}}}',
    'a number beyond a double': '{"n": 1e999}',
    'a negative one': '{"n": -1e999}',
    'one with a capital E': '{"n": 1E+400}',
    'one made by many digits and a small exponent': `{"n": 1${'0'.repeat(300)}e99}`,
    'one of 310 digits': `{"n": ${'9'.repeat(310)}}`,
    'one that rounds up to infinity': '{"n": 1.7976931348623159e308}',
    'one in an array': '{"a": [{"b": [0, 1e999]}]}',
    'one alone': '1e999',
  }
  for (const [name, body] of Object.entries(malformed)) {
    it(`${name} is 400 invalid_json`, async () => {
      await expectError(await send(body), 400, 'invalid_json')
    })
  }

  it('what is JSON and not what the schema wants is 400 invalid_input with field and schema', async () => {
    const response = await send('{"text": 1}')
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_input', field: '/text', schema: { type: 'object' } },
    })
    await expectError(await send('null'), 400, 'invalid_input')
    await expectError(await send('[1]'), 400, 'invalid_input')
  })

  it('30 MB are 413 body_too_large, and their sender gets to read it', async () => {
    await expectError(await send(Buffer.alloc(30_000_000, 0x20)), 413, 'body_too_large')
  })

  it('a body without an end is cut at the limit', async () => {
    const endless = `${rawRequest('POST', '/text/shout', ['Transfer-Encoding: chunked'])}`
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
    const { status, body } = await sendRaw(seller.url, endless + chunk + chunk)
    expect(status).toBe(413)
    expect(JSON.parse(body).error.code).toBe('body_too_large')
  })

  it('a gzip bomb is not unpacked: 415', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    await expectError(await send(bomb, { 'content-encoding': 'gzip' }), 415, 'unsupported_encoding')
  })

  it('a query is validated and coerced, and never trusted', async () => {
    const url = `${seller.url}/look-up`
    const payment = await signFor(seller, `${url}?n=1`, { method: 'GET' })
    for (const query of [
      '?n=1e999',
      '?n=-1e999',
      '?n=Infinity',
      '',
      '?n=x',
      '?n=1&extra=1',
      '?n=1&n=2',
      '?n[__proto__]=1',
      '?__proto__=1',
    ]) {
      await expectError(await ask(url + query, { method: 'GET', headers: payment }), 400, 'invalid_input')
    }
  })
})

describe('payment headers', () => {
  const paid = () => `${seller.url}/text/shout`
  const garbage = {
    'not base64': '***',
    base64url: '__-_',
    'base64 of no JSON': Buffer.from('hello').toString('base64'),
    'base64 of an array': Buffer.from('[]').toString('base64'),
    'base64 of null': Buffer.from('null').toString('base64'),
    empty: '',
  }
  for (const [name, header] of Object.entries(garbage)) {
    it(`${name} is 402 with a quote that says so`, async () => {
      const response = await ask(paid(), { headers: { 'payment-signature': header } })
      expect(response.status).toBe(402)
      expect(challengeIn(response).error).toMatch(/not base64 of a JSON object/)
      expect(await response.json()).toEqual({})
    })
  }

  it('a good payment in base64url is refused, as other servers refuse it', async () => {
    const { 'payment-signature': whole } = (await signFor(seller, paid())) as { 'payment-signature': string }
    const payment = { ...JSON.parse(Buffer.from(whole, 'base64').toString()), note: '~~~???>>>' }
    const header = Buffer.from(JSON.stringify(payment)).toString('base64url')
    expect(header).toMatch(/[-_]/)
    const response = await ask(paid(), { body: { text: 'a' }, headers: { 'payment-signature': header } })
    expect(response.status).toBe(402)
    expect(challengeIn(response).error).toMatch(/not base64 of a JSON object/)
  })

  it('a payment cut anywhere is refused', async () => {
    const { 'payment-signature': whole } = (await signFor(seller, paid())) as { 'payment-signature': string }
    for (let length = 1; length < whole.length - 4; length += 97) {
      const response = await ask(paid(), { headers: { 'payment-signature': whole.slice(0, length) } })
      expect(response.status).toBe(402)
    }
  })

  it('two payment headers that differ are refused', async () => {
    const one = await signFor(seller, paid())
    const other = await signFor(seller, paid())
    const response = await ask(paid(), { headers: { ...one, 'x-payment': other['payment-signature']! } })
    expect(response.status).toBe(402)
    expect(challengeIn(response).error).toMatch(/differ/)
  })

  it('headers above 16 KiB are 431 in JSON', async () => {
    const { status, body } = await sendRaw(
      seller.url,
      rawRequest('POST', '/text/shout', [`PAYMENT-SIGNATURE: ${'A'.repeat(20_000)}`]),
    )
    expect(status).toBe(431)
    expect(JSON.parse(body).error.code).toBe('headers_too_large')
  })

  it('a payment in the trailers is no payment', async () => {
    const { 'payment-signature': header } = (await signFor(seller, paid())) as { 'payment-signature': string }
    const { status } = await sendRaw(
      seller.url,
      `${rawRequest('POST', '/text/shout', ['Transfer-Encoding: chunked', 'Trailer: PAYMENT-SIGNATURE'])}2\r\n{}\r\n0\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`,
    )
    expect(status).toBe(402)
  })

  it('whatever JSON is presented as a payment, the answer is a refusal', async () => {
    await fc.assert(
      fc.asyncProperty(fc.object({ maxDepth: 3 }), async payment => {
        const header = Buffer.from(JSON.stringify(payment)).toString('base64')
        const response = await ask(paid(), { headers: { 'payment-signature': header } })
        expect([402, 503]).toContain(response.status)
        await response.body?.cancel()
      }),
      { numRuns: 60 },
    )
  })
})

describe('what a stranger’s headers can make us print', () => {
  const hostile = [
    'evil.test/path',
    'evil.test"><script>alert(1)</script>',
    'evil test',
    'user:secret@evil.test',
    'evil.test:99999999',
    'evil.test?x',
    'évil.test',
    '-',
    'a'.repeat(300),
  ]
  for (const host of hostile) {
    it(`X-Forwarded-Host ${JSON.stringify(host.slice(0, 40))} is not echoed`, async () => {
      const { status, head } = await sendRaw(
        seller.url,
        rawRequest('POST', '/text/shout', [`X-Forwarded-Host: ${host}`, 'X-Forwarded-Proto: javascript']),
      )
      expect(status).toBe(402)
      const header = /payment-required: (\S+)/i.exec(head)![1]!
      const { resource } = JSON.parse(Buffer.from(header, 'base64').toString())
      expect(resource.url).toBe('http://agent.test/text/shout')
    })
  }

  it('a hostile Host falls back to our own address', async () => {
    const { head } = await sendRaw(
      seller.url,
      'POST /text/shout HTTP/1.1\r\nHost: a"b<c>\r\nConnection: close\r\n\r\n',
    )
    const header = /payment-required: (\S+)/i.exec(head)?.[1]
    if (header) {
      expect(JSON.parse(Buffer.from(header, 'base64').toString()).resource.url).toBe(
        `${seller.url}/text/shout`,
      )
    } else expect(head).toMatch(/^HTTP\/1.1 400/)
  })

  it('a well-formed proxy is believed', async () => {
    const response = await ask(`${seller.url}/text/shout`, {
      headers: { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example.com' },
    })
    expect(challengeIn(response).resource.url).toBe('https://api.example.com/text/shout')
  })

  it('CR and LF end a header; they are never passed on', async () => {
    const { head } = await sendRaw(
      seller.url,
      rawRequest('POST', '/text/shout', ['X-Forwarded-Host: ok.test\r\nX-Injected: yes']),
    )
    expect(head).not.toMatch(/X-Injected/i)
  })
})

describe('caches', () => {
  it('quotes and refusals are not stored, and conditional or partial requests change nothing', async () => {
    const response = await ask(`${seller.url}/text/shout`, {
      headers: { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString(), range: 'bytes=0-1' },
    })
    expect(response.status).toBe(402)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('vary')).toMatch(/PAYMENT-SIGNATURE/)
    expect(response.headers.get('etag')).toBeNull()
  })
})

it('paid bytes are not stored either', async () => {
  const own = await open([defineEndpoint({ name: 'a', price: '$0.01', handler: () => ({ a: 1 }) })])
  const response = await pay(own, `${own.url}/a`, { headers: { 'if-none-match': '*', range: 'bytes=0-1' } })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ a: 1 })
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('vary')).toMatch(/PAYMENT-SIGNATURE/)
})
