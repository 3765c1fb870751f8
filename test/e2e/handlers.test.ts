/** What a handler hands over, as an answer or as a failure: what is sold, what is told, and what stays in the log. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type Handler, type Logger, OUTCOMES, SvcClient, SvcError } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { ask, open, pay, type Seller, signedIn, signFor } from '../support/seller.js'

interface Line {
  readonly level: string
  readonly fields: Record<string, unknown>
  readonly message: string
}

function collector() {
  const lines: Line[] = []
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message })
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { lines, logger }
}

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc

/** One paid call of this handler, and all that is to be seen of it. */
async function sold(handler: Handler, options: object = {}) {
  const { lines, logger } = collector()
  const seller = await open([defineEndpoint({ name: 'work', price: '$0.01', handler, ...options })], {
    logger,
  })
  const response = await pay(seller, `${seller.url}/work`)
  return { seller, lines, response, last: seller.ended.at(-1)! }
}

describe('bytes are answered as bytes', () => {
  const binary = [0, 255, 254, 10]
  const answers: Record<string, readonly [answer: () => unknown, type: string]> = {
    'a Buffer': [() => Buffer.from(binary), 'application/octet-stream'],
    'a part of a Buffer': [() => Buffer.from([9, ...binary, 9]).subarray(1, 5), 'application/octet-stream'],
    'a Uint8Array': [() => new Uint8Array(binary), 'application/octet-stream'],
    'an ArrayBuffer': [() => new Uint8Array(binary).buffer, 'application/octet-stream'],
    'a Blob': [() => new Blob([new Uint8Array(binary)]), 'application/octet-stream'],
    'a Blob with a type': [() => new Blob([new Uint8Array(binary)], { type: 'image/png' }), 'image/png'],
  }
  for (const [name, [answer, type]] of Object.entries(answers)) {
    it(name, async () => {
      const { response, seller } = await sold(answer)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe(type)
      expect([...new Uint8Array(await response.arrayBuffer())]).toEqual(binary)
      expect(received(seller)).toBe(10_000n)
    })
  }

  it('and stay what they were when the handler uses its buffer again', async () => {
    const buffer = Buffer.from('sold')
    const { response } = await sold(() => {
      setImmediate(() => buffer.fill('x'))
      return buffer
    })
    expect(await response.text()).toBe('sold')
  })

  it('a text and null are answered as JSON', async () => {
    expect(await (await sold(() => 'ä')).response.text()).toBe('"ä"')
    expect(await (await sold(() => null)).response.text()).toBe('null')
  })

  it('over A2A as a file, over MCP as a resource', async () => {
    const endpoint = defineEndpoint({ name: 'work', price: '$0.01', handler: () => Buffer.from('ä') })
    const seller = await open([endpoint])
    const parts = [{ kind: 'text', text: 'go' }]
    const message = { kind: 'message', role: 'user', messageId: 'm', parts }
    const a2a = await ask(`${seller.url}/a2a`, {
      body: { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } },
      headers: await signFor(seller, `${seller.url}/work`),
    })
    const bytes = Buffer.from('ä').toString('base64')
    expect(await a2a.json()).toMatchObject({
      result: { artifacts: [{ parts: [{ file: { bytes, mimeType: 'application/octet-stream' } }] }] },
    })
    const payment = signedIn(await signFor(seller, `${seller.url}/work`))
    const mcp = await ask(`${seller.url}/mcp`, {
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'work', arguments: {}, _meta: { 'x402/payment': payment } },
      },
    })
    expect(await mcp.text()).toContain(`"blob":"${bytes}"`)
    expect(received(seller)).toBe(20_000n)
  })
})

describe('what is no answer is not sold, and the log says which it was', () => {
  const mistakes: Record<string, readonly [answer: () => unknown, logged: RegExp]> = {
    'an Error that is returned': [() => new Error('secret'), /an Error \(Error\)/],
    'a return that is missing': [() => {}, /undefined .*`return`/],
    NaN: [() => ({ price: Number.NaN }), /NaN at \/price$/],
    'a function': [() => () => 1, /a function/],
    'a Map': [() => ({ rows: new Map([[1, 2]]) }), /a Map at \/rows$/],
    'a promise inside': [() => [Promise.resolve(1)], /not awaited at \/0$/],
    'an async generator': [async function* () {}, /a stream/],
    'an async iterable': [() => ({ [Symbol.asyncIterator]: () => ({}), a: 1 }), /a stream/],
    'a ReadableStream': [() => new ReadableStream(), /a stream/],
    'a Buffer inside': [() => ({ file: Buffer.from('x') }), /bytes \(Buffer\).* at \/file$/],
    'a BigInt': [() => ({ n: 1n }), /a BigInt at \/n$/],
    'a cycle': [() => cycle(), /contains itself at \/self$/],
    'a Response that was read': [async () => read(new Response('x')), /a Response whose body was read/],
    'a Response whose headers no client can read': [
      () => new Response('x', { headers: { 'x-long': 'a'.repeat(9_000) } }),
      /a Response with 9\d+ bytes of headers/,
    ],
    'a Response whose stream breaks': [() => new Response(breaking()), /a handler failed/],
    'a toJSON that changes its mind': [() => fickle(), /undefined/],
  }
  for (const [name, [answer, logged]] of Object.entries(mistakes)) {
    it(name, async () => {
      const { response, seller, lines, last } = await sold(answer)
      expect(response.status).toBe(500)
      const text = await response.text()
      expect(JSON.parse(text)).toEqual({ error: { code: 'handler_error', message: expect.any(String) } })
      expect(text).not.toContain('secret')
      expect(received(seller)).toBe(0n)
      expect(last.final).toBe('failed')
      expect(lines).toContainEqual(
        expect.objectContaining({ level: 'error', message: expect.stringMatching(logged) }),
      )
    })
  }

  async function read(response: Response) {
    await response.text()
    return response
  }

  function breaking() {
    return new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array([1]))
        controller.error(new Error('upstream gone'))
      },
    })
  }

  function cycle() {
    const value: Record<string, unknown> = {}
    value.self = value
    return value
  }

  function fickle() {
    let asked = 0
    return { toJSON: () => (asked++ === 0 ? 'sound' : undefined) }
  }
})

describe('the error of a handler', () => {
  const openAi = Object.assign(new Error('Incorrect API key provided: sk-secret'), {
    status: 401,
    code: 'invalid_api_key',
  })
  const foreign = { status: 429, statusCode: 429, code: 'secret', message: 'secret' }

  for (const [name, thrown] of Object.entries({ 'of an SDK': openAi, 'that is no Error': foreign })) {
    it(`${name} is for the log alone`, async () => {
      const { response, lines } = await sold(() => Promise.reject(thrown))
      expect(response.status).toBe(500)
      const text = await response.text()
      expect(JSON.parse(text).error.code).toBe('handler_error')
      expect(text).not.toMatch(/secret|invalid_api_key/)
      expect(lines).toContainEqual({
        level: 'error',
        message: 'a handler failed',
        fields: expect.objectContaining({ err: thrown, endpoint: 'work' }),
      })
    })
  }

  const chosen: Record<string, readonly [thrown: unknown, status: number, code: string]> = {
    'an SvcError': [new SvcError('chosen', 'no_such_city', 404), 404, 'no_such_city'],
    'an SvcError without a status': [new SvcError('chosen', 'no_model'), 500, 'no_model'],
    'an error of http-errors': [
      Object.assign(new Error('chosen'), { expose: true, status: 410, statusCode: 410 }),
      410,
      'handler_error',
    ],
    'an error with a statusCode alone': [
      Object.assign(new Error('chosen'), { expose: true, statusCode: 422, code: 'odd' }),
      422,
      'odd',
    ],
  }
  for (const [name, [thrown, status, code]] of Object.entries(chosen)) {
    it(`${name} says what callers are told`, async () => {
      const { response, seller } = await sold(() => Promise.reject(thrown))
      expect(response.status).toBe(status)
      expect(await response.json()).toEqual({ error: { code, message: 'chosen' } })
      expect(received(seller)).toBe(0n)
    })
  }

  it('of another copy of this package says it as well', async () => {
    const copy = '../../src/domain/errors.js?another'
    const { SvcError: Other } = (await import(copy)) as { SvcError: typeof SvcError }
    const thrown = new Other('chosen', 'no_such_city', 404)
    expect(thrown).not.toBeInstanceOf(SvcError)
    const { response } = await sold(() => Promise.reject(thrown))
    expect([response.status, await response.json()]).toEqual([
      404,
      { error: { code: 'no_such_city', message: 'chosen' } },
    ])
  })

  it('that http-errors made for nobody is told to nobody', async () => {
    const thrown = Object.assign(new Error('secret'), { expose: false, status: 503 })
    const { response } = await sold(() => Promise.reject(thrown))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
  })

  const words = [
    ...Object.values(OUTCOMES).map(({ code }) => code),
    ...['store_unavailable', 'payment_of_tomorrow', 'settlement_pending', 'idempotency_lost'],
  ].filter(code => code !== 'handler_error')
  it('cannot say what only this server says', async () => {
    let code = ''
    const { lines, logger } = collector()
    const handler = () => Promise.reject(new SvcError('chosen', code, 409))
    const seller = await open([defineEndpoint({ name: 'work', price: '$0.01', handler })], { logger })
    const headers = await signFor(seller, `${seller.url}/work`)
    for (code of words) {
      const response = await ask(`${seller.url}/work`, { headers })
      expect([response.status, await response.json()]).toEqual([
        409,
        { error: { code: 'handler_error', message: 'chosen' } },
      ])
      const warnings = lines.filter(({ level }) => level === 'warn')
      expect(warnings.at(-1)).toMatchObject({ fields: { withheld: `code ${code}` } })
    }
  })

  it('chooses a status of a failure, and never a quote’s', async () => {
    let status: unknown
    const handler = () => Promise.reject(Object.assign(new SvcError('chosen', 'odd'), { status }))
    const seller = await open([defineEndpoint({ name: 'work', price: '$0.01', handler })])
    const headers = await signFor(seller, `${seller.url}/work`)
    for (status of [200, 302, 399, 402, 600, 404.5, '404', Number.NaN, {}]) {
      const response = await ask(`${seller.url}/work`, { headers })
      expect([status, response.status]).toEqual([status, 500])
      expect(response.headers.get('payment-required')).toBeNull()
      expect(await response.json()).toEqual({ error: { code: 'odd', message: 'chosen' } })
    }
  })

  it('of a purchase that the handler made is for the log alone', async () => {
    const upstream = closing((await sold(() => 1)).seller)
    const { algodUrl, wallet } = upstream.sandbox
    const client = new SvcClient({
      network: 'testnet',
      algodUrl,
      mnemonic: wallet.mnemonic,
      maxPrice: '$0.001',
    })
    const { response, lines } = await sold(() => client.call(`${upstream.url}/work`))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toMatch(/price_above_max|0\.001|127\.0\.0\.1/)
    expect(lines).toContainEqual(
      expect.objectContaining({
        fields: expect.objectContaining({ err: expect.objectContaining({ code: 'price_above_max' }) }),
      }),
    )
  })

  it('leaves nothing of itself in what the handler logged', async () => {
    const { response } = await sold(({ log }) => {
      const failed = Object.assign(new Error('secret'), { config: { headers: { authorization: 'secret' } } })
      log('upstream failed', failed)
      log('again', { failed, toJSON: undefined })
      throw new SvcError('upstream failed', 'upstream', 502)
    })
    const text = await response.text()
    expect(text).not.toContain('secret')
    expect(JSON.parse(text).error.logs).toMatchObject([{ data: 'Error' }, { data: { failed: 'Error' } }])
  })
})

describe('a Response that fails', () => {
  it('keeps its status, headers and body', async () => {
    const { response } = await sold(
      () => new Response('{"why":"no such city"}', { status: 404, headers: { 'x-own': 'yes' } }),
    )
    expect([response.status, response.headers.get('x-own'), await response.json()]).toEqual([
      404,
      'yes',
      { why: 'no such city' },
    ])
  })

  const challenge = { x402Version: 2, accepts: [{ scheme: 'exact', amount: '1' }] }
  const passedOn: Record<string, readonly [response: () => Response, status: number]> = {
    'a quote': [
      () => Response.json(challenge, { status: 402, headers: { 'payment-required': 'e30=' } }),
      500,
    ],
    'a quote of another status': [() => Response.json(challenge, { status: 400 }), 400],
    'a payment that was spent': [
      () => Response.json({ error: { code: 'payment_spent' } }, { status: 409 }),
      409,
    ],
    'a settlement that is unknown': [
      () => new Response('{"error":{"code":"settlement_unknown"}}', { status: 503 }),
      503,
    ],
  }
  for (const [name, [answer, status]] of Object.entries(passedOn)) {
    it(`does not pass ${name} on as ours`, async () => {
      const { response, lines, seller } = await sold(answer)
      expect(response.status).toBe(status)
      expect(response.headers.get('payment-required')).toBeNull()
      expect(await response.json()).toEqual({ error: { code: 'handler_error', message: expect.any(String) } })
      expect(lines).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          fields: expect.objectContaining({ withheld: expect.any(String) }),
        }),
      )
      expect(received(seller)).toBe(0n)
    })
  }

  it('has no receipt of its own, under the older name neither', async () => {
    const { response } = await sold(() => new Response('x', { headers: { 'x-payment-response': 'e30=' } }))
    expect(response.headers.get('x-payment-response')).toBeNull()
  })
})

it('a returned object that looks like a failure is an answer, and warned of once', async () => {
  const { lines, logger } = collector()
  const handler = ({ body }: { body: unknown }) => body
  const endpoint = defineEndpoint({ name: 'work', price: '$0.01', handler })
  const other = defineEndpoint({ name: 'other', price: '$0.01', handler })
  const seller = await open([endpoint, other], { logger })
  const failure = { status: 404, error: 'no such city' }
  for (const body of [{ status: 404 }, { status: 'failed', error: 1 }, { status: 200, body: 1 }]) {
    await pay(seller, `${seller.url}/work`, { body })
  }
  const warnings = () =>
    lines.filter(({ message }) => message.includes('status of 400')).map(line => line.fields)
  expect(warnings()).toEqual([])
  for (const body of [failure, failure, { status: 500, body: 'x' }]) {
    const response = await pay(seller, `${seller.url}/work`, { body })
    expect([response.status, await response.json()]).toEqual([200, body])
  }
  await pay(seller, `${seller.url}/other`, { body: failure })
  expect(warnings()).toEqual([{ endpoint: 'work' }, { endpoint: 'other' }])
  expect(received(seller)).toBe(70_000n)
})
