/** What becomes of what a handler returned: the bytes that are sold, and what is refused because no caller could get it. */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { NoAnswer, render } from '../../src/app/charge/render-answer.js'

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
const BYTES_TYPE = { 'content-type': 'application/octet-stream' }
const binary = [0, 255, 10]

/** Bytes as numbers, so that classes do not count. */
async function rendered(returned: unknown) {
  const { body, ...rest } = await render(returned)
  return { ...rest, body: typeof body === 'string' ? body : [...body] }
}

const refusal = async (returned: unknown) => {
  try {
    await render(returned)
  } catch (cause) {
    return cause
  }
  throw new Error('it was rendered')
}

describe('JSON', () => {
  it.each<[unknown, string]>([
    [{ a: [1, null], b: undefined }, '{"a":[1,null]}'],
    ['ä', '"ä"'],
    [null, 'null'],
    [0, '0'],
    [false, 'false'],
    [[], '[]'],
    [{}, '{}'],
  ])('is what a value is answered as: %j', (value, body) => {
    expect(render(value)).toEqual({ status: 200, headers: JSON_TYPE, body })
  })

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /no answer: undefined.*[^/]$/],
    ['a part that JSON cannot carry', { rows: [Number.NaN] }, /no answer: NaN at \/rows\/0$/],
    ['a stream', (async function* () {})(), /an endpoint that sells streams has `stream: true`/],
    [
      'a stream that has fields',
      { a: 1, [Symbol.asyncIterator]: () => {} },
      /an endpoint that sells streams has `stream: true`/,
    ],
    ['a value that another time is none', another({ a: 1 }, undefined), /undefined of itself/],
  ])('is not made of %s', async (_, value, why) => {
    const cause = await refusal(value)
    expect(cause).toBeInstanceOf(NoAnswer)
    expect((cause as Error).message).toMatch(why)
  })
})

/** It gives one thing to the first who asks for its JSON, another to the second, and so on in turn. */
function another(first: unknown, second: unknown): object {
  let asked = 0
  return { toJSON: () => (asked++ % 2 === 0 ? first : second) }
}

describe('bytes', () => {
  it.each<[string, unknown]>([
    ['a Uint8Array', new Uint8Array(binary)],
    ['a Buffer', Buffer.from(binary)],
    ['a part of a Buffer', Buffer.from([9, ...binary, 9]).subarray(1, 4)],
    ['an ArrayBuffer', new Uint8Array(binary).buffer],
    ['a SharedArrayBuffer', Object.assign(new Uint8Array(new SharedArrayBuffer(3)), binary).buffer],
    ['bytes of another realm', runInNewContext('new Uint8Array([0, 255, 10])')],
    ['a Blob', new Blob([new Uint8Array(binary)])],
    ['a File', new File([new Uint8Array(binary)], 'a')],
  ])('are answered as they are: %s', async (_, returned) => {
    expect(await rendered(returned)).toEqual({ status: 200, headers: BYTES_TYPE, body: binary })
  })

  it('with a type are answered with it', async () => {
    expect(await rendered(new Blob(['<svg/>'], { type: 'image/svg+xml' }))).toMatchObject({
      headers: { 'content-type': 'image/svg+xml' },
    })
  })

  it('stay what they were when the handler uses its buffer again', async () => {
    const buffer = new Uint8Array(binary)
    const answers = [render(buffer), render(buffer.buffer)]
    buffer.fill(7)
    for (const answer of answers) expect([...((await answer).body as Uint8Array)]).toEqual(binary)
  })

  it('of a type that no header can carry are refused', async () => {
    const blob = Object.defineProperty(new Blob(['a']), 'type', { value: 'text/plain\n' })
    expect(await refusal(blob)).toMatchObject({ code: 'ERR_INVALID_CHAR' })
  })
})

describe('a Response', () => {
  it('is answered with its status, headers, cookies and bytes', async () => {
    const headers = new Headers({ 'content-type': 'text/plain', 'x-own': 'a' })
    headers.append('set-cookie', 'a=1')
    headers.append('set-cookie', 'b=2')
    expect(await rendered(new Response(new Uint8Array(binary), { status: 404, headers }))).toEqual({
      status: 404,
      headers: { 'content-type': 'text/plain', 'x-own': 'a' },
      cookies: ['a=1', 'b=2'],
      body: binary,
    })
  })

  it('without cookies has none to keep', async () => {
    expect(await render(new Response(null))).not.toHaveProperty('cookies')
  })

  it.each([
    'Access-Control-Allow-Origin',
    'Content-Length',
    'Idempotency-Replayed',
    'PAYMENT-REQUIRED',
    'PAYMENT-RESPONSE',
    'X-PAYMENT-RESPONSE',
    'X-SVC-SUBSCRIPTION',
    'X-SVC-BALANCE-KEY',
    'X-SVC-CHARGED',
    'traceparent',
    'Transfer-Encoding',
  ])('says nothing of the connection, and nothing that is ours to say: %s', async name => {
    const { headers } = await render(new Response(null, { headers: { [name]: '1', 'x-own': 'a' } }))
    expect(headers).toEqual({ 'x-own': 'a' })
  })

  it('of a handler says how it is encoded; one that was fetched is decoded already', async () => {
    const own = new Response('a', { headers: { 'content-encoding': 'br' } })
    expect((await render(own)).headers).toMatchObject({ 'content-encoding': 'br' })
    const fetched = new Response('a', { headers: { 'content-encoding': 'br', 'content-language': 'de' } })
    Object.defineProperty(fetched, 'type', { value: 'basic' })
    const { headers } = await render(fetched)
    expect(headers).not.toHaveProperty('content-encoding')
    expect(headers).toHaveProperty('content-language')
  })

  it.each([
    [199, false],
    [200, true],
    [599, true],
    [600, false],
  ])('of status %i can be sent: %s', async (status, canBeSent) => {
    const response = Object.defineProperty(new Response('a'), 'status', { value: status })
    if (canBeSent) expect((await render(response)).status).toBe(status)
    else expect(await refusal(response)).toBeInstanceOf(RangeError)
  })

  it('that is an error, or was read already, was not delivered', async () => {
    expect(await refusal(Response.error())).toBeInstanceOf(RangeError)
    const read = new Response('a')
    await read.text()
    const cause = await refusal(read)
    expect(cause).toBeInstanceOf(NoAnswer)
    expect((cause as Error).message).toMatch(/read already/)
  })

  it('with a header that HTTP cannot carry is refused', async () => {
    // Half of a character, in the name of a file: `Headers` takes every byte.
    const response = new Response('a', { headers: { 'x-own': 'a\u007f' } })
    expect(await refusal(response)).toMatchObject({ code: 'ERR_INVALID_CHAR' })
  })

  it.each<[string, number, boolean]>([
    // Four bytes of framing and the name come on top of the value.
    ['x-own', 8_192 - 4 - 5, true],
    ['x-own', 8_192 - 4 - 5 + 1, false],
    ['set-cookie', 8_192 - 4 - 10, true],
    ['set-cookie', 8_192 - 4 - 10 + 1, false],
    ['date', 100_000, true],
  ])('has no more headers than callers can read: %s of %i bytes, %s', async (name, length, isRead) => {
    const response = new Response(null, { headers: { [name]: 'x'.repeat(length) } })
    if (isRead) expect((await render(response)).status).toBe(200)
    else expect(await refusal(response)).toBeInstanceOf(NoAnswer)
  })

  it('has no more headers in all than callers can read', async () => {
    const headers = { 'x-a': 'x'.repeat(4_089), 'x-b': 'x'.repeat(4_089) }
    expect((await render(new Response(null, { headers }))).status).toBe(200)
    const one = { ...headers, 'x-b': `${headers['x-b']}x` }
    expect(((await refusal(new Response(null, { headers: one }))) as Error).message).toMatch(/8193 bytes/)
  })

  it('is known by its tag, whatever its class is', async () => {
    const polyfilled = {
      [Symbol.toStringTag]: 'Response',
      bodyUsed: false,
      status: 201,
      type: 'default',
      headers: new Map([['x-own', 'a']]),
      arrayBuffer: async () => new Uint8Array(binary).buffer,
    }
    expect(await rendered(polyfilled)).toEqual({ status: 201, headers: { 'x-own': 'a' }, body: binary })
  })
})

describe('a Response that keeps what it was given, as those of Hono’s server on Node do,', () => {
  const TEXT = { 'Content-Type': 'text/plain', 'X-Count': 7 }
  const kept = (...given: unknown[]) =>
    Object.assign(new Response('its own', { status: 201, headers: { 'content-type': 'text/own' } }), {
      [Symbol('other')]: [200, 'another', TEXT],
      [Symbol('cache')]: given,
    })
  const headers = { 'content-type': 'text/plain', 'x-count': '7' }
  const own = { status: 201, headers: { 'content-type': 'text/own' }, body: [...Buffer.from('its own')] }

  it('is answered with that, well-formed, and with a copy of its bytes', async () => {
    expect(await render(kept(200, 'a\ud800', TEXT))).toEqual({ status: 200, headers, body: 'a\ufffd' })
    const bytes = new Uint8Array(binary)
    const { status, body } = await render(kept(200, bytes, TEXT))
    bytes.fill(1)
    expect([status, ...(body as Uint8Array)]).toEqual([200, ...binary])
  })

  it('is read by its own head where another kind was given', async () => {
    for (const head of [undefined, null, new Headers(TEXT as never)])
      expect(await render(kept(200, 'a', head))).toEqual({ status: 200, headers: own.headers, body: 'a' })
  })

  it.each<[string, unknown[]]>([
    ['of another status', [404, 'a', TEXT]],
    ['without a type', [200, 'a', {}]],
    ['with a body of another kind', [200, new Blob(['a']), TEXT]],
    ['that is none', []],
  ])('is read as any other: %s', async (_, given) => {
    expect(await rendered(kept(...given))).toEqual(own)
  })

  it('is read as any other where what is kept is no list', async () => {
    const response = Object.assign(new Response('its own', { status: 201 }), { [Symbol('cache')]: undefined })
    expect((await render(response)).status).toBe(201)
  })
})

it.each([
  ...[
    'CDN-Cache-Control',
    'Cloudflare-CDN-Cache-Control',
    'Surrogate-Control',
    'Edge-Control',
    'X-Accel-Expires',
  ],
])('a header that caches believe before ours is not sold: %s', async name => {
  const headers = { [name]: 'max-age=60', 'x-own': '1' }
  expect((await render(new Response('a', { headers }))).headers).not.toHaveProperty(name.toLowerCase())
})

it.each([
  ...[
    'cdn-cache-control-hint',
    'xcdn-cache-control',
    'surrogate-control-hint',
    'edge-control-hint',
    'x-accel-expires-hint',
  ],
  ...['its-payment-id', 'my-x-svc-id', 'x-payment-response-id', 'idempotency-replayed-at'],
  ...['access-control-expose-headers-too', 'connection-id', 'content-length-hint', 'date-of-issue'],
  ...['keep-alive-hint', 'traceparent-id', 'trailer-id', 'transfer-encoding-hint', 'upgrade-insecure'],
])('a header of a Response that only resembles one of this server’s is its own: %s', async name => {
  expect((await render(new Response('a', { headers: { [name]: '1' } }))).headers).toHaveProperty(name, '1')
})
