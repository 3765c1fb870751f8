/** The Node host behind `node:http2`: a body in each framing, trailers, resets, and headers that only one of the versions has. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer as createHttp2Server,
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type AgentHandler, createHandler, defineAgent, defineEndpoint } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { CERTIFICATE, KEY } from '../../support/certificate.js'
import { closing } from '../../support/closing.js'
import { gate } from '../../support/gate.js'
import { presenting, signQuote } from '../../support/seller.js'

interface Host {
  readonly sandbox: Sandbox
  readonly handler: AgentHandler
  readonly origin: string
  readonly session: ClientHttp2Session
  /** What each run of the handler received. */
  readonly runs: { readonly body: unknown; readonly headers: Readonly<Record<string, unknown>> }[]
  readonly started: Promise<void>
  letGo(): void
}

const SERVERS = {
  'HTTP/2 in the clear': (listener: AgentHandler['node']) => createHttp2Server(listener),
  'HTTP/2 over TLS': (listener: AgentHandler['node']) =>
    createSecureServer({ key: KEY, cert: CERTIFICATE, allowHTTP1: true }, listener),
}

async function host(kind: keyof typeof SERVERS = 'HTTP/2 in the clear'): Promise<Host> {
  const sandbox = closing(await startSandbox())
  const { seller, facilitatorUrl, algodUrl } = sandbox
  const runs: Host['runs'] = []
  const held = gate()
  const agent = defineAgent({
    name: 'H2',
    handle: 'both',
    description: 'Speaks both versions.',
    payTo: seller.address,
    network: 'testnet',
    endpoints: [
      defineEndpoint({
        name: 'echo',
        price: '$0.01',
        handler({ body, headers }) {
          runs.push({ body, headers })
          return { got: body ?? null }
        },
      }),
      defineEndpoint({
        name: 'cookies',
        price: '$0.01',
        handler() {
          const answer = Response.json({ baked: true })
          for (const cookie of ['a=1', 'b=2']) answer.headers.append('set-cookie', cookie)
          return answer
        },
      }),
      defineEndpoint({
        name: 'slow',
        price: '$0.01',
        async handler({ body, signal }) {
          held.enter()
          await Promise.race([held.opened, once(signal, 'abort')])
          runs.push({ body, headers: {} })
          return { aborted: signal.aborted }
        },
      }),
      defineEndpoint({
        name: 'stream',
        price: '$0.01',
        handler: () => new Response(new Blob(['one', 'two']).stream()),
      }),
    ],
  })
  const handler = createHandler(agent, { facilitatorUrl, algodUrl, idempotency: {} })
  const server = SERVERS[kind](handler.node).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const scheme = kind === 'HTTP/2 over TLS' ? 'https' : 'http'
  const origin = `${scheme}://localhost:${(server.address() as AddressInfo).port}`
  const session = connect(origin.replace('localhost', '127.0.0.1'), { rejectUnauthorized: false })
  onTestFinished(async () => {
    session.destroy()
    server.close()
    await handler.shutdown('test over')
  })
  return { sandbox, handler, origin, session, runs, started: held.entered(), letGo: held.open }
}

interface Sent {
  readonly headers?: OutgoingHttpHeaders
  readonly chunks?: readonly string[]
  readonly trailers?: OutgoingHttpHeaders
  readonly length?: boolean
}

async function sent({ session }: Host, path: string, { headers, chunks, trailers, length }: Sent = {}) {
  const size = length ? { 'content-length': Buffer.byteLength(chunks!.join('')) } : {}
  const stream = session.request(
    { ':method': 'POST', ':path': path, 'content-type': 'application/json', ...size, ...headers },
    { endStream: chunks === undefined, waitForTrailers: trailers !== undefined },
  )
  if (trailers) stream.once('wantTrailers', () => stream.sendTrailers(trailers))
  if (chunks) {
    for (const chunk of chunks) stream.write(chunk)
    stream.end()
  }
  const [answered] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  const text = (await buffer(stream)).toString('utf8')
  return { status: Number(answered[':status']), headers: answered, json: () => JSON.parse(text), text }
}

async function paid(of: Host, path: string, request: Sent = {}) {
  const quoted = await sent(of, path, request)
  expect(quoted.status).toBe(402)
  const challenge = JSON.parse(Buffer.from(String(quoted.headers['payment-required']), 'base64').toString())
  const payment = presenting(await signQuote(of, challenge))
  return { payment, challenge, answer: () => sent(of, path, { ...request, headers: payment }) }
}

const CHUNKS = ['{"text":', '"whole', ' body"}']
const WHOLE = { text: 'whole body' }

for (const kind of Object.keys(SERVERS) as (keyof typeof SERVERS)[]) {
  describe(kind, () => {
    it.each([
      ['with content-length', { chunks: CHUNKS, length: true }],
      ['without content-length', { chunks: CHUNKS }],
      ['without content-length, and with trailers', { chunks: CHUNKS, trailers: { 'x-sum': 'abc' } }],
    ])('the handler receives a body %s, and is paid once', async (_, request) => {
      const of = await host(kind)
      const before = of.sandbox.balance(of.sandbox.seller.address).usdc!
      const call = await paid(of, '/echo', request)
      const { status, json } = await call.answer()
      expect([status, json()]).toEqual([200, { got: WHOLE }])
      expect(of.runs.map(({ body }) => body)).toEqual([WHOLE])
      expect(of.sandbox.balance(of.sandbox.seller.address).usdc! - before).toBe(10_000n)
    })

    it('a request without a body is one without input', async () => {
      const of = await host(kind)
      const call = await paid(of, '/echo')
      expect((await call.answer()).json()).toEqual({ got: {} })
      const empty = await paid(of, '/echo', { chunks: [] })
      expect((await empty.answer()).json()).toEqual({ got: {} })
    })

    it('a quote names the authority that was asked, and handlers see no pseudo-headers', async () => {
      const of = await host(kind)
      const authority = { ':authority': 'agent.example:8443' }
      const call = await paid(of, '/echo', { chunks: CHUNKS, headers: authority })
      const scheme = of.origin.slice(0, of.origin.indexOf(':'))
      expect(call.challenge.resource.url).toBe(`${scheme}://agent.example:8443/echo`)
      await call.answer()
      expect(Object.keys(of.runs[0]!.headers).filter(name => name.startsWith(':'))).toEqual([])
    })

    it('an answer that arrived whole, with each of its cookies, is kept for its key', async () => {
      const of = await host(kind)
      const key = { 'idempotency-key': 'a-random-key-that-nobody-guesses-1' }
      const call = await paid(of, '/cookies', { chunks: CHUNKS })
      const ask = () => sent(of, '/cookies', { chunks: CHUNKS, headers: { ...call.payment, ...key } })
      const first = await ask()
      expect([first.status, first.headers['set-cookie']]).toEqual([200, ['a=1', 'b=2']])
      await expect.poll(async () => (await ask()).headers['idempotency-replayed']).toBe('true')
      expect((await ask()).text).toBe(first.text)
    })

    it('a stream is read to its end', async () => {
      const of = await host(kind)
      const { status, text, headers } = await (await paid(of, '/stream')).answer()
      expect([status, text]).toEqual([200, 'onetwo'])
      expect(headers['payment-response']).toBeDefined()
    })

    it('free routes, A2A and MCP answer', async () => {
      const of = await host(kind)
      const chunks = [JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list', params: {} })]
      const tools = await sent(of, '/mcp', { chunks })
      expect(tools.text).toContain('"echo"')
      expect((await sent(of, '/a2a', { chunks })).json()).toMatchObject({ id: 7, error: { code: -32601 } })
      for (const path of ['/health', '/.well-known/agent.json', '/openapi.json', '/']) {
        expect((await sent(of, path, { headers: { ':method': 'GET' } })).status, path).toBe(200)
      }
      expect((await sent(of, '/none')).status).toBe(404)
      const metrics = (authority: string) =>
        sent(of, '/metrics', { headers: { ':method': 'GET', ':authority': authority } })
      expect((await metrics('127.0.0.1')).status).toBe(200)
      expect((await metrics('agent.example')).status).toBe(403)
    })

    it.each([
      ['without an error', constants.NGHTTP2_NO_ERROR],
      ['as cancelled', constants.NGHTTP2_CANCEL],
    ])('a body that its sender resets %s is not run, and nothing is charged', async (_, code) => {
      const of = await host(kind)
      const call = await paid(of, '/echo', { chunks: CHUNKS })
      const before = of.sandbox.transactions().length
      const stream = of.session.request({ ':method': 'POST', ':path': '/echo', ...call.payment })
      stream.on('error', () => {})
      // It would be a body, if it ended here.
      stream.write(CHUNKS.join(''))
      const closed = once(stream, 'close')
      stream.close(code)
      await closed
      expect(of.sandbox.transactions().length).toBe(before)
      // The payment was not used: the same one buys the call.
      expect((await call.answer()).json()).toEqual({ got: WHOLE })
      expect(of.runs).toHaveLength(1)
    })

    it('a caller who resets while the handler works is not charged', async () => {
      const of = await host(kind)
      const call = await paid(of, '/slow', { chunks: CHUNKS })
      const before = of.sandbox.transactions().length
      const stream = of.session.request({ ':method': 'POST', ':path': '/slow', ...call.payment })
      stream.on('error', () => {})
      stream.end(CHUNKS.join(''))
      await of.started
      stream.close(constants.NGHTTP2_CANCEL)
      await expect.poll(() => of.runs.length).toBe(1)
      expect(of.sandbox.transactions().length).toBe(before)
      of.letGo()
      expect((await call.answer()).json()).toEqual({ aborted: false })
    })

    it('a body that is too large is refused, and the session goes on', async () => {
      const of = await host(kind)
      const chunks = Array.from({ length: 40 }, () => 'x'.repeat(65_536))
      expect((await sent(of, '/echo', { chunks })).status).toBe(413)
      expect((await sent(of, '/health', { headers: { ':method': 'GET' } })).status).toBe(200)
    })

    it('draining answers without a header that HTTP/2 forbids', async () => {
      const of = await host(kind)
      await of.handler.shutdown('over')
      const { status, headers } = await sent(of, '/echo', { chunks: CHUNKS })
      expect([status, headers.connection]).toEqual([503, undefined])
    })
  })
}

describe('HTTP/1.1 beside HTTP/2', () => {
  it.each([
    ['content-length', { 'content-length': String(Buffer.byteLength(CHUNKS.join(''))) }],
    ['chunks', {}],
  ])('the same server reads a body in %s', async (_, framing) => {
    const of = await host('HTTP/2 over TLS')
    const ask = async (headers: object) => {
      const options = { method: 'POST', rejectUnauthorized: false, headers: { ...framing, ...headers } }
      const request = httpsRequest(`${of.origin}/echo`, options)
      for (const chunk of CHUNKS) request.write(chunk)
      request.end()
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      return { response, text: (await buffer(response)).toString() }
    }
    const { response } = await ask({})
    expect([response.statusCode, response.httpVersion]).toEqual([402, '1.1'])
    const header = String(response.headers['payment-required'])
    const challenge = JSON.parse(Buffer.from(header, 'base64').toString())
    const { text } = await ask(presenting(await signQuote(of, challenge)))
    expect(JSON.parse(text)).toEqual({ got: WHOLE })
  })
})
