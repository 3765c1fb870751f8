/** Whatever hooks a route of Fastify has: it never runs unpaid, and no failure is charged, also where the app answers it with 200. */
import fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createGate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'
import { ask, pay } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const TERMS = { price: '$0.01' }
let gates = 0

function gateOf() {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const about = { name: 'Gated', handle: `hooks-${gates++}`, description: 'Has routes.' }
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const options = { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100, logger }
  const gate = createGate({ ...about, network: 'testnet', payTo: seller.address }, options)
  closing({ close: () => gate.shutdown() })
  return gate
}

async function bought(url: string) {
  const before = sandbox.balance(sandbox.seller.address).usdc!
  const { status } = await pay({ sandbox } as never, url, { method: 'GET' })
  return [status, sandbox.balance(sandbox.seller.address).usdc! - before]
}

describe('a gate of Fastify', () => {
  async function urlOf(app: FastifyInstance) {
    await app.ready()
    closing({ close: () => app.close() })
    return `${await listen(app.routing)}/x`
  }

  const HOOKS = [
    'onRequest',
    'preParsing',
    'preValidation',
    'preHandler',
    'preSerialization',
    'onSend',
  ] as const
  it.each<readonly [readonly string[]]>([...HOOKS.map(name => [[name]] as const), [HOOKS]])(
    'is asked beside the hooks %j of its route, which run',
    async names => {
      const own = vi.fn(async () => {})
      const run = vi.fn(async () => ({ sold: true }))
      const hooks = Object.fromEntries(names.map(name => [name, [own]])) as RouteShorthandOptions
      const url = await urlOf(fastify().get('/x', hooks, gateOf().fastify(TERMS, run)))
      expect([(await ask(url, { method: 'GET' })).status, run.mock.calls.length]).toEqual([402, 0])
      expect([await bought(url), run.mock.calls.length]).toEqual([[200, 10_000n], 1])
      expect(own.mock.calls.length).toBeGreaterThanOrEqual(names.length)
    },
  )

  it('is behind what its app asks first, and needs the handler of its route', async () => {
    const run = vi.fn(async () => 'sold')
    const app = fastify()
    const preHandler = async (_: unknown, reply: { code(status: number): { send(body: string): unknown } }) =>
      reply.code(401).send('who are you?')
    app.get('/x', { preHandler } as never, gateOf().fastify(TERMS, run))
    expect([(await ask(await urlOf(app), { method: 'GET' })).status, run.mock.calls.length]).toEqual([401, 0])
    expect(() => gateOf().fastify(TERMS, undefined as never)).toThrow('needs the handler')
  })

  type Route = (_: unknown, reply: { send(given: unknown): unknown }) => unknown
  const failing = async () => {
    throw new Error('failed')
  }
  const FAILING: readonly [string, RouteShorthandOptions, Route][] = [
    ['throws', {}, failing],
    ['throws what is no error', {}, () => Promise.reject('failed')],
    ['sends an error', {}, (_, reply) => void reply.send(new Error('failed'))],
    ['cannot be serialized', {}, async () => ({ big: 1n })],
    ['has a hook that fails before it is serialized', { preSerialization: failing }, async () => ({})],
    ['has a hook that fails as it is sent', { onSend: failing }, async () => 'sold'],
  ]
  function forgiving() {
    return fastify().setErrorHandler((_cause, _request, reply) => {
      if (reply.statusCode >= 400) reply.code(200)
      reply.send('sorry')
    })
  }
  it.each(FAILING)('charges nothing where its route %s, and the app answers 200', async (_, hooks, route) => {
    const app = forgiving()
    const onError = vi.fn(async () => {})
    app.get('/x', { ...hooks, onError }, gateOf().fastify(TERMS, route) as never)
    expect(await bought(await urlOf(app))).toEqual([500, 0n])
    expect(onError).toHaveBeenCalled()
  })

  it.each(FAILING)(
    'sells where plugins decorate replies, in their scope and below; and charges nothing where its route %s',
    async (_, hooks, route) => {
      const app = forgiving()
      const scoped = async (scope: FastifyInstance) => {
        scope.get('/x', gateOf().fastify(TERMS, async () => 'sold') as never)
        scope.get('/x/fails', hooks, gateOf().fastify(TERMS, route) as never)
      }
      app.register(async scope => {
        scope.decorateReply('own', null)
        await scoped(scope)
        scope.register(async deep => scoped(deep.decorateReply('deep', null)), { prefix: '/x/deep' })
      })
      const url = await urlOf(app)
      for (const at of [url, `${url}/deep/x`])
        expect([await bought(at), await bought(`${at}/fails`)]).toEqual([
          [200, 10_000n],
          [500, 0n],
        ])
    },
  )

  it.each([
    ['an error', new Error('failed')],
    ['a text', 'failed'],
  ])('charges nothing where its route throws %s, and the app answers past its reply', async (_, cause) => {
    const app = fastify().setErrorHandler((_cause, _request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200).end('sorry')
    })
    for (const path of ['/x', '/x/later'])
      app.get(
        path,
        gateOf().fastify(TERMS, () => {
          if (path === '/x') throw cause
          return Promise.reject(cause)
        }),
      )
    const url = await urlOf(app)
    expect([await bought(url), await bought(`${url}/later`)]).toEqual([
      [500, 0n],
      [500, 0n],
    ])
  })

  it.each<readonly [string, RouteShorthandOptions, unknown]>([
    ['cannot be serialized', {}, { a: 1n }],
    ['a hook refuses', { onSend: () => Promise.reject(new Error('no')) }, { a: 1 }],
    ['its schema refuses', { schema: { response: { 200: { type: 'object', required: ['b'] } } } }, { a: 1 }],
  ])('charges nothing for what %s, also where the app answers past its reply', async (_, options, answer) => {
    for (const isTaken of [true, false]) {
      const app = fastify().setErrorHandler((_cause, _request, reply) => {
        if (isTaken) reply.hijack()
        reply.raw.writeHead(200).end('sorry')
      })
      const sends = (_request: unknown, reply: { send(given: unknown): unknown }) => void reply.send(answer)
      app.get('/x', options, gateOf().fastify(TERMS, async () => answer) as never)
      app.get('/x/sent', options, gateOf().fastify(TERMS, sends) as never)
      const url = await urlOf(app)
      expect([await bought(url), await bought(`${url}/sent`)]).toEqual([
        [500, 0n],
        [500, 0n],
      ])
    }
  })

  it('sells what its route sends later, by its reply', async () => {
    const route = (_: unknown, reply: { send(given: unknown): unknown }) =>
      void setImmediate(() => reply.send('sold'))
    const url = await urlOf(fastify().get('/x', gateOf().fastify(TERMS, route)))
    expect(await bought(url)).toEqual([200, 10_000n])
  })
})
