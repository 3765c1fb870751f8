/** Gates over HTTP/2: what is charged leaves whole, and what leaves is charged. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import fastify, { type FastifyReply } from 'fastify'
import Koa from 'koa'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createGate, type EndedCall, type Gate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { presenting, signQuote } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const WHOLE = { secret: 'paid' }
const sources: PassThrough[] = []
/** Of one piece, until the test ends it. */
function endless() {
  const source = new PassThrough()
  source.write('once')
  sources.push(source)
  return source
}
const streamed = () => Readable.from([Buffer.from('one '), Buffer.from('two')])

/** Resolves with the port. */
const APPS: Readonly<Record<string, (gate: Gate) => Promise<number>>> = {
  async Fastify(gate) {
    const app = fastify({ http2: true })
    const terms = { price: '$0.01' } as const
    app.get(
      '/whole',
      gate.fastify(terms, async () => WHOLE),
    )
    app.get(
      '/failing',
      gate.fastify(terms, async (_, reply) => reply.code(503).send(WHOLE)),
    )
    const stream = async (_: unknown, reply: FastifyReply) => reply.send(streamed())
    app.get('/streamed', gate.fastify({ ...terms, stream: true }, stream) as never)
    const unending = async (_: unknown, reply: FastifyReply) => reply.send(endless())
    app.get('/endless', gate.fastify({ ...terms, stream: true }, unending) as never)
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing(app)
    return (app.server.address() as AddressInfo).port
  },
  async Koa(gate) {
    const app = new Koa()
    const paths = ['/whole', '/failing', '/streamed', '/endless']
    const prices = paths.map((path, at) => gate.koa({ price: '$0.01', path, method: 'GET', stream: at > 1 }))
    app.use((ctx, next) => prices[paths.indexOf(ctx.path)]!(ctx, next))
    app.use(ctx => {
      ctx.body = ctx.path === '/streamed' ? streamed() : ctx.path === '/endless' ? endless() : WHOLE
      if (ctx.path === '/failing') ctx.status = 503
    })
    const server = createServer(app.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing(server)
    return (server.address() as AddressInfo).port
  },
}

async function get(session: ClientHttp2Session, path: string, headers: object = {}) {
  const stream = session.request({ ':path': path, ...headers })
  const [head] = (await once(stream, 'response')) as [Record<string, string>]
  return { head, body: await text(stream) }
}

it.each(Object.entries(APPS))('in %s', async (name, open) => {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const about = { name, handle: `h2-${name.toLowerCase()}`, description: 'Speaks HTTP/2.' }
  const gate = createGate(
    { ...about, network: 'testnet', payTo: seller.address },
    { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100 },
  )
  closing({ close: () => gate.shutdown() })
  const session = connect(`http://127.0.0.1:${await open(gate)}`)
  closing({ close: () => session.destroy() })
  const warnings = vi.spyOn(process, 'emitWarning')
  const ends = [
    ['/whole', 200, JSON.stringify(WHOLE), 10_000n],
    ['/streamed', 200, 'one two', 10_000n],
    ['/failing', 503, JSON.stringify(WHOLE), 0n],
  ] as const
  for (const [path, status, body, cost] of ends) {
    const before = sandbox.balance(seller.address).usdc!
    const { head: quoted } = await get(session, path)
    expect(quoted[':status']).toBe(402)
    const challenge = JSON.parse(Buffer.from(quoted['payment-required']!, 'base64').toString())
    const paid = await get(session, path, presenting(await signQuote({ sandbox }, challenge)))
    expect([paid.head[':status'], paid.body]).toEqual([status, body])
    expect(paid.head['payment-response'] !== undefined).toBe(cost > 0n)
    expect(sandbox.balance(seller.address).usdc! - before).toBe(cost)
  }
  // HTTP/2 has no reason phrases: Node warns of who reads one.
  expect(warnings).not.toHaveBeenCalled()
})

it.each(Object.entries(APPS))('in %s it is known who broke a stream off', async (name, open) => {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const about = { name, handle: `h2-broken-${name.toLowerCase()}`, description: 'Speaks HTTP/2.' }
  const ended: EndedCall[] = []
  const runs = { list: () => [], ended: (call: EndedCall) => void ended.push(call) }
  const gate = createGate(
    { ...about, network: 'testnet', payTo: seller.address },
    { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100, stores: { runs } },
  )
  closing({ close: () => gate.shutdown() })
  const session = connect(`http://127.0.0.1:${await open(gate)}`)
  closing({ close: () => session.destroy() })
  for (const brokenBy of ['seller', 'caller']) {
    const { head: quoted } = await get(session, '/endless')
    const challenge = JSON.parse(Buffer.from(quoted['payment-required']!, 'base64').toString())
    const payment = presenting(await signQuote({ sandbox }, challenge))
    const stream = session.request({ ':path': '/endless', ...payment })
    stream.on('error', () => {})
    await once(stream, 'data')
    if (brokenBy === 'seller') sources.pop()!.destroy(new Error('no more'))
    else stream.close(constants.NGHTTP2_CANCEL)
    await new Promise(resolve => stream.once('close', resolve))
    await expect.poll(() => ended.at(-1)).toMatchObject({ streamBroken: true, brokenBy })
  }
})
