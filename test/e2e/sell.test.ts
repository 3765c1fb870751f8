/** Servers that run already, sold by route: prices, what is free, attacks on what stands between, and terms that change at work. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Sandbox } from '../../src/sandbox.js'
import type { Sold, Terms } from '../../src/sell.js'
import { closing } from '../support/closing.js'
import { eventually } from '../support/eventually.js'
import { gate } from '../support/gate.js'
import { DOUBT } from '../support/ownership.js'
import { rawRequest, sendRaw } from '../support/raw-http.js'
import { http, OK, type RawUpstream } from '../support/raw-upstream.js'
import { ask, challengeIn, pay, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'
import { soldUpstream } from '../support/sold-upstream.js'

const ROUTES = [
  { route: 'GET /*', price: '$0.001' },
  { route: 'POST /v1/*', price: '$0.01' },
  { route: 'GET,POST /v1/dear', price: '$1' },
  { route: 'GET /reports/:id', price: '$0.05' },
  { route: 'GET /health', free: true },
  { route: 'GET /public/*', free: true },
  { route: 'GET /public/report', price: '$0.20' },
  { route: 'PUT /upload', free: true },
]

let sandbox: Sandbox
let upstream: RawUpstream
let server: Sold
let url: string
let terms: Terms
let close: () => Promise<void>
beforeAll(async () => {
  const options = { idempotency: { onLostResponse: 'replay' } } as const
  ;({ sandbox, upstream, server, url, terms, close } = await soldUpstream({ routes: ROUTES }, options))
})
afterAll(() => close())
beforeEach(() => {
  upstream.received.length = 0
  upstream.answer = OK
})

const seller = () => ({ sandbox, url }) as Parameters<typeof pay>[0]
const balance = () => sandbox.balance(sandbox.seller.address).usdc!
const lines = () => upstream.received.map(({ line }) => line)

describe('the most specific route of a request', () => {
  it.each([
    ['GET', '/anything', 1_000n],
    ['GET', '/reports/7', 50_000n],
    ['GET', '/reports/7/more', 1_000n],
    ['POST', '/v1/chat', 10_000n],
    ['GET', '/v1/dear', 1_000_000n],
    ['POST', '/v1/dear', 1_000_000n],
    ['GET', '/public/report', 200_000n],
  ])('%s %s costs what it says', async (method, path, price) => {
    const before = balance()
    const answer = await pay(seller(), url + path, { method })
    expect([answer.status, await answer.text(), balance() - before]).toEqual([200, 'the answer', price])
    expect(lines()).toEqual([`${method} ${path} HTTP/1.1`])
  })

  it.each([
    ['POST', '/elsewhere', 405],
    ['PUT', '/v1/chat', 405],
    ['DELETE', '/reports/7', 405],
    ['PUT', '/health', 405],
  ])('%s %s has no price and is refused', async (method, path, status) => {
    const answer = await ask(url + path, { method })
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ error: { message: expect.any(String) } })
    expect(lines()).toEqual([])
  })

  it.each([
    ['GET', '/health'],
    ['HEAD', '/health'],
    ['GET', '/public/a/b?c=1'],
    ['PUT', '/upload'],
  ])('%s %s is let through', async (method, path) => {
    if (method === 'HEAD')
      upstream.answer = socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n')
    const body = method === 'PUT' ? 'sent' : undefined
    const answer = await ask(url + path, { method, body, headers: { 'x-svc-payer': 'spoofed' } })
    expect([answer.status, await answer.text()]).toEqual([200, method === 'HEAD' ? '' : 'the answer'])
    expect(lines()).toEqual([`${method} ${path} HTTP/1.1`])
    expect(upstream.received[0]!.body).toBe(body ?? '')
    expect(upstream.received[0]!.headers.join()).not.toContain('spoofed')
  })

  it('that is free passes redirects and conditions, and no quote', async () => {
    upstream.answer = socket =>
      socket.write(http('304 Not Modified', ['ETag: "1"']).replace(/content-length.*\r\n/i, ''))
    const same = await ask(`${url}/public/x`, { method: 'GET', headers: { 'if-none-match': '"1"' } })
    expect([same.status, same.headers.get('etag')]).toEqual([304, '"1"'])
    expect(upstream.received[0]!.headers).toContain('if-none-match: "1"')
    upstream.answer = socket => socket.write(http('402 Payment Required', ['PAYMENT-REQUIRED: e30=']))
    expect((await ask(`${url}/public/x`, { method: 'GET' })).status).toBe(502)
    upstream.answer = socket => socket.destroy()
    const broken = await ask(`${url}/public/x`, { method: 'GET' })
    expect([broken.status, await broken.json()]).toMatchObject([
      502,
      { error: { code: 'upstream_unreachable' } },
    ])
    upstream.answer = OK
    expect((await ask(`${url}/upload`, { method: 'PUT', body: 'x'.repeat(2_000_000) })).status).toBe(200)
    expect(upstream.received.at(-1)!.body).toHaveLength(2_000_000)
  })

  it('that is free has the preflight, the readers and the caches of its own server; where one is sold, ours answers', async () => {
    const origin = { origin: 'https://page.example', 'access-control-request-method': 'GET' }
    upstream.answer = socket =>
      socket.write(
        http(
          '200 OK',
          ['Access-Control-Allow-Origin: https://page.example', 'CDN-Cache-Control: max-age=60'],
          'the answer',
        ),
      )
    for (const method of ['OPTIONS', 'GET'] as const) {
      const own = await ask(`${url}/health`, { method, headers: origin })
      expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([
        200,
        'https://page.example',
      ])
      expect(own.headers.get('cdn-cache-control')).toBe('max-age=60')
      await own.text()
    }
    expect(lines()).toEqual(['OPTIONS /health HTTP/1.1', 'GET /health HTTP/1.1'])
    const ours = await ask(`${url}/public/report`, { method: 'OPTIONS', headers: origin })
    expect([ours.status, ours.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    expect(lines()).toHaveLength(2)
  })

  it.each(['/public/report', '/reports/7', '/public/Report', '/public/report/'])(
    'HEAD %s does not run what a GET is paid for',
    async path => {
      expect((await ask(url + path, { method: 'HEAD' })).status).toBeGreaterThanOrEqual(400)
      expect(lines()).toEqual([])
    },
  )

  it('that is free may have an extension where nothing else is sold under its name', async () => {
    expect((await ask(`${url}/public/other.tar.gz`, { method: 'GET' })).status).toBe(200)
  })

  it('that is free and HEAD has no length that its server did not say', async () => {
    upstream.answer = socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n')
    const { head } = await sendRaw(url, rawRequest('HEAD', '/health'))
    expect(head).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(head).not.toMatch(/content-length: 0/i)
  })

  it('that is free passes an answer that comes before its server has read the body', async () => {
    const early = await early413()
    const free = { route: 'PUT /early', free: true, upstream: early.url } as const
    server.reload({ ...terms, routes: [...ROUTES, free] })
    const put = `PUT /early HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n`
    // It sends all of its body before it reads an answer, and goes on with the connection.
    const bytes = [put, Buffer.alloc(8_000_000), rawRequest('GET', '/health')].map(each => Buffer.from(each))
    const { status, body } = await sendRaw(url, Buffer.concat(bytes))
    expect([status, body]).toEqual([413, expect.stringMatching(/too much[\s\S]*HTTP\/1\.1 200 OK/)])
    server.reload(terms)
    early.close()
  })

  it('leaves the agent its own free routes', async () => {
    expect(await (await ask(`${url}/.well-known/svc.json`, { method: 'GET' })).json()).toMatchObject({
      name: 'Sold',
    })
    await expect.poll(async () => (await ask(`${url}/ready`, { method: 'GET' })).json()).toEqual({ ok: true })
    expect(lines()).toEqual([])
  })
})

/** Answers at the head of a request, reads no more of it, and closes. */
async function early413() {
  const listening = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.pause()
      socket.end(http('413 Content Too Large', ['Connection: close'], 'too much'))
    })
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => listening.close() }
}

/** Bytes that two servers could read in two ways. None may reach the upstream unpaid, and none as more than one request. */
describe('an attack', () => {
  const smuggled = 'GET /v1/dear HTTP/1.1\r\nHost: x\r\n\r\n'
  const head = (line: string, ...headers: string[]) => `${[line, 'Host: a', ...headers].join('\r\n')}\r\n\r\n`

  it.each<readonly [string, string]>([
    [
      'a length and chunks',
      `${head('PUT /upload HTTP/1.1', 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n${smuggled}`,
    ],
    [
      'two lengths',
      `${head('PUT /upload HTTP/1.1', 'Content-Length: 0', `Content-Length: ${smuggled.length}`)}${smuggled}`,
    ],
    ['a length with a sign', `${head('PUT /upload HTTP/1.1', 'Content-Length: +5')}hello`],
    [
      'chunked twice',
      `${head('PUT /upload HTTP/1.1', 'Transfer-Encoding: chunked, identity')}0\r\n\r\n${smuggled}`,
    ],
    ['chunked misspelt', `${head('PUT /upload HTTP/1.1', 'Transfer-Encoding: xchunked')}0\r\n\r\n`],
    ['a space before the colon', `${head('PUT /upload HTTP/1.1', 'Content-Length : 5')}hello`],
    ['a folded header', `${head('PUT /upload HTTP/1.1', 'X-A: 1', ' Transfer-Encoding: chunked')}0\r\n\r\n`],
    ['bare line feeds', `PUT /upload HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n0\n\n`],
    ['a bare carriage return', head('GET /health HTTP/1.1', 'X-A: 1\rX-Svc-Payer: spoofed')],
    ['a zero byte in a header', head('GET /health HTTP/1.1', 'X-A: \0')],
    [
      'a chunk size that is none',
      `${head('PUT /upload HTTP/1.1', 'Transfer-Encoding: chunked')}0x5\r\nhello\r\n0\r\n\r\n`,
    ],
    ['20 KiB of headers', head('GET /health HTTP/1.1', `X-Long: ${'x'.repeat(20_000)}`)],
    ['a space in the target', head('GET /health HTTP/1.1 x HTTP/1.1')],
    ['another protocol', head('GET /health HTTP/9.9')],
  ])('by %s is no request', async (_, bytes) => {
    const { status } = await sendRaw(url, bytes)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(lines()).toEqual([])
  })

  it.each([
    '/public/../v1/dear',
    '/public/..;/v1/dear',
    '/public/%2e%2e/v1/dear',
    '/public/%252e%252e/v1/dear',
    '/public/..%2fv1/dear',
    '/public/..%5cv1/dear',
    '/public/..\\v1\\dear',
    '/public//report',
    '/public/Report',
    '/public/report/',
    '/public/report;x=1',
    '/public/%72eport',
    '/public/report%00',
    '/public/report.json',
    '/public/Report.tar.gz',
    '/public/report.',
    '/public/report%20',
    '/public/report%20.',
    '/PUBLIC/x/../report',
    'http://other/public/x',
    '//public/x',
    '/public/x#/v1/dear',
  ])('on the price by the path %s is not let through', async path => {
    const { status } = await sendRaw(url, rawRequest('GET', path))
    expect([400, 402, 404]).toContain(status)
    expect(lines()).toEqual([])
  })

  it.each([
    '/v1/Dear',
    '/v1/dear/',
    '/v1/dear;x',
    '/V1/../v1/dear',
    '/v1/%64ear',
    '/v1/x/../dear',
    '/v1/./dear',
  ])('on the price by the path %s is quoted no cheaper price', async path => {
    const { status } = await sendRaw(url, rawRequest('POST', path))
    expect([400, 404]).toContain(status)
  })

  it.each([
    ...['/reports./7', '/reports%20/7', '/reports..;x/7', '/V1%20./dear'],
    // Tomcat and Jetty drop what stands after `;`, and then empty segments.
    ...['/;x/reports/7', '/reports/;x/7', '/public/;/;x/report', '/%20/reports/7'],
  ])(
    'on the price by the path %s, whose folder is another one on some servers alone, is refused',
    async path => {
      const { status, body } = await sendRaw(url, rawRequest('GET', path))
      expect([status, body]).toEqual([400, expect.stringContaining('another spelling')])
    },
  )

  it('by a second request in the body of the first is one request', async () => {
    const { status } = await sendRaw(
      url,
      `${head('PUT /upload HTTP/1.1', `Content-Length: ${smuggled.length}`, 'Connection: close')}${smuggled}`,
    )
    expect(status).toBe(200)
    expect(lines()).toEqual(['PUT /upload HTTP/1.1'])
    expect(upstream.received[0]!.body).toBe(smuggled)
  })

  it('by a chunk longer than its size is broken off at the upstream, too', async () => {
    const closed = gate()
    upstream.answer = socket => socket.on('close', () => closed.open())
    const bytes = `${head('PUT /upload HTTP/1.1', 'Transfer-Encoding: chunked')}2\r\nhello\r\n0\r\n\r\n`
    expect((await sendRaw(url, bytes)).status).toBeGreaterThanOrEqual(400)
    await closed.opened
  })

  it('by expectations is answered here', async () => {
    const expecting = (what: string) =>
      sendRaw(
        url,
        `${head('PUT /upload HTTP/1.1', `Expect: ${what}`, 'Content-Length: 5', 'Connection: close')}hello`,
      )
    expect((await expecting('100-continue')).head).toMatch(/^HTTP\/1\.1 100 Continue/)
    expect(upstream.received[0]).toMatchObject({ body: 'hello' })
    expect(upstream.received[0]!.headers.join()).not.toMatch(/expect/i)
    expect((await expecting('payment')).status).toBe(417)
    expect(lines()).toHaveLength(1)
  })

  it('by headers that the connection names takes nothing of ours away', async () => {
    await sendRaw(
      url,
      rawRequest('GET', '/health', ['Connection: x-forwarded-for, via, x-own', 'X-Own: gone']),
    )
    const text = upstream.received[0]!.headers.join('\n')
    expect(text).toContain('x-forwarded-for: 127.0.0.1')
    expect(text).toContain('via: 1.1 svc')
    expect(text).not.toContain('gone')
  })

  it.each([
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'X-Method-Override',
    'X_HTTP_Method_Override',
    'X-Original-Method',
    'X-Original-URL',
    'X-Original-URI',
    'X-Rewrite-URL',
    'X-Override-URL',
  ])(
    'by the header %s, which says that it is another request, is the one that was let through',
    async name => {
      await sendRaw(url, rawRequest('GET', '/health', [`${name}: /v1/dear`, 'X-Original-Title: mine']))
      const text = upstream.received[0]!.headers.join('\n')
      expect(text).not.toContain('dear')
      expect(text).toMatch(/x-original-title: mine/i)
    },
  )
})

describe('terms that change', () => {
  it('drop no call at work, take no payment twice, and keep kept answers', async () => {
    const begun = gate()
    const more = gate()
    upstream.answer = async socket => {
      begun.open()
      await more.opened
      OK(socket)
    }
    const target = `${url}/v1/slow`
    const headers = { 'idempotency-key': 'a-random-key-that-no-stranger-guesses' }
    const payment = await signFor(seller(), target, { body: 'x' })
    const before = balance()
    const running = ask(target, { body: 'x', headers: { ...payment, ...headers } })
    await begun.opened
    const routes = [
      ...ROUTES.filter(({ route }) => route !== 'POST /v1/*'),
      { route: 'POST /v1/*', price: '$0.02' },
    ]
    server.reload({ ...terms, routes })
    const quoted = await ask(target, { body: 'x' })
    expect(challengeIn(quoted).accepts[0]!.amount).toBe('20000')
    const inUse = await ask(target, { body: 'x', headers: { ...payment, ...headers } })
    expect(inUse.status).toBe(409)
    more.open()
    expect([(await running).status, balance() - before]).toEqual([200, 10_000n])
    const again = await ask(target, { body: 'x', headers: { ...payment, ...headers } })
    expect([again.headers.get('idempotency-replayed'), await again.text()]).toEqual(['true', 'the answer'])
    expect((await ask(target, { body: 'y', headers: payment })).status).toBe(409)
    expect(balance() - before).toBe(10_000n)
    server.reload(terms)
  })

  it('refuse no call whose body is still on its way', async () => {
    const payment = await signFor(seller(), `${url}/v1/slow`, { body: 'xy' })
    const body = new TransformStream<Uint8Array, Uint8Array>()
    const sender = body.writable.getWriter()
    const arrived = once(server, 'request')
    const init = { method: 'POST', body: body.readable, headers: { ...payment }, duplex: 'half' } as const
    const sent = fetch(`${url}/v1/slow`, init)
    await sender.write(new TextEncoder().encode('x'))
    await arrived
    server.reload(terms)
    await sender.write(new TextEncoder().encode('y'))
    await sender.close()
    const answer = await sent
    expect([answer.status, await answer.text()]).toEqual([200, 'the answer'])
  })

  it('come too late for a server that stops: nothing would wait for the calls that they let in', async () => {
    const stopped = await soldUpstream({ routes: ROUTES }, { shutdownTimeoutMs: 10_000 })
    closing(stopped)
    const begun = gate()
    const more = gate()
    stopped.upstream.answer = async socket => {
      begun.open()
      await more.opened
      OK(socket)
    }
    const target = `${stopped.url}/v1/x`
    const later = await signFor({ ...seller(), ...stopped }, target, { body: 'later' })
    const running = pay({ ...seller(), ...stopped }, target, { body: 'x' })
    await begun.opened
    const end = stopped.server.shutdown('SIGTERM')
    expect(() => stopped.server.reload(stopped.terms)).toThrow(/The server stops/)
    expect((await ask(target, { body: 'later', headers: later })).status).toBe(503)
    more.open()
    expect([(await running).status, (await end).outcome]).toEqual([200, 'drained'])
    expect(stopped.upstream.received).toHaveLength(1)
  })

  it('leave no payment in doubt that the chain decides later', async () => {
    const { clock, pass } = skippableClock()
    const decided = vi.fn()
    const runs = { list: () => [], ended() {}, decided }
    const advanced = { ...DOUBT.advanced, clock }
    const doubting = await soldUpstream({ routes: ROUTES }, { advanced, stores: { runs } })
    closing(doubting)
    const payer = { ...seller(), ...doubting }
    const payment = await signFor(payer, `${doubting.url}/v1/x`, { body: 'x' })
    doubting.sandbox.faults.set('settle', '500')
    const told = await ask(`${doubting.url}/v1/x`, { body: 'x', headers: payment })
    expect([told.status, await told.json()]).toMatchObject([503, { error: { code: 'settlement_unknown' } }])
    doubting.server.reload(doubting.terms)
    doubting.sandbox.advanceRounds(1_100)
    pass(30_000)
    await eventually(() => {
      expect(decided).toHaveBeenCalledWith(expect.stringMatching(/^[A-Z2-7]{52}$/), false)
    })
  })

  it('cut no stream that was paid for before, however long it is', async () => {
    const short = await soldUpstream({ routes: ROUTES }, { shutdownTimeoutMs: 50 })
    closing(short)
    const begun = gate()
    const more = gate()
    short.upstream.answer = async socket => {
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n',
      )
      begun.open()
      await more.opened
      socket.end('data: 2\n\n')
    }
    const answer = await pay({ ...seller(), ...short }, `${short.url}/v1/slow`, { body: 'x' })
    await begun.opened
    short.server.reload(short.terms)
    // Later than the end of a process would have waited.
    await sleep(150)
    more.open()
    expect(await answer.text()).toBe('data: 1\n\ndata: 2\n\n')
  })

  it('and cannot be used stay as they were', async () => {
    const reloading = (routes: Terms['routes']) => () => server.reload({ ...terms, routes })
    expect(reloading([])).toThrow(/Nothing has a price/)
    expect(reloading([{ route: 'v1', price: '$1' }])).toThrow(/METHOD \/path/)
    expect(reloading([{ route: 'GET /a', price: 'cheap' }])).toThrow(/cheap/)
    expect(reloading([{ route: 'GET /a', free: true, price: '$1' }])).toThrow(/no terms/)
    expect(reloading([...ROUTES, { route: 'GET /reports/:other', price: '$9' }])).toThrow(/both at GET/)
    const quoted = await ask(`${url}/v1/x`)
    expect(challengeIn(quoted).accepts[0]!.amount).toBe('10000')
  })

  it('change a price where a journal is kept, and add no route that it does not name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-sell-journal-'))
    const kept = await soldUpstream({ routes: ROUTES }, { journal: join(folder, 'journal.jsonl') })
    closing({ close: () => kept.close().then(() => rmSync(folder, { recursive: true })) })
    const { server, terms } = kept
    const dearer = { route: 'POST /v1/*', price: '$0.02' }
    const routes = ROUTES.map(each => (each.route === dearer.route ? dearer : each))
    server.reload({ ...terms, routes })
    const added = [...routes, { route: 'GET /new', price: '$1' }]
    expect(() => server.reload({ ...terms, routes: added })).toThrow(/'get\/new' is new: start svc sell anew/)
    const quoted = await ask(`${kept.url}/v1/x`)
    expect(challengeIn(quoted).accepts[0]!.amount).toBe('20000')
  })
})
