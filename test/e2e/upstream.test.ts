/** Endpoints that another server works for: what reaches it, what is sold of its answers, and what costs nothing. */
import { request as plainRequest } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { defineAgent, defineEndpoint } from '../../src/index.js'
import { DOORS, messageIn, post, rpc } from '../support/doors.js'
import { gate } from '../support/gate.js'
import { http, OK, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'
import {
  ask,
  challengeIn,
  openSeller,
  pay,
  presenting,
  receiptIn,
  type Seller,
  signedIn,
  signFor,
  signQuote,
} from '../support/seller.js'

const PRICE = 10_000n
const KEY = 'a-random-key-that-no-stranger-guesses'

let upstream: RawUpstream
let seller: Seller
beforeAll(async () => {
  upstream = await rawUpstream()
  const behind = (name: string, more: object = {}) =>
    defineEndpoint({ name, price: '$0.01', upstream: upstream.url, ...more })
  seller = await openSeller(
    [
      behind('v1', { path: '/v1/*rest', methods: ['POST', 'GET', 'DELETE'] }),
      behind('fixed', { upstream: `${upstream.url}/other/place?fixed=1` }),
      behind('moved', { sellRedirects: true }),
      behind('slow', { timeout: 1_000 }),
      behind('streams', { stream: true }),
      behind('whole', { stream: false }),
      behind('checked', {
        input: { type: 'object', required: ['size'], properties: { size: { type: 'integer', maximum: 10 } } },
      }),
      behind('search', { method: 'GET' }),
      behind('plain', { path: '/plain' }),
      behind('texts', { bodyType: 'text' }),
      defineEndpoint({ name: 'gone', price: '$0.01', upstream: 'http://127.0.0.1:1' }),
      defineEndpoint({
        name: 'window',
        subscription: { price: '$0.01', period: '1h' },
        upstream: upstream.url,
      }),
    ],
    { idempotency: { onLostResponse: 'replay' } },
  )
})
afterAll(async () => {
  await seller.close()
  await upstream.close()
})
beforeEach(() => {
  upstream.received.length = 0
  upstream.answer = OK
})

const balance = () => seller.sandbox.balance(seller.sandbox.seller.address).usdc!

/** What a call is answered, and what it cost. */
async function calling(path: string, request: Parameters<typeof pay>[2] = {}) {
  const before = balance()
  const answer = await pay(seller, seller.url + path, request)
  const text = await answer.text()
  const { error } = text.startsWith('{') ? JSON.parse(text) : { error: undefined }
  return { answer, status: answer.status, text, code: error?.code as string, cost: balance() - before }
}

const sentAs = (name: string) =>
  upstream.received
    .at(-1)!
    .headers.filter(line => line.toLowerCase().startsWith(`${name}:`))
    .map(line => line.slice(name.length + 1).trim())

it('is listed with each of its methods, as it is called', async () => {
  const { resources } = (await (await fetch(`${seller.url}/.well-known/x402`)).json()) as {
    resources: { url: string; method: string }[]
  }
  const of = resources.filter(({ url }) => new URL(url).pathname.startsWith('/v1/'))
  expect(of.map(({ method }) => method)).toEqual(['POST', 'GET', 'DELETE'])
})

describe('a call that is paid for', () => {
  it('reaches the upstream byte for byte, and its answer is sold', async () => {
    const body = '{"a":1,  "a":2, "n": 12345678901234567890}'
    const target = '/v1/chat%20rooms/caf%C3%A9?b=2&a=%31&flag&x=1;y=2'
    const { status, text, cost } = await calling(target, { body, headers: { 'content-type': 'x/y' } })
    expect({ status, text, cost }).toEqual({ status: 200, text: 'the answer', cost: PRICE })
    const [sent, ...others] = upstream.received
    expect(others).toEqual([])
    expect(sent).toMatchObject({ line: `POST ${target} HTTP/1.1`, body })
    expect(sentAs('content-type')).toEqual(['x/y'])
    expect(sentAs('content-length')).toEqual([String(body.length)])
    expect(sentAs('host')).toEqual([new URL(upstream.url).host])
  })

  it('is asked for as a whole, and what protects from overwriting goes on', async () => {
    const headers = {
      'if-none-match': '"x"',
      'if-match': '"y"',
      'if-modified-since': 'Tue, 24 Nov 2026 00:00:00 GMT',
    }
    expect(await calling('/v1/x', { method: 'GET', headers })).toMatchObject({ status: 200, cost: PRICE })
    expect([sentAs('if-none-match'), sentAs('if-modified-since'), sentAs('if-match')]).toEqual([
      [],
      [],
      ['"y"'],
    ])
    upstream.answer = socket => socket.write(http('412 Precondition Failed'))
    const overwriting = await calling('/v1/x', { body: 'new', headers: { 'if-none-match': '*' } })
    expect(overwriting).toMatchObject({ status: 412, cost: 0n })
    expect(sentAs('if-none-match')).toEqual(['*'])
  })

  it('passes a compressed body as it is', async () => {
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'x-own' }
    expect(await calling('/v1/x', { body: 'squeezed', headers })).toMatchObject({ status: 200, cost: PRICE })
    expect([upstream.received[0]!.body, sentAs('content-encoding')]).toEqual(['squeezed', ['x-own']])
    const checked = await ask(`${seller.url}/checked`, { body: '{"size":1}', headers })
    expect(checked.status).toBe(415)
  })

  it.each(['GET', 'DELETE'])('%s without a body is sent without one', async method => {
    expect(await calling('/v1/x?q=1', { method })).toMatchObject({ status: 200, cost: PRICE })
    expect(upstream.received[0]).toMatchObject({ line: `${method} /v1/x?q=1 HTTP/1.1`, body: '' })
  })

  it('a full URL replaces the path and the query', async () => {
    expect(await calling('/fixed?mine=1')).toMatchObject({ status: 200, cost: PRICE })
    expect(upstream.received[0]!.line).toBe('POST /other/place?fixed=1 HTTP/1.1')
  })

  it('names the payer, the payment and the call; nothing that pays, proves or opens goes on', async () => {
    const { answer, status } = await calling('/v1/y', {
      headers: {
        'idempotency-key': KEY,
        'x-svc-payer': 'spoofed',
        'X-Svc_Payer': 'spoofed',
        x_svc_tx_id: 'spoofed',
        'x-svc-anything': 'spoofed',
        'x-forwarded-for': '6.6.6.6',
        forwarded: 'for=6.6.6.6',
        x_real_ip: '6.6.6.6',
        range: 'bytes=0-1',
        te: 'trailers',
        'proxy-authorization': 'Basic xyz',
        authorization: 'Bearer kept',
        cookie: 'kept=1',
      },
    })
    expect(status).toBe(200)
    const { headers } = upstream.received[0]!
    const text = headers.join('\n').toLowerCase()
    for (const gone of ['spoofed', '6.6.6.6', 'payment', '\nrange', '\nte:', 'proxy-auth'])
      expect(text).not.toContain(gone)
    expect(sentAs('x-svc-payer')).toEqual([seller.sandbox.wallet.address])
    expect(sentAs('x-svc-tx-id')).toEqual([receiptIn(answer).txId])
    expect(sentAs('x-svc-idempotency-key')).toEqual([KEY])
    expect(sentAs('authorization')).toEqual(['Bearer kept'])
    expect(sentAs('cookie')).toEqual(['kept=1'])
    expect(sentAs('via')).toEqual(['1.1 svc'])
    expect(sentAs('x-forwarded-for')).toEqual(['127.0.0.1'])
    expect(sentAs('x-forwarded-host')).toEqual([new URL(seller.url).host])
    expect(sentAs('x-forwarded-proto')).toEqual(['http'])
  })

  it('is answered again under its key, and the upstream works once', async () => {
    const headers = { 'idempotency-key': `${KEY}-again` }
    const payment = await signFor(seller, `${seller.url}/v1/x`, { body: 'b' })
    const before = balance()
    const send = () => ask(`${seller.url}/v1/x`, { body: 'b', headers: { ...headers, ...payment } })
    expect(await (await send()).text()).toBe('the answer')
    const again = await send()
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await again.text()).toBe('the answer')
    expect(upstream.received).toHaveLength(1)
    expect(balance() - before).toBe(PRICE)
  })

  it('in a window reaches the upstream without the key of the window', async () => {
    const sold = await pay(seller, `${seller.url}/window`)
    const key = sold.headers.get('x-svc-subscription')!
    upstream.received.length = 0
    const answer = await ask(`${seller.url}/window`, { headers: { 'x-svc-subscription': key } })
    expect(await answer.text()).toBe('the answer')
    expect(JSON.stringify(upstream.received)).not.toContain(key)
    expect(sentAs('x-svc-payer')).toEqual([])
  })

  it('with an input reaches the upstream as it was checked', async () => {
    const body = '{"size": 99, "size": 3}'
    expect(await calling('/checked', { body })).toMatchObject({ status: 200, cost: PRICE })
    expect(upstream.received[0]!.body).toBe('{"size":3}')
    expect(sentAs('content-type')).toEqual(['application/json'])
    expect((await ask(`${seller.url}/checked`, { body: '{"size": 3, "size": 99}' })).status).toBe(400)
  })

  it.each(Object.keys(DOORS) as (keyof typeof DOORS)[])('by %s is a request of its own', async door => {
    const before = balance()
    const call = { skill: 'v1', input: { params: { rest: 'a b/c' }, input: { base64: 'aGVsbG8=' } } }
    const { challenge } = await DOORS[door](seller.url, call)
    const told = await DOORS[door](seller.url, {
      ...call,
      headers: presenting(await signQuote(seller, challenge!)),
    })
    expect(told).toMatchObject({ code: 'ok' })
    expect(balance() - before).toBe(PRICE)
    expect(upstream.received).toMatchObject([{ line: 'POST /v1/a%20b/c HTTP/1.1', body: 'hello' }])
    expect(sentAs('content-type')).toEqual(['application/octet-stream'])
    expect(sentAs('accept')).toEqual(['*/*'])
  })

  it.each(Object.keys(DOORS) as (keyof typeof DOORS)[])(
    'by %s asks in a query as a form does',
    async door => {
      const call = { skill: 'search', input: { tag: ['a', 'b&c'], page: 2, sorted: true, of: null } }
      const { challenge } = await DOORS[door](seller.url, call)
      const headers = presenting(await signQuote(seller, challenge!))
      expect(await DOORS[door](seller.url, { ...call, headers })).toMatchObject({ code: 'ok' })
      expect(upstream.received).toMatchObject([
        { line: 'GET /search?tag=a&tag=b%26c&page=2&sorted=true&of= HTTP/1.1' },
      ])
    },
  )
})

it.each(Object.keys(DOORS) as (keyof typeof DOORS)[])('a text by %s says its charset', async door => {
  const headers = await signFor(seller, `${seller.url}/texts`, { body: '"x"' })
  expect(
    await DOORS[door](seller.url, { skill: 'texts', input: { text: 'caf\u00e9' }, headers }),
  ).toMatchObject({
    code: 'ok',
  })
  expect(Buffer.from(upstream.received[0]!.body, 'latin1').toString()).toBe('caf\u00e9')
  expect(sentAs('content-type')).toEqual(['text/plain; charset=utf-8'])
})

describe.each(['fixed', 'plain'])('a message to a server that reads bytes, at %s', skill => {
  const TAKEN = 'This takes bytes in base64. You were not charged.'
  const A_TEXT = 'Summarize this: caf\u00e9'
  const behind = { skillId: skill }

  it('is its text, where it has a text: no base64', async () => {
    const headers = await signFor(seller, `${seller.url}/${skill}`)
    const message = {
      role: 'user',
      messageId: 'm',
      parts: [{ kind: 'text', text: A_TEXT }],
      metadata: behind,
    }
    const { result } = await messageIn(
      await post(`${seller.url}/a2a`, rpc('message/send', { message }), headers),
    )
    expect(result?.status.state).toBe('completed')
    expect(Buffer.from(upstream.received[0]!.body, 'latin1').toString()).toBe(A_TEXT)
  })

  it.each(Object.keys(DOORS) as (keyof typeof DOORS)[])(
    'by %s with other text than base64 is refused',
    async door => {
      const headers = await signFor(seller, `${seller.url}/${skill}`)
      const sent = (base64: string) => DOORS[door](seller.url, { skill, input: { base64 }, headers })
      for (const base64 of [A_TEXT, 'a text of words', 'helpe', '{}'])
        expect(await sent(base64)).toMatchObject({ code: 'invalid_input', problem: { message: TAKEN } })
      expect(upstream.received).toEqual([])
      // As programs write it: in lines, for URLs, without the end.
      expect((await sent('aGVs\r\nbG_-')).code).toBe('ok')
      expect(upstream.received[0]!.body).toBe('hello\u00fe')
    },
  )
})

describe('an answer', () => {
  it('passes with its headers, but those of its connection and of this server', async () => {
    upstream.answer = socket =>
      socket.write(
        http(
          '201 Created',
          [
            'Content-Type: image/png',
            'Set-Cookie: a=1',
            'Set-Cookie: b=2',
            'X-Kept: yes',
            'X-Twice: 1',
            'X-Twice: 2',
            'Connection: X-Hop, keep-alive',
            'X-Hop: gone',
            'Keep-Alive: timeout=5',
            'Proxy-Authenticate: Basic',
            'PAYMENT-REQUIRED: e30=',
            'PAYMENT-RESPONSE: forged',
            'X-SVC-Subscription: forged',
            'X-Svc-Balance: forged',
            'Idempotency-Replayed: true',
            'Cache-Control: public, max-age=3600',
            'CDN-Cache-Control: max-age=3600',
            'Example-CDN-Cache-Control: max-age=3600',
            'Surrogate-Control: max-age=3600',
            'Edge-Control: !no-store, max-age=3600',
            'X-Accel-Expires: 3600',
          ],
          '\u0001\u0002',
        ),
      )
    const { answer, status, cost } = await calling('/v1/x')
    expect({ status, cost }).toEqual({ status: 201, cost: PRICE })
    expect(answer.headers.get('content-type')).toBe('image/png')
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(answer.headers.get('x-kept')).toBe('yes')
    expect(answer.headers.get('x-twice')).toBe('1,2')
    expect(receiptIn(answer)).toMatchObject({ success: true })
    for (const name of [
      'x-hop',
      'proxy-authenticate',
      'payment-required',
      'x-svc-subscription',
      'x-svc-balance',
      'idempotency-replayed',
      // Caches in front of this server believe them before Cache-Control, and would give away what was sold.
      'cdn-cache-control',
      'example-cdn-cache-control',
      'surrogate-control',
      'edge-control',
      'x-accel-expires',
    ])
      expect(answer.headers.get(name)).toBeNull()
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('in another charset than UTF-8 is its text for agents, too', async () => {
    const answer = http('200 OK', ['Content-Type: text/csv; charset=ISO-8859-1'], 'caf?')
    upstream.answer = socket => socket.write(Buffer.from(answer.replace('caf?', 'caf\u00e9'), 'latin1'))
    const payment = signedIn(await signFor(seller, `${seller.url}/search`, { method: 'GET' }))
    const params = { name: 'search', arguments: {}, _meta: { 'x402/payment': payment } }
    const { result } = await messageIn(await post(`${seller.url}/mcp`, rpc('tools/call', params)))
    expect(result!.content).toEqual([{ type: 'text', text: 'caf\u00e9' }])
  })

  it('of 204 is sold', async () => {
    upstream.answer = socket => socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    expect(await calling('/v1/x')).toMatchObject({ status: 204, text: '', cost: PRICE })
  })

  it('that is compressed passes as it is', async () => {
    upstream.answer = socket => socket.write(http('200 OK', ['Content-Encoding: x-own'], 'squeezed'))
    const { answer, text } = await calling('/v1/x')
    expect([answer.headers.get('content-encoding'), text]).toEqual(['x-own', 'squeezed'])
  })

  it('with bytes in a header that are no ASCII passes them, and a reason phrase stays behind', async () => {
    upstream.answer = socket =>
      socket.write(Buffer.from(http('200 Tr\u00e8s bien', ['X-Title: \u6f6e \u00e9'], 'tides')))
    const { answer, status, cost } = await calling('/v1/x')
    expect([status, answer.statusText, cost]).toEqual([200, 'OK', PRICE])
    expect(Buffer.from(answer.headers.get('x-title')!, 'latin1').toString()).toBe('\u6f6e \u00e9')
  })

  it('after interim answers is the final one', async () => {
    upstream.answer = socket =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${http('200 OK', [], 'final')}`)
    expect(await calling('/v1/x')).toMatchObject({ status: 200, text: 'final', cost: PRICE })
  })
})

const chunked = (status: string, ...chunks: string[]) =>
  `HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}`

describe('nothing is charged where the upstream', () => {
  it.each([400, 401, 404, 409, 429, 500, 503])('answers %i: that passes with its body', async status => {
    upstream.answer = socket =>
      socket.write(http(`${status} No`, ['X-Why: because', 'Retry-After: 7'], 'the reason'))
    const { answer, ...told } = await calling('/v1/x')
    expect(told).toMatchObject({ status, text: 'the reason', cost: 0n })
    expect(answer.headers.get('x-why')).toBe('because')
  })

  it.each<readonly [string, RawUpstream['answer'], string, number]>([
    [
      'asks for a payment itself',
      s => s.write(http('402 Payment Required', ['PAYMENT-REQUIRED: e30='], '{"accepts":[]}')),
      'upstream_not_sold',
      502,
    ],
    [
      'redirects',
      s => s.write(http('302 Found', ['Location: http://169.254.169.254/'])),
      'upstream_not_sold',
      502,
    ],
    ['answers 206 unasked', s => s.write(http('206 Partial Content', [], 'part')), 'upstream_not_sold', 502],
    ['answers 304 unasked', s => s.write('HTTP/1.1 304 Not Modified\r\n\r\n'), 'upstream_not_sold', 502],
    ['closes without an answer', s => s.destroy(), 'upstream_unreachable', 502],
    ['ends before an answer', s => s.end(), 'upstream_unreachable', 502],
    ['says no HTTP', s => s.end('SSH-2.0-x\r\n\r\n'), 'upstream_broken', 502],
    [
      'splits its reason phrase',
      s => s.write('HTTP/1.1 200 OK\rX-Evil: 1\r\nContent-Length: 1\r\n\r\nx'),
      'upstream_broken',
      502,
    ],
    [
      'folds a header',
      s => s.write('HTTP/1.1 200 OK\r\nX-A: 1\r\n X-B: 2\nX-C: \0\r\n\r\n'),
      'upstream_broken',
      502,
    ],
    [
      'changes the protocol',
      s => s.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
      'upstream_unreachable',
      502,
    ],
    [
      'promises more bytes than it sends',
      s => s.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello'),
      'upstream_broken',
      502,
    ],
    [
      'says by closing alone that its answer is whole',
      s => s.end('HTTP/1.1 200 OK\r\n\r\nhello'),
      'upstream_broken',
      502,
    ],
    ['breaks its chunks off', s => s.end(chunked('200 OK', 'hello')), 'upstream_broken', 502],
    [
      'sends chunks that are none',
      s => s.end(`${chunked('200 OK', 'hello')}zz\r\nhello\r\n`),
      'upstream_broken',
      502,
    ],
    [
      'gives two lengths',
      s => s.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!'),
      'upstream_broken',
      502,
    ],
    [
      'gives a length and chunks',
      s =>
        s.end(
          'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
        ),
      'upstream_broken',
      502,
    ],
    [
      'sends a head of 20 KiB',
      s => s.write(http('200 OK', [`X-Long: ${'x'.repeat(20_000)}`], 'hello')),
      'upstream_broken',
      502,
    ],
    [
      'sends a head of 12 KiB',
      s => s.write(http('200 OK', [`X-Long: ${'x'.repeat(12_000)}`], 'hello')),
      'upstream_not_sold',
      502,
    ],
    [
      'sends more than is collected',
      s => s.write(http('200 OK', [], 'x'.repeat(17_000_000))),
      'upstream_too_large',
      502,
    ],
    [
      'speaks of our payments',
      s => s.write(http('409 Conflict', [], '{"error":{"code":"payment_spent"}}')),
      'handler_error',
      409,
    ],
  ])('%s', async (_, answer, code, status) => {
    upstream.answer = answer
    expect(await calling('/v1/x')).toMatchObject({ status, code, cost: 0n })
    // The next call is not harmed.
    upstream.answer = OK
    expect(await calling('/v1/x')).toMatchObject({ status: 200, text: 'the answer', cost: PRICE })
  })

  it('is not there', async () => {
    expect(await calling('/gone')).toMatchObject({ status: 502, code: 'upstream_unreachable', cost: 0n })
  })

  it.each<readonly [string, RawUpstream['answer']]>([
    ['says nothing', () => {}],
    ['dribbles its head', s => s.write('HTTP/1.1 200 OK\r\nX-Slow: ')],
    ['dribbles its body', s => s.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello')],
  ])('%s until the time is over', async (_, answer) => {
    const closed = gate()
    upstream.answer = (socket, request) => {
      socket.on('close', () => closed.open())
      answer(socket, request)
    }
    expect(await calling('/slow')).toMatchObject({ status: 504, code: 'handler_timeout', cost: 0n })
    // Its connection is given up.
    await closed.opened
  })

  it('is asked for a WebSocket', async () => {
    const status = await new Promise(resolve => {
      const { hostname, port } = new URL(seller.url)
      const headers = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': 'x',
        'sec-websocket-version': '13',
      }
      plainRequest({ hostname, port, path: '/v1/x', headers }, response => {
        response.resume()
        resolve(response.statusCode)
      }).end()
    })
    expect(status).toBe(501)
    expect(upstream.received).toEqual([])
  })
})

describe('a path that the upstream could read as another', () => {
  /** Sends the target as it stands: `fetch` would mend it. */
  const status = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const { hostname, port } = new URL(seller.url)
      plainRequest({ hostname, port, path, method: 'POST' }, response => {
        response.resume()
        resolve(response.statusCode!)
      })
        .on('error', reject)
        .end()
    })

  it.each([
    '/v1/a%2fb',
    '/v1/a%5Cb',
    '/v1/a\\b',
    '/v1/../fixed',
    '/v1/..;/fixed',
    '/v1/..;x=1/fixed',
    '/v1/%2e%2e/fixed',
    '/v1/.%2E/fixed',
    '/v1/a//b',
    '/v1//fixed',
    '/v1/%66ixed',
    '/v1/a%00b',
    '/v1/a%0d%0ab',
    '/v1/%252e%252e/fixed',
    '/v1/a%252fb',
    '/v1/%ff',
    '/v1/x?a=1#b',
    `/v1/x?${'a&'.repeat(1_000)}b=1`,
  ])('%s is refused', async path => {
    expect(await status(path)).toBe(400)
    expect(upstream.received).toEqual([])
  })

  it.each(['//v1/x', '/V1/x', 'http://other/v1/x', '/fixed/', '/Fixed', '/%66ixed', '/v1', '*'])(
    '%s is none of ours',
    async path => {
      expect(await status(path)).toBe(404)
      expect(upstream.received).toEqual([])
    },
  )
})

describe('a redirect', () => {
  it('is sold where the terms say so, and never followed', async () => {
    upstream.answer = socket => socket.write(http('303 See Other', ['Location: /elsewhere']))
    const payment = await signFor(seller, `${seller.url}/moved`)
    const before = balance()
    const answer = await fetch(`${seller.url}/moved`, {
      method: 'POST',
      headers: payment,
      redirect: 'manual',
    })
    expect([answer.status, answer.headers.get('location'), balance() - before]).toEqual([
      303,
      '/elsewhere',
      PRICE,
    ])
    expect(upstream.received).toHaveLength(1)
  })
})

describe('a stream', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'

  it('of events passes as it comes, charged when its first bytes are there', async () => {
    const more = gate()
    upstream.answer = async socket => {
      socket.write(`${head}data: one\n\n`)
      await more.opened
      socket.end('data: two\n\n')
    }
    const before = balance()
    const answer = await pay(seller, `${seller.url}/v1/x`)
    const reader = answer.body!.getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await read()).toBe('data: one\n\n')
    expect(balance() - before).toBe(PRICE)
    more.open()
    expect(await read()).toBe('data: two\n\n')
    expect((await reader.read()).done).toBe(true)
  })

  it.each<readonly [string, RawUpstream['answer']]>([
    ['breaks', socket => socket.write(head, () => socket.resetAndDestroy())],
    ['ends', socket => socket.end(head)],
  ])('that %s before its first bytes costs nothing', async (_, answer) => {
    upstream.answer = answer
    expect(await calling('/v1/x')).toMatchObject({ status: 502, code: 'upstream_broken', cost: 0n })
  })

  it('that breaks later stays charged, and has no clean end', async () => {
    upstream.answer = socket =>
      socket.write(`${chunked('200 OK\r\nContent-Type: text/event-stream', 'data: 1\n\n')}`, () =>
        socket.resetAndDestroy(),
      )
    const before = balance()
    const ended = seller.nextEnded()
    const answer = await pay(seller, `${seller.url}/v1/x`).catch(error => error)
    await ended
    const last = answer instanceof Response ? await answer.text().catch(error => error) : answer
    expect(last).toBeInstanceOf(Error)
    expect(balance() - before).toBe(PRICE)
    expect(seller.ended.at(-1)).toMatchObject({ charged: 'yes', streamBroken: true, brokenBy: 'seller' })
  })

  it('whose caller goes ends at the upstream too', async () => {
    const closed = gate()
    upstream.answer = socket => {
      socket.on('close', () => closed.open())
      socket.write(`${head}data: one\n\n`)
    }
    const cut = new AbortController()
    const payment = await signFor(seller, `${seller.url}/v1/x`)
    const answer = await ask(`${seller.url}/v1/x`, { headers: payment, signal: cut.signal })
    await answer.body!.getReader().read()
    cut.abort()
    await closed.opened
  })

  it('of any type passes as it comes where the endpoint streams, and none where it does not', async () => {
    const more = gate()
    upstream.answer = async socket => {
      socket.write('HTTP/1.1 200 OK\r\n\r\none')
      await more.opened
      socket.end('two')
    }
    const answer = await pay(seller, `${seller.url}/streams`)
    const reader = answer.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('one')
    more.open()
    await reader.read()
    upstream.answer = socket =>
      socket.end(`${chunked('200 OK\r\nContent-Type: text/event-stream', 'data: one\n\n')}0\r\n\r\n`)
    const whole = await pay(seller, `${seller.url}/whole`)
    expect(whole.headers.get('content-length')).toBe('11')
  })

  it('of 40 MB reaches a slow reader whole, and waits for it', async () => {
    const bytes = 40_000_000
    let isHeld = false
    upstream.answer = socket => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`)
      isHeld = !socket.write('x'.repeat(bytes))
    }
    const answer = await pay(seller, `${seller.url}/streams`)
    expect(isHeld).toBe(true)
    expect((await answer.arrayBuffer()).byteLength).toBe(bytes)
  })
})

it('/ready says whether the upstreams take connections', async () => {
  const told = (await (await fetch(`${seller.url}/ready`)).json()) as { why: unknown }
  expect(told.why).toMatchObject([{ code: 'upstream_unavailable' }])
  const endpoint = defineEndpoint({ name: 'x', price: '$0.01', upstream: upstream.url })
  const { sandbox } = seller
  const other = await openSeller([endpoint], { sandbox })
  await expect.poll(async () => (await fetch(`${other.url}/ready`)).json()).toEqual({ ok: true })
  await other.close()
})

describe('a definition', () => {
  const handler = () => 1
  const refusing = (more: object) => () => defineEndpoint({ name: 'x', price: '$0.01', ...more } as never)

  it.each([
    [{ upstream: 'ftp://a' }, /upstream is an http or https URL/],
    [{ upstream: 'http://u:secret@a/' }, /^(?!.*secret).*without a user/],
    [{ upstream: 'http://a/#x' }, /fragment/],
    [{ upstream: 'http://a', handler }, /give one of handler and upstream/],
    [{ sellRedirects: true, handler }, /sellRedirects/],
    [{}, /handler is a function, not undefined/],
    [{ upstream: 'http://a', stream: false, streamTimeout: 5 }, /streamTimeout/],
  ])('%j is refused', (more, why) => {
    expect(refusing(more)).toThrow(why)
  })

  it('that says `json` and no input is priced by what the JSON says', async () => {
    const metered = defineEndpoint({
      name: 'metered',
      price: ({ body }: { body: unknown }) => `$0.0${(body as { units: number }).units}`,
      priceHint: 'a cent a unit',
      ...{ upstream: upstream.url, bodyType: 'json' },
    })
    const { sandbox } = seller
    const other = await openSeller([metered], { sandbox })
    const quoted = await ask(`${other.url}/metered`, { body: { units: 7 } })
    expect(challengeIn(quoted).accepts[0]!.amount).toBe('70000')
    await other.close()
  })

  it('that is copied with another upstream asks the other', async () => {
    const first = defineEndpoint({ name: 'x', price: '$0.01', upstream: 'http://127.0.0.1:1' })
    const copied = { ...first, upstream: upstream.url }
    expect(defineEndpoint(copied as never).handler).not.toBe(first.handler)
    const { endpoints } = defineAgent({
      name: 'A',
      handle: 'abc',
      description: 'd',
      payTo: seller.sandbox.seller.address,
      endpoints: [copied],
    })
    expect(endpoints[0]!.handler).not.toBe(first.handler)
  })
})
