/** A route that throws costs nothing, also where its app answers the error as it answers a success: with 200. */
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createGate, type Gate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'
import { pay, type Seller } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const TERMS = { price: '$0.01' }
const SAID = { ok: false }

const later = () => new Promise(setImmediate)

const APPS: Readonly<Record<string, (gate: Gate) => Promise<string>>> = {
  Express(gate) {
    const app = express()
    app.get('/sync', gate.express(TERMS), () => {
      throw new Error('failed')
    })
    app.get('/async', gate.express(TERMS), async () => {
      await later()
      throw new Error('failed')
    })
    app.get('/well', gate.express(TERMS), (_, res) => void res.json({ ok: true }))
    app.use(((_cause, _req, res, _next) => {
      res.json(SAID)
    }) satisfies express.ErrorRequestHandler)
    return listen(app)
  },
  Hono(gate) {
    const app = new Hono()
    app.onError((_, c) => c.json(SAID))
    app.get('/sync', gate.hono(TERMS), () => {
      throw new Error('failed')
    })
    app.get('/async', gate.hono(TERMS), async () => {
      await later()
      throw new Error('failed')
    })
    app.get('/well', gate.hono(TERMS), c => c.json({ ok: true }))
    return listen(getRequestListener(app.fetch))
  },
  async Fastify(gate) {
    const app = fastify({ forceCloseConnections: true })
    app.setErrorHandler((_cause, _request, reply) => {
      reply.send(SAID)
    })
    const sync = () => {
      throw new Error('failed')
    }
    const async = async () => {
      await later()
      throw new Error('failed')
    }
    app.get('/sync', gate.fastify(TERMS, sync))
    app.get('/async', gate.fastify(TERMS, async))
    app.get(
      '/well',
      gate.fastify(TERMS, async () => ({ ok: true })),
    )
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing({ close: () => app.close() })
    return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  },
}

function opened() {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const definition = {
    name: 'Gated',
    handle: 'gated',
    description: 'Has routes.',
    network: 'testnet',
  } as const
  const gate = createGate({ ...definition, payTo: seller.address }, { facilitatorUrl, algodUrl, logger })
  closing({ close: () => gate.shutdown() })
  const before = sandbox.balance(seller.address).usdc!
  return { gate, earned: () => sandbox.balance(seller.address).usdc! - before }
}

it.each(Object.entries(APPS))('a route of %s', async (_, open) => {
  const { gate, earned } = opened()
  const url = await open(gate)
  for (const path of ['sync', 'async', 'sync']) {
    const failed = await pay({ sandbox } as Seller, `${url}/${path}`, { method: 'GET' })
    expect([path, failed.status, earned()]).toEqual([path, 500, 0n])
  }
  const well = await pay({ sandbox } as Seller, `${url}/well`, { method: 'GET' })
  expect([well.status, await well.json(), earned()]).toEqual([200, { ok: true }, 10_000n])
})

type Run = express.RequestHandler
const PLACES: Readonly<Record<string, (app: express.Express, priced: Run, run: Run) => unknown>> = {
  'by `use` before the route': (app, priced, run) => app.use('/x', priced).get('/x', run),
  'in a router, by `use`': (app, priced, run) => {
    const router = express.Router()
    router.use(priced)
    router.get('/x', run)
    app.use(router)
  },
  'in a route of its own': (app, priced, run) => app.get('/x', priced).get('/x', run),
  'in a route that passes on to the next': (app, priced, run) => {
    app.get('/x', priced, (_req, _res, next) => next('route')).get('/x', run)
  },
  'in a route for all methods': (app, priced, run) => app.all('/x', priced, run),
}

const BESIDE_ROUTES: typeof PLACES = {
  'beside middleware': (app, priced, run) => app.use('/x', priced, run),
  'in a route that ends before middleware': (app, priced, run) => app.get('/x', priced).use('/x', run),
}

const answering: Run = (req, res) => {
  if (req.query.fails !== undefined) throw new Error('failed')
  res.json({ ok: true })
}

function inExpress(place: (typeof PLACES)[string], gate: Gate) {
  const app = express()
  place(app, gate.express({ ...TERMS, path: '/x', methods: 'GET' }), answering)
  app.use(((_cause, _req, res, _next) => {
    res.json(SAID)
  }) satisfies express.ErrorRequestHandler)
  return listen(app)
}

it.each(Object.entries(PLACES))('a gate of Express %s', async (_, place) => {
  const { gate, earned } = opened()
  const url = await inExpress(place, gate)
  const failed = await pay({ sandbox } as Seller, `${url}/x?fails`, { method: 'GET' })
  expect([failed.status, earned()]).toEqual([500, 0n])
  const well = await pay({ sandbox } as Seller, `${url}/x`, { method: 'GET' })
  expect([well.status, await well.json(), earned()]).toEqual([200, { ok: true }, 10_000n])
})

it.each(Object.entries(BESIDE_ROUTES))(
  'a gate of Express %s cannot tell a failure, and sells nothing',
  async (_, place) => {
    const { gate, earned } = opened()
    const url = await inExpress(place, gate)
    for (const query of ['?fails', '']) {
      const answer = await pay({ sandbox } as Seller, `${url}/x${query}`, { method: 'GET' })
      expect([answer.status, earned()]).toEqual([500, 0n])
    }
  },
)

it('a route of Fastify whose options lost the gate’s hook runs for nobody', async () => {
  const { gate, earned } = opened()
  const app = fastify({ forceCloseConnections: true })
  const run = vi.fn(async () => ({ ok: true }))
  const seen: string[] = []
  const own = async (request: FastifyRequest) => void seen.push(request.url)
  const priced = gate.fastify(TERMS, run)
  app.get('/replaced', { ...priced, preHandler: own })
  app.get('/both', { ...priced, preHandler: [own, priced.preHandler] })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  closing({ close: () => app.close() })
  expect((await fetch(`${url}/replaced`)).status).toBe(500)
  const paid = await pay({ sandbox } as Seller, `${url}/both`, { method: 'GET' })
  expect([paid.status, await paid.json(), earned()]).toEqual([200, { ok: true }, 10_000n])
  expect([run.mock.calls.length, new Set(seen)]).toEqual([1, new Set(['/replaced', '/both'])])
})
